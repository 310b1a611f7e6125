package ops

import (
	"fmt"

	"ablate/graph"
)

// Last is the last token of every sequence: y[b, 0, :] = x[b, T-1, :].
//
//	x (B, T, D)   y (B, 1, D)
//
// It has no gradient: generation alone has no use for the other tokens.
func Last(x *graph.Node) *graph.Node { return graph.Apply1(last{}, x) }

type last struct{}

func (last) String() string { return "last" }

func (last) Infer(in []graph.Shape) ([]graph.Shape, error) {
	if len(in[0]) != 3 {
		return nil, fmt.Errorf("x has shape %v, (B, T, D) is wanted", in[0])
	}
	return []graph.Shape{{in[0][0], 1, in[0][2]}}, nil
}

func (last) Bind(c *graph.Call) []graph.Task {
	return []graph.Task{c.Rows(graph.Typed(c, runLast[float32], runLast[float64])(c))}
}

func runLast[T graph.Float](c *graph.Call) func(part, parts int, _ *graph.Worker) {
	batch, d := c.In(0).Shape()[0], width(c.In(0).Shape())
	return func(part, parts int, _ *graph.Worker) {
		for b := batch * part / parts; b < batch*(part+1)/parts; b++ {
			x := row[T](c.In(0), b)
			copy(row[T](c.Out(0), b), x[len(x)-d:])
		}
	}
}
