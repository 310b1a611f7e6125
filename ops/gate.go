package ops

import (
	"ablate/graph"
	"ablate/ops/kernel"
)

// Gate is y = f(g) ⊙ v, element by element: the hidden layer of a gated
// feed-forward network (Dauphin et al. 2016, arXiv:1612.08083; Shazeer 2020,
// arXiv:2002.05202). f is the logistic function in GLU, GELU in GEGLU, SiLU in
// SwiGLU, ReLU in ReGLU, and the identity in the bilinear layer.
func Gate(g, v *graph.Node, u Unary) *graph.Node {
	return graph.Apply1(gate{pointwise{name: "gate{" + u.Name + "}", arity: 2, f32: mapGate[float32](u), f64: mapGate[float64](u)}, &u}, g, v)
}

type gate struct {
	pointwise
	u *Unary
}

func mapGate[T graph.Float](u Unary) mapFunc[T] {
	f := kernelsOf[T](u).F
	return func(out, in pieces[T], tmp []T) {
		y, g, v := out[0], in[0], in[1]
		tmp = tmp[:len(y)]
		f(tmp, g)
		kernel.Mul(y, tmp, v)
	}
}

// Grad is dg = dy ⊙ v ⊙ f'(g) and dv = dy ⊙ f(g).
func (o gate) Grad(in, _, dout []*graph.Node) []*graph.Node {
	grad := pointwise{name: "gateGrad{" + o.u.Name + "}", arity: 3, more: 1, f32: mapGateGrad[float32](*o.u), f64: mapGateGrad[float64](*o.u), grad: true}
	return graph.Apply(gateGrad{grad, o.u}, dout[0], in[0], in[1])
}

// gateGrad has operands dy, g, v and results dg, dv.
type gateGrad struct {
	pointwise
	u *Unary
}

// Join takes in the gate itself, which the backward pass computes again. Results
// are dg, dv, y.
func (o gateGrad) Join(other graph.Op, at []int) (graph.Op, bool) {
	if f, ok := other.(gate); !ok || f.u != o.u || at[0] != 1 || at[1] != 2 {
		return nil, false
	}
	p := o.pointwise
	p.name, p.more = p.name+" and again", 2
	return p, true
}

// mapGateGrad also computes the gate if there is a third result.
func mapGateGrad[T graph.Float](u Unary) mapFunc[T] {
	both := kernelsOf[T](u).Both
	return func(out, in pieces[T], tmp []T) {
		dy, g, v := in[0], in[1], in[2]
		n := len(dy)
		dg, f := tmp[:n], tmp[n:2*n]
		kernel.Mul(dg, dy, v)
		both(f, dg, dg, g)
		kernel.Mul(out[1], dy, f) // g, where this may stand, has been read
		if y := out[2]; y != nil {
			kernel.Mul(y, v, f)
		}
		copy(out[0], dg) // dy, where this may stand, has been read
	}
}
