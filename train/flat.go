package train

import (
	"ablate/graph"
	"ablate/ops/kernel"
)

// pieceLen is the number of elements at which work on a flat vector is cut.
// Sums are taken piece by piece, so it is part of the numerics. 16 Ki elements
// of five float32 vectors fit in a second-level cache.
const pieceLen = 1 << 14

// piece is a run of elements within one parameter.
type piece struct{ param, from, to int }

// pieces cuts every parameter into pieces, in order, and groups them in parts
// of about pieceLen elements each: the units that workers take. Many small
// parameters make one part. Elements between parameters are in no piece.
func pieces[T graph.Float](p *graph.Params[T]) (all []piece, parts [][]piece) {
	for i, s := range p.Specs() {
		from, to := p.Span(s.Name)
		for ; from < to; from += pieceLen {
			all = append(all, piece{i, from, min(from+pieceLen, to)})
		}
	}
	size, first := 0, 0
	for i, c := range all {
		n := c.to - c.from
		if i > first && size+n > pieceLen {
			parts = append(parts, all[first:i])
			size, first = 0, i
		}
		size += n
	}
	if first < len(all) {
		parts = append(parts, all[first:])
	}
	return all, parts
}

// flat does what a step does to whole vectors: adding gradients, measuring
// norms, updating. All of it runs on the team, and the order of every sum
// depends on the layout alone.
type flat[T graph.Float] struct {
	team  *graph.Team
	specs []*graph.ParamSpec
	all   []piece
	parts [][]piece
	place []int // of a part's first piece in all

	vec     Vectors[T]
	rule    Rule[T]
	factors []Factors // by parameter

	fresh []T // gradients as the program leaves them; vec.Grads is another vector where micro-batches add up

	gradSq, valueSq, deltaSq []float64 // by piece
	before                   chan []T  // scratch for old values, one for each worker; nil for a Measurer

	tasks struct{ add, gradNorms, valueNorms, update, measuredUpdate func(part int) }
}

// newFlat allocates the state of the optimizer, all zero, and the sum of
// gradients if there are several micro-batches.
func newFlat[T graph.Float](m *Model[T], o Optimizer[T], c Config) *flat[T] {
	f := &flat[T]{team: m.Team, specs: m.Params.Specs(), rule: o.New(c), fresh: m.Params.Grads()}
	f.all, f.parts = pieces(m.Params)
	for _, s := range f.specs {
		f.factors = append(f.factors, c.Factors(s))
	}
	first := 0
	for _, p := range f.parts {
		f.place = append(f.place, first)
		first += len(p)
	}
	f.vec = Vectors[T]{Values: m.Params.Values(), Grads: f.fresh}
	if c.Accumulate > 1 {
		f.vec.Grads = m.Params.Vector()
	}
	for range o.State {
		f.vec.State = append(f.vec.State, m.Params.Vector())
	}
	f.gradSq, f.valueSq, f.deltaSq = make([]float64, len(f.all)), make([]float64, len(f.all)), make([]float64, len(f.all))
	f.tasks.add = f.each(f.addPiece)
	f.tasks.gradNorms = f.each(func(i int, c piece) { f.gradSq[i] = kernel.SumSquares(f.vec.Grads[c.from:c.to]) })
	f.tasks.valueNorms = f.each(func(i int, c piece) { f.valueSq[i] = kernel.SumSquares(f.vec.Values[c.from:c.to]) })
	f.tasks.update = f.each(f.updatePiece)
	f.tasks.measuredUpdate = f.each(f.measurer())
	return f
}

// measurer is the measuring update of a piece: the rule's own, or one made of
// it with the old values kept aside.
func (f *flat[T]) measurer() func(i int, c piece) {
	if rule, ok := f.rule.(Measurer[T]); ok {
		return func(i int, c piece) {
			f.valueSq[i], f.deltaSq[i] = rule.UpdateMeasured(&f.vec, c.from, c.to, f.factors[c.param])
		}
	}
	f.before = make(chan []T, f.team.Size())
	for range f.team.Size() {
		f.before <- make([]T, pieceLen)
	}
	return f.measurePiece
}

// each makes the function of a part from that of a piece and its number.
func (f *flat[T]) each(do func(i int, c piece)) func(part int) {
	return func(part int) {
		for k, c := range f.parts[part] {
			do(f.place[part]+k, c)
		}
	}
}

func (f *flat[T]) do(task func(part int)) { f.team.Do(len(f.parts), task) }

// accumulate adds the program's gradients to the step's, or replaces them for
// the first micro-batch.
func (f *flat[T]) accumulate(micro int) {
	switch {
	case &f.fresh[0] == &f.vec.Grads[0]:
	case micro == 0:
		copy(f.vec.Grads, f.fresh)
	default:
		f.do(f.tasks.add)
	}
}

func (f *flat[T]) addPiece(_ int, c piece) {
	g := f.vec.Grads[c.from:c.to]
	kernel.Add(g, g, f.fresh[c.from:c.to])
}

func (f *flat[T]) updatePiece(_ int, c piece) {
	f.rule.Update(&f.vec, c.from, c.to, f.factors[c.param])
}

// measurePiece is updatePiece with Σ W² before and Σ (ΔW)², while the piece is
// in the cache.
func (f *flat[T]) measurePiece(i int, c piece) {
	scratch := <-f.before
	old, now := scratch[:c.to-c.from], f.vec.Values[c.from:c.to]
	copy(old, now)
	f.valueSq[i] = kernel.SumSquares(old)
	f.updatePiece(i, c)
	kernel.Sub(old, now, old)
	f.deltaSq[i] = kernel.SumSquares(old)
	f.before <- scratch
}

// update makes update number t, counted from 1. measure asks for the sums of
// squares of the differences.
func (f *flat[T]) update(t int, lr, clip float64, measure bool) {
	f.rule.Prepare(t, lr, clip)
	if measure {
		f.do(f.tasks.measuredUpdate)
		return
	}
	f.do(f.tasks.update)
}

// byParam adds the sums of pieces to sums of parameters.
func (f *flat[T]) byParam(dst, bySquares []float64) {
	clear(dst)
	for i, c := range f.all {
		dst[c.param] += bySquares[i]
	}
}

// nonFinite is the first parameter that is not finite in one of the vectors,
// nil if there is none.
func (f *flat[T]) nonFinite(vectors ...[]T) *graph.ParamSpec {
	for _, c := range f.all {
		for _, v := range vectors {
			if !kernel.AllFinite(v[c.from:c.to]) {
				return f.specs[c.param]
			}
		}
	}
	return nil
}
