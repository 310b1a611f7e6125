package train

import (
	"ablate/graph"
	"ablate/ops/kernel"
)

// pieceLen is the number of elements at which work on a flat vector is cut.
// Sums are taken piece by piece, so it is part of the numerics. 16 Ki elements
// of five float32 vectors fit in a second-level cache.
const pieceLen = 1 << 14

// piece is a run of elements within one parameter, with its number among all pieces.
type piece struct{ index, param, from, to int }

// pieces cuts every parameter into pieces, in order. Elements between parameters are in none.
func pieces[T graph.Float](p *graph.Params[T]) (all []piece) {
	for i, s := range p.Specs() {
		from, to := p.Span(s.Name)
		for ; from < to; from += pieceLen {
			all = append(all, piece{len(all), i, from, min(from+pieceLen, to)})
		}
	}
	return all
}

// inParts groups pieces in parts of about pieceLen elements each: the units that workers take. Many small
// parameters make one part.
func inParts(all []piece) (parts [][]piece) {
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
	return parts
}

// flat does what a step does to whole vectors: adding gradients, measuring
// norms, updating. All of it runs on the team, and the order of every sum
// depends on the layout alone.
type flat[T graph.Float] struct {
	team  *graph.Team
	specs []*graph.ParamSpec
	all   []piece

	vec     Vectors[T]
	rule    Rule[T]
	factors []Factors // by parameter

	fresh []T // gradients as the program leaves them; vec.Grads is another vector where micro-batches add up

	measured                 [][]float64 // Σ g² of parts of a parameter's gradient, by the program; nil for those in unmeasured
	unmeasured               []piece
	gradSq, valueSq, deltaSq []float64 // by piece
	before                   chan []T  // scratch for old values, one for each worker; nil for a Measurer

	tasks struct{ add, gradNorms, valueNorms, update, measuredUpdate task }
}

// task is work on pieces, in parts.
type task struct {
	parts int
	run   func(part int)
}

// newFlat allocates the state of the optimizer, all zero, and the sum of
// gradients if there are several micro-batches.
func newFlat[T graph.Float](m *Model[T], o Optimizer[T], c Config) *flat[T] {
	f := &flat[T]{team: m.Team, specs: m.Params.Specs(), rule: o.New(c), fresh: m.Params.Grads()}
	f.all = pieces(m.Params)
	for _, s := range f.specs {
		f.factors = append(f.factors, c.Factors(s))
	}
	f.vec = Vectors[T]{Values: m.Params.Values(), Grads: f.fresh}
	if c.Accumulate > 1 {
		f.vec.Grads = m.Params.Vector()
	}
	for range o.State {
		f.vec.State = append(f.vec.State, m.Params.Vector())
	}
	f.gradSq, f.valueSq, f.deltaSq = make([]float64, len(f.all)), make([]float64, len(f.all)), make([]float64, len(f.all))
	f.measuredBy(m.Step)
	f.tasks.add = each(f.all, f.addPiece)
	f.tasks.gradNorms = each(f.unmeasured, func(c piece) { f.gradSq[c.index] = kernel.SumSquares(f.vec.Grads[c.from:c.to]) })
	f.tasks.valueNorms = each(f.all, func(c piece) { f.valueSq[c.index] = kernel.SumSquares(f.vec.Values[c.from:c.to]) })
	f.tasks.update = each(f.all, f.updatePiece)
	f.tasks.measuredUpdate = each(f.all, f.measurer())
	return f
}

// measurer is the measuring update of a piece: the rule's own, or one made of
// it with the old values kept aside.
func (f *flat[T]) measurer() func(c piece) {
	if rule, ok := f.rule.(Measurer[T]); ok {
		return func(c piece) {
			f.valueSq[c.index], f.deltaSq[c.index] = rule.UpdateMeasured(&f.vec, c.from, c.to, f.factors[c.param])
		}
	}
	f.before = make(chan []T, f.team.Size())
	for range f.team.Size() {
		f.before <- make([]T, pieceLen)
	}
	return f.measurePiece
}

// measuredBy finds out whose gradients the program measures: none where those of micro-batches add up.
func (f *flat[T]) measuredBy(step *graph.Program) {
	f.measured = make([][]float64, len(f.specs))
	if &f.fresh[0] == &f.vec.Grads[0] {
		for i, s := range f.specs {
			f.measured[i] = step.GradSquares(s.Name)
		}
	}
	for _, c := range f.all {
		if f.measured[c.param] == nil {
			f.unmeasured = append(f.unmeasured, c)
		}
	}
}

// each is the task that does something to every piece of all.
func each(all []piece, do func(c piece)) task {
	parts := inParts(all)
	return task{len(parts), func(part int) {
		for _, c := range parts[part] {
			do(c)
		}
	}}
}

func (f *flat[T]) do(t task) { f.team.Do(t.parts, t.run) }

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

func (f *flat[T]) addPiece(c piece) {
	g := f.vec.Grads[c.from:c.to]
	kernel.Add(g, g, f.fresh[c.from:c.to])
}

func (f *flat[T]) updatePiece(c piece) {
	f.rule.Update(&f.vec, c.from, c.to, f.factors[c.param])
}

// measurePiece is updatePiece with Σ W² before and Σ (ΔW)², while the piece is
// in the cache.
func (f *flat[T]) measurePiece(c piece) {
	scratch := <-f.before
	old, now := scratch[:c.to-c.from], f.vec.Values[c.from:c.to]
	copy(old, now)
	f.valueSq[c.index] = kernel.SumSquares(old)
	f.updatePiece(c)
	kernel.Sub(old, now, old)
	f.deltaSq[c.index] = kernel.SumSquares(old)
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

// gradSquares is Σ g² of every parameter.
func (f *flat[T]) gradSquares(dst []float64) {
	f.do(f.tasks.gradNorms)
	byParam(dst, f.unmeasured, f.gradSq)
	for i, parts := range f.measured {
		for _, sq := range parts {
			dst[i] += sq
		}
	}
}

// byParam adds what was found for pieces to sums of parameters.
func byParam(dst []float64, of []piece, found []float64) {
	clear(dst)
	for _, c := range of {
		dst[c.param] += found[c.index]
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
