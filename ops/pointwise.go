package ops

import (
	"ablate/graph"
	"ablate/ops/kernel"
)

// mapFunc computes y[i] = f(a[i], b[i], c[i]) for the operands that there are.
// y may be any of them. tmp has at least the length of y.
type mapFunc[T graph.Float] func(y, a, b, c, tmp []T)

// pointwise is an operation with one result, of the operands' shape, whose
// element i depends on the elements i of the operands alone. The matrix
// products take such operations into themselves and compute them on blocks of
// their result that are still in the cache. Differentiable operations embed it
// and add their Grad.
type pointwise struct {
	name  string
	arity int
	f32   mapFunc[float32]
	f64   mapFunc[float64]

	// grad says that the operation is a gradient, whose first operand arrives
	// while the others were kept: only what computes the first may take it in.
	grad bool
}

// maxArity is the most operands that a pointwise operation has.
const maxArity = 3

// chunk is the number of elements that a mapFunc is given at once: a few
// operands of that length, and tmp, fit in the first-level cache.
const chunk = 1024

func (o pointwise) String() string { return o.name }

func (o pointwise) Infer(in []graph.Shape) ([]graph.Shape, error) {
	for _, s := range in[1:] {
		if err := wantEqual("operands", in[0], s); err != nil {
			return nil, err
		}
	}
	return in[:1], nil
}

// Alias lets the result take the place of the first operand.
func (pointwise) Alias(int) int { return 0 }

func (o pointwise) Bind(c *graph.Call) []graph.Task {
	c.Local(chunk)
	return []graph.Task{c.Rows(graph.Typed(c, runPointwise[float32], runPointwise[float64])(c, o))}
}

func runPointwise[T graph.Float](c *graph.Call, o pointwise) func(part, parts int, w *graph.Worker) {
	f := mapOf[T](o)
	return func(part, parts int, w *graph.Worker) {
		tmp := graph.Local[T](w, chunk)
		y := graph.Part[T](c.Out(0), part, parts)
		var in [maxArity][]T
		for i := range in {
			in[i] = graph.Part[T](c.In(min(i, c.Operands()-1)), part, parts)
		}
		for lo := 0; lo < len(y); lo += chunk {
			hi := min(lo+chunk, len(y))
			f(y[lo:hi], in[0][lo:hi], in[1][lo:hi], in[2][lo:hi], tmp)
		}
	}
}

// mapOf is the function of o for the type of the graph.
func mapOf[T graph.Float](o pointwise) mapFunc[T] {
	if f, ok := any(o.f32).(mapFunc[T]); ok {
		return f
	}
	return any(o.f64).(mapFunc[T])
}

// elements tells pointwise operations from others, however they embed it.
func (o pointwise) elements() pointwise { return o }

// asPointwise gives op as a pointwise operation, if it is one.
func asPointwise(op graph.Op) (pointwise, bool) {
	if s, ok := op.(graph.Sum); ok {
		return pointwise{name: s.String(), arity: 2, f32: mapSum[float32], f64: mapSum[float64]}, true
	}
	if p, ok := op.(interface{ elements() pointwise }); ok {
		return p.elements(), true
	}
	return pointwise{}, false
}

func mapSum[T graph.Float](y, a, b, _, _ []T) { kernel.Add(y, a, b) }
