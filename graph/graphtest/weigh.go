package graphtest

import (
	"errors"

	"ablate/graph"
)

// weigh is Σ dy ⊙ y, of shape (1): the scalar whose gradient with respect to y
// is dy.
type weigh struct{}

func (weigh) String() string { return "weigh" }

func (weigh) Infer(in []graph.Shape) ([]graph.Shape, error) {
	if !in[0].Eq(in[1]) {
		return nil, errors.New("a result and its gradient have equal shapes")
	}
	return []graph.Shape{{1}}, nil
}

func (weigh) Bind(c *graph.Call) []graph.Task {
	return []graph.Task{{Parts: 1, Run: graph.Typed(c, runWeigh[float32], runWeigh[float64])(c)}}
}

func runWeigh[T graph.Float](c *graph.Call) func(int, *graph.Worker) {
	return func(int, *graph.Worker) {
		y, dy := graph.Slice[T](c.In(0)), graph.Slice[T](c.In(1))
		s := 0.0
		for i, v := range y {
			s += float64(v) * float64(dy[i])
		}
		graph.Slice[T](c.Out(0))[0] = T(s)
	}
}

// Fixed says that dy has no gradient.
func (weigh) Fixed(operand int) bool { return operand == 1 }

func (weigh) Grad(in, _, dout []*graph.Node) []*graph.Node {
	return []*graph.Node{graph.Apply1(unweigh{}, in[1], dout[0]), nil}
}

// unweigh is dy·seed, row by row.
type unweigh struct{}

func (unweigh) String() string { return "unweigh" }

func (unweigh) Infer(in []graph.Shape) ([]graph.Shape, error) { return in[:1], nil }

func (unweigh) Bind(c *graph.Call) []graph.Task {
	return []graph.Task{c.Rows(graph.Typed(c, runUnweigh[float32], runUnweigh[float64])(c))}
}

func runUnweigh[T graph.Float](c *graph.Call) func(part, parts int, w *graph.Worker) {
	return func(part, parts int, _ *graph.Worker) {
		dy, seed := graph.Part[T](c.In(0), part, parts), graph.Slice[T](c.In(1))[0]
		d := graph.Part[T](c.Out(0), part, parts)
		for i, v := range dy {
			d[i] = v * seed
		}
	}
}
