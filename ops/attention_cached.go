package ops

import (
	"fmt"
	"slices"

	"ablate/graph"
	"ablate/ops/kernel"
)

// Cache is where the keys and values of earlier tokens are kept between the
// runs of a program that generates.
type Cache struct {
	// Keys and Values [R, G·K] are inputs of the program, which the operation
	// writes. Row r holds the token at position base + r. base is 0 where the
	// cache has room for all tokens.
	Keys, Values *graph.Node
	// Position, int32 (1), is that of the first token of the chunk: the number of
	// tokens before it. Runs must follow each other without gaps; position 0
	// starts anew.
	Position *graph.Node
	// Step makes room in a cache that cannot hold all tokens: base grows by Step
	// rows at a time, as soon as the chunk at hand would not fit. That needs a
	// window and at least CacheRows rows. 0 for a cache that holds everything.
	Step int
}

// CacheRows is the number of rows of a cache for attention with a window, fed
// with chunks of up to longest tokens, that moves its rows by longest at a time:
//
//	(window - 1) + longest + (longest - 1)
//
// the keys that a chunk's first token sees besides itself, the chunk, and the
// rows that may wait to be moved.
func CacheRows(window, longest int) int { return window - 1 + 2*longest - 1 }

// CachedAttention is Attention of a chunk of tokens to itself and to all tokens
// before it, whose keys and values it finds in the cache; it adds those of the
// chunk.
//
//	q (1, T, H·K)   k, v (1, T, G·K)   result (1, T, H·K)
//
// It is causal, and has neither dropout nor a gradient. Where the cache is full,
// rows that no window reaches any more are dropped, and the others moved to its
// beginning: in order, so that nothing else knows of it.
func CachedAttention(q, k, v *graph.Node, c Cache, o AttentionOptions) *graph.Node {
	a := cachedAttention{form: attention{AttentionOptions: o}, step: c.Step}
	a.form.RelBias, a.form.KeyValid, a.form.RNG = nil, nil, nil // operands, which the op does not hold
	a.refused = o.KeyValid != nil || o.Dropout > 0 || !o.Causal
	if a.form.KVHeads == 0 {
		a.form.KVHeads = a.form.Heads
	}
	in := []*graph.Node{q, k, v, c.Keys, c.Values, c.Position}
	if o.RelBias != nil {
		in, a.relBias = append(in, o.RelBias), true
	}
	return graph.Apply1(a, in...)
}

// cachedAttention has operands q, k, v, the two caches, the position, and the
// relative bias if there is one.
type cachedAttention struct {
	form    attention
	step    int
	relBias bool
	refused bool // an option that it does not have was asked for
}

// The places of its operands after q, k, v.
const (
	cachedKeys = 3 + iota
	cachedValues
	cachedPosition
	cachedRelBias
)

func (o cachedAttention) String() string { return "cached " + o.form.String() }

func (o cachedAttention) Infer(in []graph.Shape) ([]graph.Shape, error) {
	if o.refused {
		return nil, fmt.Errorf("attention with a cache is causal, and has neither dropout nor hidden keys")
	}
	out, err := o.form.Infer(in[:3])
	if err != nil {
		return nil, err
	}
	t, kv, cache := in[0][1], in[1][2], in[cachedKeys]
	switch {
	case in[0][0] != 1:
		return nil, fmt.Errorf("%d sequences, one is wanted", in[0][0])
	case len(cache) != 2 || cache[1] != kv || cache[0] < t || !cache.Eq(in[cachedValues]):
		return nil, fmt.Errorf("caches have shapes %v and %v, at least %d rows of %d are wanted", cache, in[cachedValues], t, kv)
	case o.step < 0 || o.step > 0 && (o.form.Window == 0 || cache[0] < o.form.Window-1+t+o.step-1):
		return nil, fmt.Errorf("a cache of %d rows moves by %d; that needs a window, here %d, and %d rows", cache[0], o.step, o.form.Window, o.form.Window-1+t+o.step-1)
	}
	if o.relBias {
		if s := in[cachedRelBias]; len(s) != 2 || s[1] != o.form.Heads {
			return nil, fmt.Errorf("the relative bias has shape %v, (buckets, %d) is wanted", s, o.form.Heads)
		}
		if err := checkT5(in[cachedRelBias][0], o.form.MaxDistance, true); err != nil {
			return nil, err
		}
	}
	return out[:1], wantVector("the position", in[cachedPosition], 1)
}

