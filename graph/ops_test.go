package graph_test

import (
	"fmt"
	"math"

	"ablate/graph"
)

// The operations of these tests: y = x·w for w of shape (D), summed in
// several ways, enough to exercise every path of the planner.

// scale is y[r,:] = x[r,:] ⊙ w, optionally plus an addend that fusing brings.
type scale struct{ addend bool }

func (o scale) String() string { return fmt.Sprintf("scale{addend=%v}", o.addend) }

func (o scale) Infer(in []graph.Shape) ([]graph.Shape, error) {
	if d := in[0][len(in[0])-1]; in[1][0] != d {
		return nil, fmt.Errorf("a vector of %d is wanted", d)
	}
	return []graph.Shape{in[0]}, nil
}

func (o scale) Grad(in, _, dout []*graph.Node) []*graph.Node {
	d := graph.Apply(scaleGrad{}, in[0], in[1], dout[0])
	return d
}

func (o scale) Fuse(next graph.Op, arg, slot int, keep bool) (graph.Op, bool) {
	if _, ok := next.(graph.Sum); ok && !keep && !o.addend {
		return scale{addend: true}, true
	}
	return nil, false
}

func (o scale) Alias(int) int {
	if o.addend {
		return 2
	}
	return -1
}

func (o scale) Bind(c *graph.Call) []graph.Task {
	t := c.Rows(graph.Typed(c, runScale[float32], runScale[float64])(c, o))
	t.Whole = []*graph.Buffer{c.In(1)}
	return []graph.Task{t}
}

func runScale[T graph.Float](c *graph.Call, o scale) func(part, parts int, w *graph.Worker) {
	return func(part, parts int, _ *graph.Worker) {
		x, w := graph.Part[T](c.In(0), part, parts), graph.Slice[T](c.In(1))
		y := graph.Part[T](c.Out(0), part, parts)
		for i, v := range x {
			s := v * w[i%len(w)]
			if o.addend {
				s += graph.Part[T](c.In(2), part, parts)[i]
			}
			y[i] = s
		}
	}
}

// scaleGrad has two results: dx by rows, dw by partial sums over the parts.
type scaleGrad struct{}

func (scaleGrad) String() string { return "scaleGrad" }
func (scaleGrad) Infer(in []graph.Shape) ([]graph.Shape, error) {
	return []graph.Shape{in[0], in[1]}, nil
}
func (scaleGrad) Bind(c *graph.Call) []graph.Task {
	return graph.Typed(c, bindScaleGrad[float32], bindScaleGrad[float64])(c)
}

func bindScaleGrad[T graph.Float](c *graph.Call) []graph.Task {
	d := c.In(1).Len()
	part := c.Scratch(c.Parts(), d)
	rows := c.Rows(func(i, n int, _ *graph.Worker) {
		x, w, dy := graph.Part[T](c.In(0), i, n), graph.Slice[T](c.In(1)), graph.Part[T](c.In(2), i, n)
		dx, dw := graph.Part[T](c.Out(0), i, n), graph.Part[T](part, i, n)
		clear(dw)
		for k, v := range dy {
			dx[k] = v * w[k%d]
			dw[k%d] += v * x[k]
		}
	})
	rows.Writes = []*graph.Buffer{c.Out(0), part}
	rows.Whole = []*graph.Buffer{c.In(1)}
	sum := graph.Task{Parts: 1, Reads: []*graph.Buffer{part}, Writes: []*graph.Buffer{c.Out(1)}, Run: func(int, *graph.Worker) {
		dw := graph.Slice[T](c.Out(1))
		clear(dw)
		for i, v := range graph.Slice[T](part) {
			dw[i%d] += v
		}
	}}
	return []graph.Task{rows, sum}
}

// tanh has two results, y and y², of which the second is only a help for the
// gradient.
type tanh struct{}

func (tanh) String() string { return "tanh" }
func (tanh) Infer(in []graph.Shape) ([]graph.Shape, error) {
	return []graph.Shape{in[0], in[0]}, nil
}
func (tanh) Grad(_, out, dout []*graph.Node) []*graph.Node {
	return graph.Apply(tanhGrad{}, out[1], dout[0])
}
func (tanh) Bind(c *graph.Call) []graph.Task {
	return graph.Typed(c, bindTanh[float32], bindTanh[float64])(c)
}

func bindTanh[T graph.Float](c *graph.Call) []graph.Task {
	return []graph.Task{c.Rows(func(i, n int, _ *graph.Worker) {
		x, y, q := graph.Part[T](c.In(0), i, n), graph.Part[T](c.Out(0), i, n), graph.Part[T](c.Out(1), i, n)
		for k, v := range x {
			y[k] = T(math.Tanh(float64(v)))
			q[k] = y[k] * y[k]
		}
	})}
}

// Recompute says that a tanh may be computed again.
func (tanh) Recompute() bool { return true }

