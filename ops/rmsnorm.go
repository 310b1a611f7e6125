package ops

import (
	"ablate/graph"
	"ablate/ops/kernel"
)

// RMSNorm scales rows to unit mean square (Zhang and Sennrich 2019,
// arXiv:1910.07467):
//
//	y = x/√(mean(x²) + eps) ⊙ w,  or ⊙ (1 + w) if onePlus (Gemma 2024, arXiv:2403.08295)
//
//	x, y (…, D)   w [d], d a divisor of D
//
// Rows are of d entries. w may be nil; then d is D.
func RMSNorm(x, w *graph.Node, eps float64, onePlus bool) *graph.Node {
	if w == nil {
		return graph.Apply(rmsNorm{eps: eps}, x)[0]
	}
	return graph.Apply(rmsNorm{eps: eps, weight: true, onePlus: onePlus}, x, w)[0]
}

// RMSNormRows is RMSNorm without gains (Qin et al. 2023, arXiv:2307.14995, whose eps
// stands elsewhere) of rows of d entries, d a divisor of D:
//
//	y = x/√(mean(x²) + eps)
func RMSNormRows(x *graph.Node, d int, eps float64) *graph.Node {
	return graph.Apply(rmsNorm{eps: eps, d: d}, x)[0]
}

// rmsNorm has operands x, w and results y, 1/√(mean(x²) + eps).
type rmsNorm struct {
	eps             float64
	d               int // of rows without weight; 0 is D
	weight, onePlus bool
}

func (o rmsNorm) String() string {
	switch {
	case o.onePlus:
		return "rmsnorm 1+w"
	case !o.weight:
		return "rmsnorm plain"
	}
	return "rmsnorm"
}

// Normalizes marks a Norm.
func (rmsNorm) Normalizes() {}

func (o rmsNorm) Infer(in []graph.Shape) ([]graph.Shape, error) {
	return normShapes(in[0], o.d, in[1:], 1)
}

// Alias lets y take the place of x.
func (rmsNorm) Alias(slot int) int { return over(0, slot) }

func (o rmsNorm) Bind(c *graph.Call) []graph.Task {
	t := c.Rows(graph.Typed(c, runRMSNorm[float32], runRMSNorm[float64])(c, o))
	if o.weight {
		t.Whole = []*graph.Buffer{c.In(1)}
	}
	return []graph.Task{t}
}

func runRMSNorm[T graph.Float](c *graph.Call, o rmsNorm) func(part, parts int, _ *graph.Worker) {
	d := c.In(0).Len() / c.Out(1).Len()
	return func(part, parts int, _ *graph.Worker) {
		x, y := graph.Part[T](c.In(0), part, parts), graph.Part[T](c.Out(0), part, parts)
		rstd := graph.Part[T](c.Out(1), part, parts)
		kernel.RMSNorm(y, x, optional[T](c, o.weight, 1), rstd, len(rstd), d, T(o.eps), o.onePlus)
	}
}

// Grad is, with h = x/√(mean(x²) + eps) and t = dy ⊙ w,
//
//	dx = (t - h·mean(t ⊙ h))/√(mean(x²) + eps),  dw = Σ dy ⊙ h
func (o rmsNorm) Grad(in, out, dout []*graph.Node) []*graph.Node {
	operands := []*graph.Node{dout[0], in[0], out[1]}
	if o.weight {
		operands = append(operands, in[1])
	}
	return graph.Apply(rmsNormGrad{weight: o.weight, onePlus: o.onePlus}, operands...)
}

// rmsNormGrad has operands dy, x, 1/√(mean(x²) + eps), w and the addend of dx,
// and results dx, dw.
type rmsNormGrad struct{ weight, onePlus, addend bool }

func (o rmsNormGrad) String() string {
	if o.addend {
		return "rmsnormGrad plus"
	}
	return "rmsnormGrad"
}

// at is the place of the addend among the operands.
func (o rmsNormGrad) at() int {
	if o.weight {
		return 4
	}
	return 3
}

func (o rmsNormGrad) Infer(in []graph.Shape) ([]graph.Shape, error) {
	if o.weight {
		return []graph.Shape{in[1], in[3]}, nil
	}
	return in[1:2], nil
}

// Alias lets dx take the place of the addend, or of dy.
func (o rmsNormGrad) Alias(slot int) int {
	if o.addend {
		return over(o.at(), slot)
	}
	return over(0, slot)
}

func (o rmsNormGrad) Bind(c *graph.Call) []graph.Task {
	return graph.Typed(c, bindRMSNormGrad[float32], bindRMSNormGrad[float64])(c, o)
}

func bindRMSNormGrad[T graph.Float](c *graph.Call, o rmsNormGrad) []graph.Task {
	d := c.In(1).Len() / c.In(2).Len()
	results := 1
	if o.weight {
		results = 2
	}
	tasks := gradientOfRows(c, results, func(part, parts int, dw []T) {
		dy, x, dx := graph.Part[T](c.In(0), part, parts), graph.Part[T](c.In(1), part, parts), graph.Part[T](c.Out(0), part, parts)
		rstd := graph.Part[T](c.In(2), part, parts)
		w, addend := optional[T](c, o.weight, 3), optionalPart[T](c, o.addend, o.at(), part, parts)
		kernel.RMSNormGrad(dx, dy, x, w, rstd, dw, addend, len(rstd), d, o.onePlus)
	})
	if o.weight {
		tasks[0].Whole = []*graph.Buffer{c.In(3)}
	}
	return tasks
}

// Fuse takes in the sum over the paths to x.
func (o rmsNormGrad) Fuse(next graph.Op, arg, slot int, keep bool) (graph.Op, bool) {
	if o.addend || !fusesAddend(next, arg, slot, keep) {
		return nil, false
	}
	o.addend = true
	return o, true
}
