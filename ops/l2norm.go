package ops

import (
	"math"

	"ablate/graph"
	"ablate/ops/kernel"
)

// L2Norm is √Σx², of shape (1), for an x of any shape. Squares are added in
// float64, sequence by sequence, and only roots are stored: the gradient of a
// deep Post-Norm model can be smaller than the root of float32's smallest
// number. It is a measurement and has no gradient.
func L2Norm(x *graph.Node) *graph.Node { return graph.Apply1(l2Norm{}, x) }

type l2Norm struct{}

func (l2Norm) String() string { return "l2norm" }

func (l2Norm) Infer([]graph.Shape) ([]graph.Shape, error) { return []graph.Shape{{1}}, nil }

func (l2Norm) Bind(c *graph.Call) []graph.Task {
	return graph.Typed(c, bindL2Norm[float32], bindL2Norm[float64])(c)
}

func bindL2Norm[T graph.Float](c *graph.Call) []graph.Task {
	parts := rowParts(c.In(0).Shape())
	partial := c.Scratch(parts)
	rows := graph.Task{
		Parts: parts, Rows: true, Writes: []*graph.Buffer{partial},
		Run: func(part int, _ *graph.Worker) {
			graph.Slice[T](partial)[part] = T(math.Sqrt(kernel.SumSquares(graph.Part[T](c.In(0), part, parts))))
		},
	}
	total := graph.Task{
		Parts: 1, Reads: []*graph.Buffer{partial}, Writes: []*graph.Buffer{c.Out(0)},
		Run: func(int, *graph.Worker) {
			graph.Slice[T](c.Out(0))[0] = T(math.Sqrt(kernel.SumSquares(graph.Slice[T](partial))))
		},
	}
	return []graph.Task{rows, total}
}
