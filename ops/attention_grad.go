package ops

import (
	"math"

	"ablate/graph"
	"ablate/ops/kernel"
)

// attentionGrad has operands do, the normalisers, and those of attention, and
// results dq, dk, dv and, if there is one, the gradient of the relative
// bias.
type attentionGrad struct {
	forward attention
	back    turns // of dq and dk; the operands count as attention's
}

// gradOffset is the number of operands before those of attention.
const gradOffset = 2

func (o attentionGrad) String() string { return o.forward.String() + " grad" }

func (o attentionGrad) Infer(in []graph.Shape) ([]graph.Shape, error) {
	in = in[gradOffset:]
	out := []graph.Shape{in[0], in[1], in[2]}
	if o.forward.relBias > 0 {
		out = append(out, in[o.forward.relBias])
	}
	return out, nil
}

func (o attentionGrad) Bind(c *graph.Call) []graph.Task {
	return graph.Typed(c, bindAttentionGrad[float32], bindAttentionGrad[float64])(c, o)
}

func bindAttentionGrad[T graph.Float](c *graph.Call, o attentionGrad) []graph.Task {
	a := newSequences[T](c, o.forward, gradOffset, o.back)
	var partial *graph.Buffer // of the relative bias, one a part
	if o.forward.relBias > 0 {
		partial = c.Scratch(c.Parts(), c.Out(3).Len())
	}
	t := c.Rows(func(part, parts int, w *graph.Worker) {
		scratch := graph.Local[T](w, a.scratch)
		var dRel []T
		if partial != nil {
			dRel = graph.Part[T](partial, part, parts)
			clear(dRel)
		}
		for b := a.batch * part / parts; b < a.batch*(part+1)/parts; b++ {
			kernel.AttentionGrad(row[T](c.Out(0), b), row[T](c.Out(1), b), row[T](c.Out(2), b), dRel,
				row[T](c.In(0), b), row[T](c.In(1), b),
				row[T](c.In(2), b), row[T](c.In(3), b), row[T](c.In(4), b), a.shape(b), scratch)
		}
	})
	t.Whole = a.whole()
	if partial == nil {
		return []graph.Task{t}
	}
	t.Writes = []*graph.Buffer{c.Out(0), c.Out(1), c.Out(2), partial}
	return []graph.Task{t, sumOfParts[T](partial, c.Out(3))}
}

// sequences gives the kernels the shape of each sequence of a call.
type sequences[T graph.Float] struct {
	o              attention
	batch, scratch int
	relBias        *graph.Buffer
	keyValid       *graph.Buffer
	rng            *graph.Buffer
	tables         [4][2]*graph.Buffer        // of rotations, nil for none
	shapes         []kernel.AttentionShape[T] // one a sequence: parts run at once
}

// newSequences prepares the shapes of a call whose operands of attention start
// at offset.
func newSequences[T graph.Float](c *graph.Call, o attention, offset int, back turns) *sequences[T] {
	q := c.In(offset).Shape()
	t, k := q[1], q[2]/o.Heads
	a := &sequences[T]{o: o, batch: q[0], shapes: make([]kernel.AttentionShape[T], q[0])}
	operand := func(i int) *graph.Buffer {
		if i == 0 {
			return nil
		}
		return c.In(offset + i)
	}
	a.relBias, a.keyValid, a.rng = operand(o.relBias), operand(o.keyValid), operand(o.rng)
	s := kernel.AttentionShape[T]{
		T: t, S: t, H: o.Heads, G: o.KVHeads, K: k, Scale: o.scale(k),
		Causal: o.Causal, Window: o.Window, Softcap: o.Softcap, Slopes: o.Slopes, Dropout: o.Dropout,
	}
	if a.relBias != nil {
		s.RelBias = make([]T, a.relBias.Len()) // for AttentionScratch: the operand has no memory yet
		s.Bucket = T5Buckets(t, t, a.relBias.Shape()[0], o.MaxDistance, o.Causal)
	}
	a.bindTurns(c, offset, &s, o.turns[0], o.turns[1], back[0], back[1])
	for b := range a.shapes {
		a.shapes[b] = s
		if a.keyValid != nil {
			a.shapes[b].KeyValid = make([]bool, t)
		}
	}
	a.scratch = kernel.AttentionScratch(&s)
	c.Local(a.scratch)
	return a
}

// scale is the factor of q·k.
func (o attention) scale(k int) float64 {
	if o.Scale == 0 {
		return 1 / math.Sqrt(float64(k))
	}
	return o.Scale
}

// whole lists what the tasks read beyond their own sequences.
func (a *sequences[T]) whole() (all []*graph.Buffer) {
	if a.relBias != nil {
		all = append(all, a.relBias)
	}
	for _, t := range a.tables {
		if t[0] != nil {
			all = append(all, t[:]...)
		}
	}
	return all
}

// shape completes the shape of sequence b with what is known only now.
func (a *sequences[T]) shape(b int) *kernel.AttentionShape[T] {
	s := &a.shapes[b]
	if a.relBias != nil {
		s.RelBias = graph.Slice[T](a.relBias)
	}
	if a.keyValid != nil {
		for j, v := range row[int32](a.keyValid, b) {
			s.KeyValid[j] = v != 0
		}
	}
	for i, r := range rotations(s) {
		if t := a.tables[i]; t[0] != nil {
			r.Cos, r.Sin = graph.Slice[T](t[0]), graph.Slice[T](t[1])
		}
	}
	if a.rng != nil {
		s.DropoutKey = dropoutKey(graph.Slice[int32](a.rng), a.o.hash, uint64(b))
	}
	return s
}

// row is row b along the first axis.
func row[T graph.Elem](x *graph.Buffer, b int) []T {
	return graph.Part[T](x, b, x.Shape()[0])
}
