package ops

import (
	"ablate/graph"
	"ablate/ops/kernel"
)

// SumSquares is Σ x², of shape (1), for an x of any shape: the square of a
// norm. It is added in float64, sequence by sequence.
func SumSquares(x *graph.Node) *graph.Node { return graph.Apply1(sumSquares{}, x) }

type sumSquares struct{}

func (sumSquares) String() string { return "sumSquares" }

func (sumSquares) Infer([]graph.Shape) ([]graph.Shape, error) { return []graph.Shape{{1}}, nil }

func (sumSquares) Bind(c *graph.Call) []graph.Task {
	return graph.Typed(c, bindSumSquares[float32], bindSumSquares[float64])(c)
}

func bindSumSquares[T graph.Float](c *graph.Call) []graph.Task {
	parts := rowParts(c.In(0).Shape())
	partial := c.Scratch(parts)
	rows := graph.Task{
		Parts: parts, Rows: true, Writes: []*graph.Buffer{partial},
		Run: func(part int, _ *graph.Worker) {
			graph.Slice[T](partial)[part] = T(kernel.SumSquares(graph.Part[T](c.In(0), part, parts)))
		},
	}
	total := graph.Task{
		Parts: 1, Reads: []*graph.Buffer{partial}, Writes: []*graph.Buffer{c.Out(0)},
		Run: func(int, *graph.Worker) { graph.Slice[T](c.Out(0))[0] = T(kernel.Sum(graph.Slice[T](partial))) },
	}
	return []graph.Task{rows, total}
}

// Grad is dx = 2·x·dy.
func (sumSquares) Grad(in, _, dout []*graph.Node) []*graph.Node {
	return []*graph.Node{Scale(MulScalar(in[0], dout[0]), 2)}
}
