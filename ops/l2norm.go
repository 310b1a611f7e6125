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
//
// In a run before which skip, int32 (1), was set to anything but 0, nothing is
// measured and the result is undefined. nil stands for one that is always 0.
func L2Norm(x, skip *graph.Node) *graph.Node {
	if skip == nil {
		return graph.Apply1(l2Norm{}, x)
	}
	return graph.Apply1(l2Norm{}, x, skip)
}

type l2Norm struct{}

func (l2Norm) String() string { return "l2norm" }

func (l2Norm) Infer(in []graph.Shape) ([]graph.Shape, error) {
	if len(in) > 1 {
		if err := wantVector("skip", in[1], 1); err != nil {
			return nil, err
		}
	}
	return []graph.Shape{{1}}, nil
}

func (l2Norm) Bind(c *graph.Call) []graph.Task {
	return graph.Typed(c, bindL2Norm[float32], bindL2Norm[float64])(c)
}

func bindL2Norm[T graph.Float](c *graph.Call) []graph.Task {
	x, parts := c.In(0), rowParts(c.In(0).Shape())
	partial := c.Scratch(parts)
	skipped := func() bool { return false }
	rows := graph.Task{Parts: parts, Rows: true, Reads: []*graph.Buffer{x}, Writes: []*graph.Buffer{partial}}
	if c.Operands() > 1 {
		skip := c.In(1)
		skipped = func() bool { return graph.Slice[int32](skip)[0] != 0 }
		rows.Reads, rows.Whole = append(rows.Reads, skip), []*graph.Buffer{skip}
	}
	rows.Run = func(part int, _ *graph.Worker) {
		if !skipped() {
			graph.Slice[T](partial)[part] = T(math.Sqrt(kernel.SumSquares(graph.Part[T](x, part, parts))))
		}
	}
	total := graph.Task{
		Parts: 1, Reads: []*graph.Buffer{partial}, Writes: []*graph.Buffer{c.Out(0)},
		Run: func(int, *graph.Worker) {
			if !skipped() {
				graph.Slice[T](c.Out(0))[0] = T(math.Sqrt(kernel.SumSquares(graph.Slice[T](partial))))
			}
		},
	}
	return []graph.Task{rows, total}
}
