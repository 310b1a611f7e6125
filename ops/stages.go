package ops

import (
	"fmt"
	"slices"
	"strings"

	"ablate/graph"
	"ablate/ops/kernel"
)

// stage is a pointwise operation that a matrix product has taken into itself.
type stage struct {
	op     pointwise
	arg    int  // which operand of op the product's result is
	slot   int  // which result of the fused operation that is
	keep   bool // op's first result is one more; otherwise it takes the place of slot
	others int  // the first of op's other operands, among those of the fused operation
}

// maxStages bounds how much one product takes into itself.
const maxStages = 3

// stages are the pointwise operations that follow a product, in order.
type stages []stage

// fuse adds a stage for next, which reads result slot as its operand arg, to
// an operation that has the given number of operands.
func (s stages) fuse(next graph.Op, arg, slot int, keep bool, operands int) (stages, bool) {
	p, ok := asPointwise(next)
	if !ok || len(s) == maxStages || p.grad && arg > 0 {
		return nil, false
	}
	all := make(stages, len(s), len(s)+1)
	copy(all, s)
	return append(all, stage{op: p, arg: arg, slot: slot, keep: keep, others: operands}), true
}

// operands is the number of operands that the stages bring.
func (s stages) operands() int {
	n := 0
	for _, t := range s {
		n += t.op.arity - 1
	}
	return n
}

// results is the number of results that a stage adds to those before it.
func (t stage) results() int {
	if t.keep {
		return 1 + t.op.more
	}
	return t.op.more
}

// alias is the operand whose memory result number slot of the fused operation may
// take over, or -1. Only what nothing but a stage writes may stand where the stage
// reads: the product comes before.
func (s stages) alias(slot int) int {
	end := 1
	for _, t := range s {
		if end += t.results(); slot > 0 && slot < end {
			return t.operand(t.op.Alias(t.op.more - (end - 1 - slot)))
		}
	}
	return -1
}

// operand is where operand i of a stage stands among those of the fused operation, -1
// for the product's result.
func (t stage) operand(i int) int {
	switch {
	case i < t.arg:
		return t.others + i
	case i > t.arg:
		return t.others + i - 1
	}
	return -1
}

// infer gives the shapes of all results for the shape of the product's, and
// checks the other operands.
func (s stages) infer(y graph.Shape, in []graph.Shape) ([]graph.Shape, error) {
	out := []graph.Shape{y}
	for _, t := range s {
		for i := range t.op.arity - 1 {
			if err := wantEqual(t.op.String(), y, in[t.others+i]); err != nil {
				return nil, err
			}
		}
		out = append(out, slices.Repeat([]graph.Shape{y}, t.results())...)
	}
	return out, nil
}

func (s stages) String() string {
	var b strings.Builder
	for _, t := range s {
		fmt.Fprintf(&b, " then %v", t.op)
	}
	return b.String()
}

// boundStage is a stage with the buffers that it works on.
type boundStage[T graph.Float] struct {
	f       mapFunc[T]
	in, out []*graph.Buffer
	product *graph.Buffer // the one of them that has just been written
}

// bindStages finds the buffers of every stage of a fused call.
func bindStages[T graph.Float](c *graph.Call, s stages) []boundStage[T] {
	all := make([]boundStage[T], len(s))
	results := 1
	for i, t := range s {
		b := &all[i]
		b.f, b.product = mapOf[T](t.op), c.Out(t.slot)
		for k := range t.op.arity {
			if at := t.operand(k); at >= 0 {
				b.in = append(b.in, c.In(at))
			} else {
				b.in = append(b.in, c.Out(t.slot))
			}
		}
		if !t.keep {
			b.out = append(b.out, c.Out(t.slot))
		}
		for range t.results() {
			b.out = append(b.out, c.Out(results))
			results++
		}
	}
	return all
}

// run computes the stage on columns [c0, c1) of rows [r0, r1) of a part, in
// rows of n columns. tmp has chunkTmp elements.
func (b *boundStage[T]) run(part, parts, r0, r1, c0, c1, n int, tmp []T) {
	var out, in pieces[T]
	for i, x := range b.in {
		in[i] = graph.Part[T](x, part, parts)
	}
	for i, x := range b.out {
		out[i] = graph.Part[T](x, part, parts)
	}
	from, to := r0*n+c0, (r1-1)*n+c1
	if c1-c0 == n { // rows without gaps
		for lo := from; lo < to; lo += chunk {
			hi := min(lo+chunk, to)
			b.f(out.cut(lo, hi), in.cut(lo, hi), tmp)
		}
		return
	}
	var mem [2 * maxArity][]T
	far := b.far(mem[:0], out, in)
	for lo := from; lo < to; lo += n {
		hi := lo + c1 - c0
		if hi < to {
			for _, x := range far {
				kernel.Fetch(x[lo+n : hi+n])
			}
		}
		b.f(out.cut(lo, hi), in.cut(lo, hi), tmp)
	}
}

// far appends the operands and results that lie where the product has not just been, each memory once.
func (b *boundStage[T]) far(all [][]T, out, in pieces[T]) [][]T {
	for i, x := range b.in {
		if x != b.product {
			all = append(all, in[i])
		}
	}
	for i, x := range b.out {
		if x != b.product && !slices.ContainsFunc(b.in, x.Same) {
			all = append(all, out[i])
		}
	}
	return all
}

// The size of the blocks on which stages run: some ten thousand elements, in
// the second-level cache when a stage reads what the product wrote. Columns
// come in whole panels, at most a chunk of them.
const (
	stageRows = 96
	stageCols = 512
)

// byBlocks hands out a result of m rows and n columns in blocks, all of it at
// once if there are no stages, and runs the stages on each block after product
// has written it.
func byBlocks[T graph.Float](bound []boundStage[T], part, parts, m, n int, tmp []T, product func(r0, r1, c0, c1 int)) {
	if len(bound) == 0 {
		product(0, m, 0, n)
		return
	}
	k := blocks(m, stageRows)
	for i := range k {
		r0, r1 := m*i/k, m*(i+1)/k
		for c0 := 0; c0 < n; c0 += stageCols {
			c1 := min(c0+stageCols, n)
			product(r0, r1, c0, c1)
			for s := range bound {
				bound[s].run(part, parts, r0, r1, c0, c1, n, tmp)
			}
		}
	}
}
