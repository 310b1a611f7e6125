package graph_test

import "ablate/graph"

// Operations that are hard for the planner: they read other elements than
// they write, rows of other sequences, or are split in another way.

// reverse turns every sequence around, optionally plus an addend that fusing
// brings: like a product, it reads what its result must not yet have replaced.
type reverse struct{ addend bool }

func (reverse) String() string                                { return "reverse" }
func (reverse) Infer(in []graph.Shape) ([]graph.Shape, error) { return in[:1], nil }
func (reverse) Grad(_, _, dout []*graph.Node) []*graph.Node {
	return graph.Apply(reverse{}, dout[0])
}

func (o reverse) Fuse(next graph.Op, _, _ int, keep bool) (graph.Op, bool) {
	_, ok := next.(graph.Sum)
	return reverse{addend: true}, ok && !keep && !o.addend
}

func (o reverse) Alias(int) int {
	if o.addend {
		return 1
	}
	return -1
}

func (o reverse) Bind(c *graph.Call) []graph.Task {
	return []graph.Task{c.Rows(func(i, n int, _ *graph.Worker) {
		x, y := graph.Part[float64](c.In(0), i, n), graph.Part[float64](c.Out(0), i, n)
		for k := range y {
			v := x[len(x)-1-k]
			if o.addend {
				v += graph.Part[float64](c.In(1), i, n)[k]
			}
			y[k] = v
		}
	})}
}

// mix takes the mean over the sequences from each: its rows read all of x.
type mix struct{}

func (mix) String() string                                { return "mix" }
func (mix) Infer(in []graph.Shape) ([]graph.Shape, error) { return in[:1], nil }
func (mix) Grad(_, _, dout []*graph.Node) []*graph.Node   { return graph.Apply(mix{}, dout[0]) }
func (mix) Bind(c *graph.Call) []graph.Task {
	t := c.Rows(func(i, n int, _ *graph.Worker) {
		x, y := graph.Slice[float64](c.In(0)), graph.Part[float64](c.Out(0), i, n)
		own := graph.Part[float64](c.In(0), i, n)
		for k := range y {
			y[k] = own[k]
			for j := k; j < len(x); j += len(y) {
				y[k] -= x[j] / float64(n)
			}
		}
	})
	t.Whole = []*graph.Buffer{c.In(0)}
	return []graph.Task{t}
}

// negate is y = -x in any number of parts, by rows or by columns, over x where
// it can.
type negate struct {
	parts  int
	byRows bool
}

func (negate) String() string                                { return "negate" }
func (negate) Infer(in []graph.Shape) ([]graph.Shape, error) { return in[:1], nil }
func (negate) Alias(int) int                                 { return 0 }
func (o negate) Grad(_, _, dout []*graph.Node) []*graph.Node { return graph.Apply(o, dout[0]) }
func (negate) Recompute() bool                               { return true }
func (o negate) Bind(c *graph.Call) []graph.Task {
	return []graph.Task{{Parts: o.parts, Rows: o.byRows, Run: func(i int, _ *graph.Worker) {
		x, y := graph.Slice[float64](c.In(0)), graph.Slice[float64](c.Out(0))
		if o.byRows {
			x, y = graph.Part[float64](c.In(0), i, o.parts), graph.Part[float64](c.Out(0), i, o.parts)
		}
		step := 1
		if !o.byRows {
			x, y, step = x[min(i, len(x)):], y[min(i, len(y)):], o.parts
		}
		for k := 0; k < len(x); k += step {
			y[k] = -x[k]
		}
	}}}
}

// fork has two results, 2x and 3x, and a gradient for each.
type fork struct{}

func (fork) String() string { return "fork" }
func (fork) Infer(in []graph.Shape) ([]graph.Shape, error) {
	return []graph.Shape{in[0], in[0]}, nil
}
func (fork) Recompute() bool { return true }
func (fork) Bind(c *graph.Call) []graph.Task {
	return []graph.Task{c.Rows(func(i, n int, _ *graph.Worker) {
		for k, v := range graph.Part[float64](c.In(0), i, n) {
			graph.Part[float64](c.Out(0), i, n)[k] = 2 * v
			graph.Part[float64](c.Out(1), i, n)[k] = 3 * v
		}
	})}
}

func (fork) Grad(_, _, dout []*graph.Node) []*graph.Node {
	var d *graph.Node
	for i, dy := range dout {
		if dy == nil {
			continue
		}
		for range 2 + i {
			if d == nil {
				d = dy
			} else {
				d = graph.Add(d, dy)
			}
		}
	}
	return []*graph.Node{d}
}

// blend is y = 2a + 3b. It computes scales of a and b itself.
type blend struct{ w [2]int } // places of their weights, 0 for none

func (blend) String() string                                { return "blend" }
func (blend) Infer(in []graph.Shape) ([]graph.Shape, error) { return in[:1], nil }
func (blend) Grad(_, _, dout []*graph.Node) []*graph.Node {
	twice := graph.Add(dout[0], dout[0])
	return []*graph.Node{twice, graph.Add(twice, dout[0])}
}

func (o blend) Absorb(prev graph.Op, arg int) (graph.Op, bool) {
	if prev != (scale{}) || o.w[arg] > 0 {
		return nil, false
	}
	o.w[arg] = 2
	if o.w[1-arg] > 0 {
		o.w[arg]++
	}
	return o, true
}

func (o blend) Bind(c *graph.Call) []graph.Task {
	t := c.Rows(func(i, n int, _ *graph.Worker) {
		y := graph.Part[float64](c.Out(0), i, n)
		clear(y)
		for arg, place := range o.w {
			for k, v := range graph.Part[float64](c.In(arg), i, n) {
				if place > 0 {
					w := graph.Slice[float64](c.In(place))
					v *= w[k%len(w)]
				}
				y[k] += float64(2+arg) * v
			}
		}
	})
	for _, place := range o.w {
		if place > 0 {
			t.Whole = append(t.Whole, c.In(place))
		}
	}
	return []graph.Task{t}
}

// hardKinds is the number of ways in which hard uses these operations.
const hardKinds = 8

// hard uses one of these operations.
func hard(kind, parts int, x, y *graph.Node) *graph.Node {
	switch kind {
	case 0:
		return graph.Apply1(reverse{}, x)
	case 1:
		return graph.Add(x, graph.Apply1(reverse{}, x))
	case 2:
		return graph.Apply1(mix{}, x)
	case 3:
		return graph.Apply1(negate{parts, true}, x)
	case 4:
		return graph.Apply1(negate{parts, false}, x)
	case 5:
		return graph.Apply(fork{}, x)[parts%2]
	case 6:
		return graph.Apply1(blend{}, x, y)
	default:
		f := graph.Apply(fork{}, x)
		return graph.Add(f[1], graph.Add(f[0], y))
	}
}
