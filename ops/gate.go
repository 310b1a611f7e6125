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
	return graph.Apply1(gate{pointwise{name: "gate{" + u.Name + "}", arity: 2, f32: mapGate[float32](u), f64: mapGate[float64](u)}, u}, g, v)
}

type gate struct {
	pointwise
	u Unary
}

func mapGate[T graph.Float](u Unary) mapFunc[T] {
	f := kernelsOf[T](u).F
	return func(y, g, v, _, tmp []T) {
		tmp = tmp[:len(y)]
		f(tmp, g)
		kernel.Mul(y, tmp, v)
	}
}

// Grad is dg = dy ⊙ v ⊙ f'(g) and dv = dy ⊙ f(g). They are two operations, so
// that the product which computes dy can take both into itself.
func (o gate) Grad(in, _, dout []*graph.Node) []*graph.Node {
	g, v, dy := in[0], in[1], dout[0]
	dg := pointwise{name: "gateGrad{" + o.u.Name + "}", arity: 3, f32: mapGateGrad[float32](o.u), f64: mapGateGrad[float64](o.u), grad: true}
	dv := pointwise{name: "gateValueGrad{" + o.u.Name + "}", arity: 2, f32: mapGateValueGrad[float32](o.u), f64: mapGateValueGrad[float64](o.u), grad: true}
	return []*graph.Node{graph.Apply1(dg, dy, g, v), graph.Apply1(dv, dy, g)}
}

func mapGateGrad[T graph.Float](u Unary) mapFunc[T] {
	d := kernelsOf[T](u).D
	return func(dg, dy, g, v, tmp []T) {
		tmp = tmp[:len(dg)]
		kernel.Mul(tmp, dy, v)
		d(dg, tmp, g)
	}
}

// mapGateValueGrad is the gate again, with dy as the value.
func mapGateValueGrad[T graph.Float](u Unary) mapFunc[T] {
	f := mapGate[T](u)
	return func(dv, dy, g, _, tmp []T) { f(dv, g, dy, nil, tmp) }
}