func (o cachedAttention) Bind(c *graph.Call) []graph.Task {
	return graph.Typed(c, bindCachedAttention[float32], bindCachedAttention[float64])(c, o)
}

// bindCachedAttention splits by key/value heads: each has columns of its own in
// the caches and in the result.
func bindCachedAttention[T graph.Float](c *graph.Call, o cachedAttention) []graph.Task {
	a := newCached[T](c, o)
	return []graph.Task{{
		Parts:  o.form.KVHeads,
		Writes: []*graph.Buffer{c.Out(0), c.In(cachedKeys), c.In(cachedValues)},
		Run:    a.run,
	}}
}

// cached is one call of a program.
type cached[T graph.Float] struct {
	c        *graph.Call
	op       cachedAttention
	rows     int // of the caches
	buckets  []int32
	scratch  int
	shapes   []kernel.AttentionShape[T] // one a part: parts run at once
	chunk, k int
}

func newCached[T graph.Float](c *graph.Call, o cachedAttention) *cached[T] {
	q, rows := c.In(0).Shape(), c.In(cachedKeys).Shape()[0]
	t, k := q[1], q[2]/o.form.Heads
	s := kernel.AttentionShape[T]{
		T: t, S: rows, H: o.form.Heads, G: o.form.KVHeads, K: k, Scale: o.form.scale(k),
		Causal: true, Window: o.form.Window, Softcap: o.form.Softcap, Slopes: o.form.Slopes,
	}
	a := &cached[T]{c: c, op: o, rows: rows, chunk: t, k: k}
	if o.relBias {
		b := c.In(cachedRelBias)
		s.RelBias = make([]T, b.Len()) // for AttentionScratch: the operand has no memory yet
		a.buckets = T5Buckets(rows, rows, b.Shape()[0], o.form.MaxDistance, true)
	}
	a.scratch = kernel.AttentionScratch(&s)
	a.shapes = slices.Repeat([]kernel.AttentionShape[T]{s}, o.form.KVHeads)
	c.Local(a.scratch + o.form.Heads*t)
	return a
}

// base is the position of row 0 after the tokens up to end were added. It
// depends on end alone, whatever the chunks were.
func (a *cached[T]) base(end int) int {
	if a.op.step == 0 || end <= a.rows {
		return 0
	}
	return blocks(end-a.rows, a.op.step) * a.op.step
}

// run takes a key/value head and the queries that read it.
func (a *cached[T]) run(head int, w *graph.Worker) {
	position := int(graph.Slice[int32](a.c.In(cachedPosition))[0])
	end := position + a.chunk
	base := a.base(end)
	keys, values := graph.Slice[T](a.c.In(cachedKeys)), graph.Slice[T](a.c.In(cachedValues))
	moved := base - a.base(position)
	a.add(keys, graph.Slice[T](a.c.In(1)), head, position-base, moved)
	a.add(values, graph.Slice[T](a.c.In(2)), head, position-base, moved)

	s := &a.shapes[head]
	s.S, s.Offset, s.From, s.To = end-base, position-base, head, head+1
	if a.op.relBias {
		s.RelBias = graph.Slice[T](a.c.In(cachedRelBias))
		s.Bucket = a.buckets[a.rows-s.S:] // which begin at the distance 1 - rows
	}
	local := graph.Local[T](w, a.scratch+s.H*s.T)
	kernel.Attention(graph.Slice[T](a.c.Out(0)), local[:s.H*s.T], graph.Slice[T](a.c.In(0)), keys, values, s, local[s.H*s.T:])
}

// add moves the rows of a head that are still wanted down, and puts those of
// the chunk behind them, at row to.
func (a *cached[T]) add(cache, chunk []T, head, to, moved int) {
	ld, c0, c1 := a.op.form.KVHeads*a.k, head*a.k, (head+1)*a.k
	if moved > 0 {
		for r := range to {
			copy(cache[r*ld+c0:r*ld+c1], cache[(r+moved)*ld+c0:(r+moved)*ld+c1])
		}
	}
	for t := range a.chunk {
		copy(cache[(to+t)*ld+c0:(to+t)*ld+c1], chunk[t*ld+c0:t*ld+c1])
	}
}
