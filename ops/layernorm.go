package ops

import (
	"errors"

	"ablate/graph"
	"ablate/ops/kernel"
)

// LayerNorm normalises rows (Ba, Kiros and Hinton 2016, arXiv:1607.06450):
//
//	y = (x - m)/√(v + eps) ⊙ w + b,  m = mean(x),  v = mean((x - m)²)
//
//	x, y (…, D)   w, b [d], d a divisor of D
//
// Rows are of d entries. b may be nil; w too, if b is, and then d is D.
func LayerNorm(x, w, b *graph.Node, eps float64) *graph.Node {
	o, in := layerNorm{eps: eps}, []*graph.Node{x}
	if w != nil {
		o.weight, in = true, append(in, w)
	}
	if b != nil {
		o.bias, in = true, append(in, b)
	}
	return graph.Apply(o, in...)[0]
}

// layerNorm has operands x, w, b and results y, mean, 1/√(v + eps).
type layerNorm struct {
	eps          float64
	weight, bias bool
}

func (o layerNorm) String() string {
	if !o.weight {
		return "layernorm plain"
	}
	return "layernorm"
}

// Normalizes marks a Norm.
func (layerNorm) Normalizes() {}

func (o layerNorm) Infer(in []graph.Shape) ([]graph.Shape, error) {
	if o.bias && !o.weight {
		return nil, errors.New("a bias without a weight")
	}
	return normShapes(in[0], 0, in[1:], 2)
}

// Alias lets y take the place of x.
func (layerNorm) Alias(slot int) int { return over(0, slot) }

func (o layerNorm) Bind(c *graph.Call) []graph.Task {
	t := c.Rows(graph.Typed(c, runLayerNorm[float32], runLayerNorm[float64])(c, o))
	for i := 1; i < c.Operands(); i++ {
		t.Whole = append(t.Whole, c.In(i))
	}
	return []graph.Task{t}
}

func runLayerNorm[T graph.Float](c *graph.Call, o layerNorm) func(part, parts int, _ *graph.Worker) {
	d := c.In(0).Len() / c.Out(1).Len()
	return func(part, parts int, _ *graph.Worker) {
		x, y := graph.Part[T](c.In(0), part, parts), graph.Part[T](c.Out(0), part, parts)
		w, b := optional[T](c, o.weight, 1), optional[T](c, o.bias, 2)
		mean, rstd := graph.Part[T](c.Out(1), part, parts), graph.Part[T](c.Out(2), part, parts)
		kernel.LayerNorm(y, x, w, b, mean, rstd, len(mean), d, T(o.eps))
	}
}

// Grad is, with h = (x - m)/√(v + eps) and t = dy ⊙ w,
//
//	dx = (t - mean(t) - h·mean(t ⊙ h))/√(v + eps),  dw = Σ dy ⊙ h,  db = Σ dy
func (o layerNorm) Grad(in, out, dout []*graph.Node) []*graph.Node {
	operands := []*graph.Node{dout[0], in[0], out[1], out[2]}
	if o.weight {
		operands = append(operands, in[1])
	}
	return graph.Apply(layerNormGrad{weight: o.weight, bias: o.bias}, operands...)
}

// layerNormGrad has operands dy, x, mean, 1/√(v + eps), w and the addend of
// dx, and results dx, dw, db.
type layerNormGrad struct{ weight, bias, addend bool }

func (o layerNormGrad) String() string {
	if o.addend {
		return "layernormGrad plus"
	}
	return "layernormGrad"
}

// at is the place of the addend among the operands.
func (o layerNormGrad) at() int {
	if o.weight {
		return 5
	}
	return 4
}

func (o layerNormGrad) Infer(in []graph.Shape) ([]graph.Shape, error) {
	out := []graph.Shape{in[1]}
	if o.weight {
		out = append(out, in[4])
	}
	if o.bias {
		out = append(out, in[4])
	}
	return out, nil
}

// Alias lets dx take the place of the addend, or of dy.
func (o layerNormGrad) Alias(slot int) int {
	if o.addend {
		return over(o.at(), slot)
	}
	return over(0, slot)
}

func (o layerNormGrad) Bind(c *graph.Call) []graph.Task {
	return graph.Typed(c, bindLayerNormGrad[float32], bindLayerNormGrad[float64])(c, o)
}

func bindLayerNormGrad[T graph.Float](c *graph.Call, o layerNormGrad) []graph.Task {
	d := c.In(1).Len() / c.In(2).Len()
	results := 1
	for _, there := range []bool{o.weight, o.bias} {
		if there {
			results++
		}
	}
	tasks := gradientOfRows(c, results, func(part, parts int, sums []T) {
		dy, x, dx := graph.Part[T](c.In(0), part, parts), graph.Part[T](c.In(1), part, parts), graph.Part[T](c.Out(0), part, parts)
		mean, rstd := graph.Part[T](c.In(2), part, parts), graph.Part[T](c.In(3), part, parts)
		w, addend := optional[T](c, o.weight, 4), optionalPart[T](c, o.addend, o.at(), part, parts)
		var dw, db []T
		if o.weight {
			dw = sums[:d]
		}
		if o.bias {
			db = sums[d : 2*d]
		}
		kernel.LayerNormGrad(dx, dy, x, w, mean, rstd, dw, db, addend, len(mean), d)
	})
	if o.weight {
		tasks[0].Whole = []*graph.Buffer{c.In(4)}
	}
	return tasks
}

// Fuse takes in the sum over the paths to x.
func (o layerNormGrad) Fuse(next graph.Op, arg, slot int, keep bool) (graph.Op, bool) {
	if o.addend || !fusesAddend(next, arg, slot, keep) {
		return nil, false
	}
	o.addend = true
	return o, true
}