// Recompute says that a spread may be computed again.
func (spread) Recompute() bool { return true }

type tanhGrad struct{}

func (tanhGrad) String() string { return "tanhGrad" }
func (tanhGrad) Infer(in []graph.Shape) ([]graph.Shape, error) {
	return []graph.Shape{in[0]}, nil
}
func (tanhGrad) Bind(c *graph.Call) []graph.Task {
	return graph.Typed(c, bindTanhGrad[float32], bindTanhGrad[float64])(c)
}

func bindTanhGrad[T graph.Float](c *graph.Call) []graph.Task {
	return []graph.Task{c.Rows(func(i, n int, _ *graph.Worker) {
		q, dy, dx := graph.Part[T](c.In(0), i, n), graph.Part[T](c.In(1), i, n), graph.Part[T](c.Out(0), i, n)
		for k, v := range q {
			dx[k] = dy[k] * (1 - v)
		}
	})}
}

// total is the sum of squares of everything, half: a scalar loss.
type total struct{}

func (total) String() string { return "total" }
func (total) Infer(in []graph.Shape) ([]graph.Shape, error) {
	return []graph.Shape{{1}}, nil
}
func (total) Grad(in, _, dout []*graph.Node) []*graph.Node {
	return []*graph.Node{graph.Apply1(totalGrad{}, in[0], dout[0])}
}
func (total) Bind(c *graph.Call) []graph.Task {
	return []graph.Task{{Parts: 1, Run: graph.Typed(c, runTotal[float32], runTotal[float64])(c)}}
}

func runTotal[T graph.Float](c *graph.Call) func(int, *graph.Worker) {
	return func(int, *graph.Worker) {
		s := 0.0
		for _, v := range graph.Slice[T](c.In(0)) {
			s += float64(v) * float64(v) / 2
		}
		graph.Slice[T](c.Out(0))[0] = T(s)
	}
}

type totalGrad struct{}

func (totalGrad) String() string { return "totalGrad" }
func (totalGrad) Infer(in []graph.Shape) ([]graph.Shape, error) {
	return []graph.Shape{in[0]}, nil
}
func (totalGrad) Bind(c *graph.Call) []graph.Task {
	return []graph.Task{c.Rows(graph.Typed(c, runTotalGrad[float32], runTotalGrad[float64])(c))}
}

func runTotalGrad[T graph.Float](c *graph.Call) func(part, parts int, w *graph.Worker) {
	return func(i, n int, _ *graph.Worker) {
		x, dx, s := graph.Part[T](c.In(0), i, n), graph.Part[T](c.Out(0), i, n), graph.Slice[T](c.In(1))[0]
		for k, v := range x {
			dx[k] = v * s
		}
	}
}

// spread is y = s·x with s = Σx²/n over each sequence: its second result, s, has
// rows that are smaller than any other value's.
type spread struct{}

func (spread) String() string { return "spread" }
func (spread) Infer(in []graph.Shape) ([]graph.Shape, error) {
	return []graph.Shape{in[0], {in[0][0], 1}}, nil
}
func (spread) Grad(in, out, dout []*graph.Node) []*graph.Node {
	return graph.Apply(spreadGrad{}, in[0], out[1], dout[0])
}
func (spread) Bind(c *graph.Call) []graph.Task {
	return graph.Typed(c, bindSpread[float32], bindSpread[float64])(c)
}

func bindSpread[T graph.Float](c *graph.Call) []graph.Task {
	return []graph.Task{c.Rows(func(i, n int, _ *graph.Worker) {
		x, y, s := graph.Part[T](c.In(0), i, n), graph.Part[T](c.Out(0), i, n), graph.Part[T](c.Out(1), i, n)
		s[0] = 0
		for _, v := range x {
			s[0] += v * v / T(len(x))
		}
		for k, v := range x {
			y[k] = s[0] * v
		}
	})}
}

type spreadGrad struct{}

func (spreadGrad) String() string { return "spreadGrad" }
func (spreadGrad) Infer(in []graph.Shape) ([]graph.Shape, error) {
	return []graph.Shape{in[0]}, nil
}
func (spreadGrad) Bind(c *graph.Call) []graph.Task {
	return graph.Typed(c, bindSpreadGrad[float32], bindSpreadGrad[float64])(c)
}

func bindSpreadGrad[T graph.Float](c *graph.Call) []graph.Task {
	return []graph.Task{c.Rows(func(i, n int, _ *graph.Worker) {
		x, s := graph.Part[T](c.In(0), i, n), graph.Part[T](c.In(1), i, n)
		dy, dx := graph.Part[T](c.In(2), i, n), graph.Part[T](c.Out(0), i, n)
		var dot T
		for k, v := range dy {
			dot += v * x[k]
		}
		for k, v := range dy {
			dx[k] = s[0]*v + 2*dot*x[k]/T(len(x))
		}
	})}
}
