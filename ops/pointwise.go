package ops

import (
	"slices"

	"ablate/graph"
	"ablate/ops/kernel"
)

// mapFunc computes, for every i, element i of its results from elements i of its
// operands. A single result may stand where any operand does, one of several where
// that of its number does. tmp has at least twice the length of an operand.
type mapFunc[T graph.Float] func(out, in pieces[T], tmp []T)

// pieces are the same stretch of several values, nil where there is none.
type pieces[T graph.Float] [maxArity][]T

// cut is the elements [lo, hi) of each.
func (p pieces[T]) cut(lo, hi int) pieces[T] {
	for i, x := range p {
		if x != nil {
			p[i] = x[lo:hi]
		}
	}
	return p
}

// pointwise is an operation with results of the operands' shape, whose elements i
// depend on the elements i of the operands alone. The matrix products take such
// operations into themselves and compute them on blocks of their result that are
// still in the cache. Differentiable operations embed it and add their Grad.
type pointwise struct {
	name  string
	arity int
	more  int // results beyond the first, fewer than arity
	f32   mapFunc[float32]
	f64   mapFunc[float64]

	// grad says that the operation is a gradient, whose first operand arrives
	// while the others were kept: only what computes the first may take it in.
	grad bool
}

// maxArity is the most operands that a pointwise operation has, and the most
// results.
const maxArity = 3

// chunk is the number of elements that a mapFunc is given at once: a few
// operands of that length, and tmp, fit in the first-level cache.
const chunk = 1024

// chunkTmp is the length of tmp for chunks.
const chunkTmp = 2 * chunk

func (o pointwise) String() string { return o.name }

func (o pointwise) Infer(in []graph.Shape) ([]graph.Shape, error) {
	for _, s := range in[1:] {
		if err := wantEqual("operands", in[0], s); err != nil {
			return nil, err
		}
	}
	return slices.Repeat(in[:1], 1+o.more), nil
}

// Alias lets results take the places of the operands of their numbers.
func (pointwise) Alias(slot int) int { return slot }

func (o pointwise) Bind(c *graph.Call) []graph.Task {
	c.Local(chunkTmp)
	return []graph.Task{c.Rows(graph.Typed(c, runPointwise[float32], runPointwise[float64])(c, o))}
}

func runPointwise[T graph.Float](c *graph.Call, o pointwise) func(part, parts int, w *graph.Worker) {
	f := mapOf[T](o)
	return func(part, parts int, w *graph.Worker) {
		tmp := graph.Local[T](w, chunkTmp)
		var out, in pieces[T]
		for i := range o.arity {
			in[i] = graph.Part[T](c.In(i), part, parts)
		}
		for i := range 1 + o.more {
			out[i] = graph.Part[T](c.Out(i), part, parts)
		}
		for lo, n := 0, len(out[0]); lo < n; lo += chunk {
			hi := min(lo+chunk, n)
			f(out.cut(lo, hi), in.cut(lo, hi), tmp)
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

func mapSum[T graph.Float](out, in pieces[T], _ []T) { kernel.Add(out[0], in[0], in[1]) }
