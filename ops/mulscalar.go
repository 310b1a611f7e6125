package ops

import (
	"ablate/graph"
	"ablate/ops/kernel"
)

// MulScalar is y = a·x for a learned number, such as ReZero's (Bachlechner et
// al. 2020, arXiv:2003.04887).
//
//	x, y of any shape   a [1]
func MulScalar(x, a *graph.Node) *graph.Node { return graph.Apply1(mulScalar{}, x, a) }

type mulScalar struct{}

func (mulScalar) String() string { return "mulScalar" }

func (mulScalar) Infer(in []graph.Shape) ([]graph.Shape, error) {
	return in[:1], wantVector("the number", in[1], 1)
}

// Alias lets y take the place of x.
func (mulScalar) Alias(int) int { return 0 }

func (mulScalar) Bind(c *graph.Call) []graph.Task {
	t := c.Rows(graph.Typed(c, runMulScalar[float32], runMulScalar[float64])(c))
	t.Whole = []*graph.Buffer{c.In(1)}
	return []graph.Task{t}
}

func runMulScalar[T graph.Float](c *graph.Call) func(part, parts int, _ *graph.Worker) {
	return func(part, parts int, _ *graph.Worker) {
		kernel.Scale(graph.Part[T](c.Out(0), part, parts), graph.Part[T](c.In(0), part, parts), float64(graph.Slice[T](c.In(1))[0]))
	}
}

// Grad is dx = a·dy, da = Σ dy ⊙ x.
func (mulScalar) Grad(in, _, dout []*graph.Node) []*graph.Node {
	return graph.Apply(mulScalarGrad{}, dout[0], in[0], in[1])
}

// mulScalarGrad has operands dy, x, a and results dx, da.
type mulScalarGrad struct{}

func (mulScalarGrad) String() string { return "mulScalarGrad" }

func (mulScalarGrad) Infer(in []graph.Shape) ([]graph.Shape, error) { return in[1:3], nil }

// Alias lets dx take the place of dy.
func (mulScalarGrad) Alias(slot int) int { return over(0, slot) }

func (mulScalarGrad) Bind(c *graph.Call) []graph.Task {
	return graph.Typed(c, bindMulScalarGrad[float32], bindMulScalarGrad[float64])(c)
}

func bindMulScalarGrad[T graph.Float](c *graph.Call) []graph.Task {
	tasks := gradientOfRows(c, 2, func(part, parts int, da []T) {
		dy, x := graph.Part[T](c.In(0), part, parts), graph.Part[T](c.In(1), part, parts)
		da[0] = T(kernel.Dot(dy, x)) // before dx, which may stand where dy does
		kernel.Scale(graph.Part[T](c.Out(0), part, parts), dy, float64(graph.Slice[T](c.In(2))[0]))
	})
	tasks[0].Whole = []*graph.Buffer{c.In(2)}
	return tasks
}
