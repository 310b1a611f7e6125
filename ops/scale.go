package ops

import (
	"fmt"

	"ablate/graph"
	"ablate/ops/kernel"
)

// Scale is y = c·x for a constant c, such as the factor of an embedding or
// DeepNet's alpha, and an x of any shape.
func Scale(x *graph.Node, c float64) *graph.Node {
	if c == 1 {
		return x
	}
	return graph.Apply1(scale{pointwise{name: fmt.Sprintf("scale{%v}", c), arity: 1, f32: mapScale[float32](c), f64: mapScale[float64](c)}}, x)
}

type scale struct{ pointwise }

func mapScale[T graph.Float](c float64) mapFunc[T] {
	return func(out, in pieces[T], _ []T) { kernel.Scale(out[0], in[0], c) }
}

// Grad is dx = c·dy.
func (o scale) Grad(_, _, dout []*graph.Node) []*graph.Node {
	return []*graph.Node{graph.Apply1(o, dout[0])}
}
