package ops

import (
	"slices"

	"ablate/graph"
	"ablate/ops/kernel"
)

// DyT is the element-wise stand-in for a norm (Zhu et al. 2025,
// arXiv:2503.10622):
//
//	y = w ⊙ tanh(alpha·x) + b
//
//	x, y (…, D)   alpha [1]   w, b [d], d a divisor of D; b nil for none
func DyT(x, alpha, w, b *graph.Node) *graph.Node {
	if b == nil {
		return graph.Apply1(dyT{}, x, alpha, w)
	}
	return graph.Apply1(dyT{bias: true}, x, alpha, w, b)
}

// dyT has operands x, alpha, w, b.
type dyT struct{ bias bool }

func (dyT) String() string { return "dyt" }

// Normalizes marks a Norm: dyt stands in the place of one.
func (dyT) Normalizes() {}

func (dyT) Infer(in []graph.Shape) ([]graph.Shape, error) {
	if err := wantVector("alpha", in[1], 1); err != nil {
		return nil, err
	}
	return normShapes(in[0], 0, in[2:], 0)
}

// Alias lets y take the place of x.
func (dyT) Alias(int) int { return 0 }

func (o dyT) Bind(c *graph.Call) []graph.Task {
	t := c.Rows(graph.Typed(c, runDyT[float32], runDyT[float64])(c, o))
	for i := 1; i < c.Operands(); i++ {
		t.Whole = append(t.Whole, c.In(i))
	}
	return []graph.Task{t}
}

func runDyT[T graph.Float](c *graph.Call, o dyT) func(part, parts int, _ *graph.Worker) {
	d := c.In(2).Len()
	return func(part, parts int, _ *graph.Worker) {
		x, y := graph.Part[T](c.In(0), part, parts), graph.Part[T](c.Out(0), part, parts)
		alpha, w, b := graph.Slice[T](c.In(1)), graph.Slice[T](c.In(2)), optional[T](c, o.bias, 3)
		kernel.DyT(y, x, w, b, alpha, len(x)/d, d)
	}
}

// Grad is, with h = tanh(alpha·x) and t = dy ⊙ w ⊙ (1 - h²),
//
//	dx = alpha·t,  dalpha = Σ t ⊙ x,  dw = Σ dy ⊙ h,  db = Σ dy
func (o dyT) Grad(in, _, dout []*graph.Node) []*graph.Node {
	return graph.Apply(dyTGrad{bias: o.bias}, dout[0], in[0], in[1], in[2])
}

// dyTGrad has operands dy, x, alpha, w and the addend of dx, and results dx,
// dalpha, dw, db.
type dyTGrad struct{ bias, addend bool }

func (o dyTGrad) String() string {
	if o.addend {
		return "dytGrad plus"
	}
	return "dytGrad"
}

func (o dyTGrad) Infer(in []graph.Shape) ([]graph.Shape, error) {
	out := slices.Clone(in[1:4])
	if o.bias {
		out = append(out, in[3])
	}
	return out, nil
}

// Alias lets dx take the place of the addend, or of dy.
func (o dyTGrad) Alias(slot int) int {
	if o.addend {
		return over(4, slot)
	}
	return over(0, slot)
}

func (o dyTGrad) Bind(c *graph.Call) []graph.Task {
	return graph.Typed(c, bindDyTGrad[float32], bindDyTGrad[float64])(c, o)
}

func bindDyTGrad[T graph.Float](c *graph.Call, o dyTGrad) []graph.Task {
	d := c.In(3).Len()
	results := 3
	if o.bias {
		results = 4
	}
	tasks := gradientOfRows(c, results, func(part, parts int, sums []T) {
		dy, x, dx := graph.Part[T](c.In(0), part, parts), graph.Part[T](c.In(1), part, parts), graph.Part[T](c.Out(0), part, parts)
		alpha, w := graph.Slice[T](c.In(2)), graph.Slice[T](c.In(3))
		addend := optionalPart[T](c, o.addend, 4, part, parts)
		dalpha, dw := sums[:1], sums[1:1+d]
		var db []T
		if o.bias {
			db = sums[1+d:]
		}
		kernel.DyTGrad(dx, dy, x, w, alpha, dw, db, dalpha, addend, len(x)/d, d)
	})
	tasks[0].Whole = []*graph.Buffer{c.In(2), c.In(3)}
	return tasks
}

// Fuse takes in the sum over the paths to x.
func (o dyTGrad) Fuse(next graph.Op, arg, slot int, keep bool) (graph.Op, bool) {
	if o.addend || !fusesAddend(next, arg, slot, keep) {
		return nil, false
	}
	o.addend = true
	return o, true
}
