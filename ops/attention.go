package ops

import (
	"fmt"

	"ablate/graph"
	"ablate/ops/kernel"
)

// AttentionOptions are the variants of Attention. The zero value of every
// field but Heads means: as in Vaswani et al. 2017, without a mask.
type AttentionOptions struct {
	Heads   int     // H
	KVHeads int     // G, a divisor of H (Ainslie et al. 2023, arXiv:2305.13245); 0 is H
	Scale   float64 // of q·k; 0 is 1/√K
	Softcap float64 // scores become Softcap·tanh(s/Softcap) (Gemma 2); 0 is none
	Causal  bool    // key j is visible to query i only if j ≤ i
	Window  int     // key j is visible to query i only if |i - j| < Window (Beltagy et al. 2020, arXiv:2004.05150); 0 is no limit

	Slopes []float64 // ALiBi (see ALiBiSlopes), one a head, or nil

	// RelBias [buckets, H] is added to the scores (T5; Raffel et al. 2019,
	// arXiv:1910.10683), by the bucket of i - j (see T5Bucket), which depends
	// on MaxDistance; nil for none.
	RelBias     *graph.Node
	MaxDistance int

	KeyValid *graph.Node // int32 (B, T): 0 hides a key from every query; nil for none

	// Dropout is the probability that a weight of the sum over values is
	// zeroed. The mask is a function of RNG, an int32 input (2), and Name.
	Dropout float64
	RNG     *graph.Node
	Name    string
}

// Attention is softmax(scores)·v for every head of every sequence (Vaswani et
// al. 2017, arXiv:1706.03762), query head h with key/value head ⌊h/(H/G)⌋:
//
//	score = softcap(Scale·q·k) - Slopes[h]·|i - j| + RelBias[bucket(i - j), h]
//
//	q (B, T, H·K)   k, v (B, T, G·K)   result (B, T, H·K)
//
// over the keys that mask, window and KeyValid leave visible. A query without
// a visible key gives zeros and has no gradient. The scores are never stored:
// the gradient computes them again, with one number a query and head that is
// kept to normalise them (Dao et al. 2022, arXiv:2205.14135). Neither are the
// results of a RoPE that nobody else reads: the heads are turned where they are
// multiplied.
func Attention(q, k, v *graph.Node, o AttentionOptions) *graph.Node {
	a := attention{AttentionOptions: o}
	a.RelBias, a.KeyValid, a.RNG = nil, nil, nil // operands, which the op does not hold
	if a.KVHeads == 0 {
		a.KVHeads = a.Heads
	}
	in := []*graph.Node{q, k, v}
	add := func(n *graph.Node) int {
		if n == nil {
			return 0
		}
		in = append(in, n)
		return len(in) - 1
	}
	a.relBias, a.keyValid = add(o.RelBias), add(o.KeyValid)
	if o.Dropout > 0 {
		a.rng, a.hash = add(o.RNG), nameHash(o.Name)
	}
	a.operands = len(in)
	return graph.Apply(a, in...)[0]
}

// attention has operands q, k, v and those at the places below, 0 for none.
// Its results are o and the normalisers of the scores (B, H, T).
type attention struct {
	AttentionOptions
	relBias, keyValid, rng int
	turns                  turns // of q and k
	operands               int   // their number
	hash                   uint64
}

func (o attention) String() string {
	return fmt.Sprintf("attention{%d/%d}%v", o.Heads, o.KVHeads, o.turns)
}

func (o attention) Infer(in []graph.Shape) ([]graph.Shape, error) {
	q, k, v := in[0], in[1], in[2]
	switch {
	case len(q) != 3 || len(k) != 3 || len(v) != 3:
		return nil, fmt.Errorf("q, k, v have shapes %v, %v, %v, (B, T, D) is wanted", q, k, v)
	case o.Heads < 1 || o.KVHeads < 1 || o.Heads%o.KVHeads != 0:
		return nil, fmt.Errorf("%d key/value heads do not divide %d heads", o.KVHeads, o.Heads)
	case q[2]%o.Heads != 0:
		return nil, fmt.Errorf("%d heads do not divide a width of %d", o.Heads, q[2])
	case o.Slopes != nil && len(o.Slopes) != o.Heads:
		return nil, fmt.Errorf("%d slopes for %d heads", len(o.Slopes), o.Heads)
	case o.Window < 0 || o.Softcap < 0:
		return nil, fmt.Errorf("a window of %d and a softcap of %v; neither is negative", o.Window, o.Softcap)
	case o.Dropout < 0 || o.Dropout >= 1 || o.Dropout > 0 && o.rng == 0:
		return nil, fmt.Errorf("a dropout of %v wants a value in [0, 1) and, above 0, a source of randomness", o.Dropout)
	}
	kv := graph.Shape{q[0], q[1], q[2] / o.Heads * o.KVHeads}
	if !k.Eq(kv) || !v.Eq(kv) {
		return nil, fmt.Errorf("k and v have shapes %v and %v, %v is wanted for %d of %d heads", k, v, kv, o.KVHeads, o.Heads)
	}
	return []graph.Shape{q, {q[0], o.Heads, q[1]}}, o.inferOptional(in)
}

// inferOptional checks the operands after q, k, v.
func (o attention) inferOptional(in []graph.Shape) error {
	b, t := in[0][0], in[0][1]
	if o.relBias > 0 {
		if s := in[o.relBias]; len(s) != 2 || s[1] != o.Heads {
			return fmt.Errorf("the relative bias has shape %v, (buckets, %d) is wanted", s, o.Heads)
		}
		if err := checkT5(in[o.relBias][0], o.MaxDistance, o.Causal); err != nil {
			return err
		}
	}
	if o.keyValid > 0 && !in[o.keyValid].Eq(graph.Shape{b, t}) {
		return fmt.Errorf("the validity of keys has shape %v, (%d, %d) is wanted", in[o.keyValid], b, t)
	}
	if o.rng > 0 {
		return wantVector("the source of randomness", in[o.rng], 2)
	}
	return nil
}

func (o attention) Bind(c *graph.Call) []graph.Task {
	return graph.Typed(c, bindAttention[float32], bindAttention[float64])(c, o)
}

func bindAttention[T graph.Float](c *graph.Call, o attention) []graph.Task {
	a := newSequences[T](c, o, 0, turns{})
	t := c.Rows(func(part, parts int, w *graph.Worker) {
		scratch := graph.Local[T](w, a.scratch)
		for b := a.batch * part / parts; b < a.batch*(part+1)/parts; b++ {
			kernel.Attention(row[T](c.Out(0), b), row[T](c.Out(1), b),
				row[T](c.In(0), b), row[T](c.In(1), b), row[T](c.In(2), b), a.shape(b), scratch)
		}
	})
	t.Whole = a.whole()
	return []graph.Task{t}
}

// Grad keeps the normalisers, and computes the weights again.
func (o attention) Grad(in, out, dout []*graph.Node) []*graph.Node {
	operands := append([]*graph.Node{dout[0], out[1]}, in...)
	d := make([]*graph.Node, len(in)) // in the order of the operands, nil for indices
	copy(d, graph.Apply(attentionGrad{forward: o}, operands...))
	return d
}
