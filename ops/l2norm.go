package ops

import (
	"math"

	"ablate/graph"
	"ablate/ops/kernel"
)

// L2Norm is √Σx² of every sequence.
//
//	x (B, …)   y (B); of a plain matrix the norms of at most four runs of its rows, of a vector its own
//
// The norm of all of x is the root of the sum of their squares. Squares are added to the precision of a float32
// whatever their size, and only roots are stored: the gradient of a deep Post-Norm model can be smaller than the root
// of float32's smallest number. It is a measurement and has no gradient.
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
	return []graph.Shape{{rowParts(in[0])}}, nil
}

func (l2Norm) Bind(c *graph.Call) []graph.Task {
	return graph.Typed(c, bindL2Norm[float32], bindL2Norm[float64])(c)
}

func bindL2Norm[T graph.Float](c *graph.Call) []graph.Task {
	x, y, parts := c.In(0), c.Out(0), rowParts(c.In(0).Shape())
	t := graph.Task{Parts: parts, Rows: true, Near: true}
	skipped := func() bool { return false }
	if c.Operands() > 1 {
		skip := c.In(1)
		skipped = func() bool { return graph.Slice[int32](skip)[0] != 0 }
		t.Whole = []*graph.Buffer{skip}
	}
	t.Run = func(part int, _ *graph.Worker) {
		if !skipped() {
			graph.Slice[T](y)[part] = T(math.Sqrt(kernel.SumSquaresNarrow(graph.Part[T](x, part, parts))))
		}
	}
	return []graph.Task{t}
}
