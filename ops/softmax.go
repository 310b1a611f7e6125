package ops

import (
	"ablate/graph"
	"ablate/ops/kernel"
)

// Softmax is y = exp(x)/Σ exp(x) over the last axis, for an x (…, D).
func Softmax(x *graph.Node) *graph.Node { return graph.Apply1(softmax{}, x) }

// MaskedSoftmax is Softmax over the places where mask, int32 of x's shape, is
// not 0. The others, and all of a row without any, become 0.
func MaskedSoftmax(x, mask *graph.Node) *graph.Node {
	return graph.Apply1(softmax{masked: true}, x, mask)
}

type softmax struct{ masked bool }

func (softmax) String() string { return "softmax" }

func (o softmax) Infer(in []graph.Shape) ([]graph.Shape, error) {
	if err := wantRows("x", in[0]); err != nil {
		return nil, err
	}
	if o.masked {
		return in[:1], wantEqual("x and the mask", in[0], in[1])
	}
	return in[:1], nil
}

// Alias lets y take the place of x.
func (softmax) Alias(int) int { return 0 }

func (o softmax) Bind(c *graph.Call) []graph.Task {
	return []graph.Task{c.Rows(graph.Typed(c, runSoftmax[float32], runSoftmax[float64])(c, o))}
}

func runSoftmax[T graph.Float](c *graph.Call, o softmax) func(part, parts int, _ *graph.Worker) {
	d := width(c.In(0).Shape())
	rows := c.In(0).Shape()[0]
	var mask []bool
	if o.masked {
		mask = make([]bool, c.In(0).Len())
	}
	return func(part, parts int, _ *graph.Worker) {
		x := graph.Part[T](c.In(0), part, parts)
		var m []bool
		if o.masked {
			m = mask[len(mask)/rows*(rows*part/parts):][:len(x)]
			for i, v := range graph.Part[int32](c.In(1), part, parts) {
				m[i] = v != 0
			}
		}
		kernel.Softmax(graph.Part[T](c.Out(0), part, parts), x, m, len(x)/d, d)
	}
}

// Grad is dx = y ⊙ (dy - Σ dy ⊙ y).
func (softmax) Grad(in, out, dout []*graph.Node) []*graph.Node {
	d := make([]*graph.Node, len(in))
	d[0] = graph.Apply1(softmaxGrad{}, dout[0], out[0])
	return d
}

// softmaxGrad has operands dy and y.
type softmaxGrad struct{}

func (softmaxGrad) String() string { return "softmaxGrad" }

func (softmaxGrad) Infer(in []graph.Shape) ([]graph.Shape, error) { return in[:1], nil }

// Alias lets dx take the place of dy.
func (softmaxGrad) Alias(int) int { return 0 }

func (softmaxGrad) Bind(c *graph.Call) []graph.Task {
	return []graph.Task{c.Rows(graph.Typed(c, runSoftmaxGrad[float32], runSoftmaxGrad[float64])(c))}
}

func runSoftmaxGrad[T graph.Float](c *graph.Call) func(part, parts int, _ *graph.Worker) {
	d := width(c.In(0).Shape())
	return func(part, parts int, _ *graph.Worker) {
		dy := graph.Part[T](c.In(0), part, parts)
		kernel.SoftmaxGrad(graph.Part[T](c.Out(0), part, parts), dy, graph.Part[T](c.In(1), part, parts), len(dy)/d, d)
	}
}
