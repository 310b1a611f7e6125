package ops

import (
	"fmt"

	"ablate/graph"
	"ablate/ops/kernel"
)

// Softcap is y = limit·tanh(x/limit), element by element: scores or logits
// bounded softly (Bello et al. 2016, arXiv:1611.09940; Gemma 2, 2024). limit
// is positive.
func Softcap(x *graph.Node, limit float64) *graph.Node {
	return graph.Apply1(softcap{pointwise{name: fmt.Sprintf("softcap{%v}", limit), arity: 1, f32: mapSoftcap[float32](limit), f64: mapSoftcap[float64](limit)}, limit}, x)
}

type softcap struct {
	pointwise
	limit float64
}

func (o softcap) Infer(in []graph.Shape) ([]graph.Shape, error) {
	if !(o.limit > 0) {
		return nil, fmt.Errorf("the limit is %v; it must be positive", o.limit)
	}
	return o.pointwise.Infer(in)
}

func mapSoftcap[T graph.Float](limit float64) mapFunc[T] {
	return func(out, in pieces[T], _ []T) { kernel.Softcap(out[0], in[0], limit) }
}

// Grad is dx = dy ⊙ (1 - tanh²(x/limit)).
func (o softcap) Grad(in, _, dout []*graph.Node) []*graph.Node {
	grad := pointwise{name: fmt.Sprintf("softcapGrad{%v}", o.limit), arity: 2, f32: mapSoftcapGrad[float32](o.limit), f64: mapSoftcapGrad[float64](o.limit), grad: true}
	return []*graph.Node{graph.Apply1(grad, dout[0], in[0])}
}

func mapSoftcapGrad[T graph.Float](limit float64) mapFunc[T] {
	return func(out, in pieces[T], _ []T) { kernel.SoftcapGrad(out[0], in[0], in[1], limit) }
}
