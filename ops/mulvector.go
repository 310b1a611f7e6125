package ops

import (
	"ablate/graph"
	"ablate/ops/kernel"
)

// MulVector is y = x ⊙ g, each row multiplied by a vector, such as
// LayerScale's (Touvron et al. 2021, arXiv:2103.17239).
//
//	x, y (…, D)   g [D]
func MulVector(x, g *graph.Node) *graph.Node { return graph.Apply1(mulVector{}, x, g) }

type mulVector struct{}

func (mulVector) String() string { return "mulVector" }

func (mulVector) Infer(in []graph.Shape) ([]graph.Shape, error) {
	if err := wantRows("x", in[0]); err != nil {
		return nil, err
	}
	return in[:1], wantVector("the vector", in[1], width(in[0]))
}

// Alias lets y take the place of x.
func (mulVector) Alias(int) int { return 0 }

func (mulVector) Bind(c *graph.Call) []graph.Task {
	t := c.Rows(graph.Typed(c, runMulVector[float32], runMulVector[float64])(c))
	t.Whole = []*graph.Buffer{c.In(1)}
	return []graph.Task{t}
}

func runMulVector[T graph.Float](c *graph.Call) func(part, parts int, _ *graph.Worker) {
	d := c.In(1).Len()
	return func(part, parts int, _ *graph.Worker) {
		x := graph.Part[T](c.In(0), part, parts)
		kernel.MulRow(graph.Part[T](c.Out(0), part, parts), x, graph.Slice[T](c.In(1)), len(x)/d, d)
	}
}

// Grad is dx = dy ⊙ g, dg = Σ dy ⊙ x over all rows.
func (mulVector) Grad(in, _, dout []*graph.Node) []*graph.Node {
	return graph.Apply(mulVectorGrad{}, dout[0], in[0], in[1])
}

// mulVectorGrad has operands dy, x, g and results dx, dg.
type mulVectorGrad struct{}

func (mulVectorGrad) String() string { return "mulVectorGrad" }

func (mulVectorGrad) Infer(in []graph.Shape) ([]graph.Shape, error) { return in[1:3], nil }

// Alias lets dx take the place of dy.
func (mulVectorGrad) Alias(slot int) int { return over(0, slot) }

func (mulVectorGrad) Bind(c *graph.Call) []graph.Task {
	return graph.Typed(c, bindMulVectorGrad[float32], bindMulVectorGrad[float64])(c)
}

func bindMulVectorGrad[T graph.Float](c *graph.Call) []graph.Task {
	d := c.In(2).Len()
	tasks := gradientOfRows(c, 2, func(part, parts int, dg []T) {
		dy, x := graph.Part[T](c.In(0), part, parts), graph.Part[T](c.In(1), part, parts)
		kernel.ColDot(dg, dy, x, len(x)/d, d, d, d, true) // before dx, which may stand where dy does
		kernel.MulRow(graph.Part[T](c.Out(0), part, parts), dy, graph.Slice[T](c.In(2)), len(x)/d, d)
	})
	tasks[0].Whole = []*graph.Buffer{c.In(2)}
	return tasks
}
