package ops_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"ablate/graph"
	"ablate/graph/graphtest"
	"ablate/ops"
)

// turnedAttention is attention of queries and keys that ropes turn.
type turnedAttention struct {
	b, t, k, rotated int
	interleaved      bool
	o                ops.AttentionOptions
	padding          bool
}

func (c turnedAttention) String() string {
	return fmt.Sprintf("b=%d t=%d k=%d of which %d, interleaved=%v, padding=%v, %+v", c.b, c.t, c.k, c.rotated, c.interleaved, c.padding, c.o)
}

// inputs are q, k, v, the tables of q and of k, and the optional operands. The
// two pairs of tables differ, so that a mix-up shows.
func (c turnedAttention) inputs() []graphtest.Input {
	table := func(base float64) (cos, sin graphtest.Input) {
		w, mult := ops.RoPEFrequencies(c.rotated, base, nil)
		x, y := ops.RoPETables(w, mult, 0, c.t+1)
		return fixed(x, c.t+1, len(w)), fixed(y, c.t+1, len(w))
	}
	cosQ, sinQ := table(10000)
	cosK, sinK := table(50)
	in := []graphtest.Input{normal("q", nil, c.b, c.t, c.o.Heads*c.k), normal("k", nil, c.b, c.t, c.o.KVHeads*c.k),
		normal("v", nil, c.b, c.t, c.o.KVHeads*c.k), cosQ, sinQ, cosK, sinK}
	if c.o.MaxDistance > 0 {
		in = append(in, normal("rel", nil, 6, c.o.Heads))
	}
	if c.padding {
		valid := make([]int32, c.b*c.t)
		for i := range valid {
			valid[i] = int32(i * 7 % 5)
		}
		in = append(in, ints(valid, c.b, c.t))
	}
	if c.o.Dropout > 0 {
		in = append(in, ints([]int32{1, 2}, 2))
	}
	return in
}

func (c turnedAttention) expr(in []*graph.Node) []*graph.Node {
	o, rest := c.o, in[7:]
	take := func(want bool) (n *graph.Node) {
		if want {
			n, rest = rest[0], rest[1:]
		}
		return n
	}
	o.RelBias, o.KeyValid, o.RNG = take(o.MaxDistance > 0), take(c.padding), take(o.Dropout > 0)
	q, k := ops.RoPE(in[0], in[3], in[4], o.Heads, c.interleaved), ops.RoPE(in[1], in[5], in[6], o.KVHeads, c.interleaved)
	return []*graph.Node{ops.Attention(q, k, in[2], o)}
}

// turnedCases are for the suites that walk all cases.
func turnedCases() []opCase {
	var all []opCase
	for _, c := range []turnedAttention{
		{b: 2, t: 5, k: 4, rotated: 4, o: ops.AttentionOptions{Heads: 4, KVHeads: 2, Causal: true}},
		{b: 2, t: 11, k: 5, rotated: 4, interleaved: true, o: ops.AttentionOptions{Heads: 3, KVHeads: 3, Window: 4, Softcap: 2}, padding: true},
		{b: 3, t: 9, k: 7, rotated: 2, o: ops.AttentionOptions{Heads: 4, KVHeads: 1, Causal: true, MaxDistance: 8, Dropout: 0.3, Name: "d"}},
		{b: 1, t: 35, k: 2, rotated: 2, interleaved: true, o: ops.AttentionOptions{Heads: 2, KVHeads: 1}},
	} {
		all = append(all, opCase{name: "turned attention, " + c.String(), in: c.inputs(), f: c.expr})
	}
	return all
}

// randomTurned draws shapes and options.
func randomTurned(seed uint64) turnedAttention {
	r := rand.New(rand.NewPCG(seed, 7))
	kv := 1 + r.IntN(3)
	c := turnedAttention{b: 1 + r.IntN(3), t: 1 + r.IntN(80), k: 2 + r.IntN(40), interleaved: r.IntN(2) == 0, padding: r.IntN(4) == 0,
		o: ops.AttentionOptions{Heads: kv * (1 + r.IntN(3)), KVHeads: kv, Causal: r.IntN(4) > 0, Name: "d"}}
	c.rotated = 2 + 2*r.IntN(c.k/2)
	if r.IntN(3) == 0 {
		c.o.Window = 1 + r.IntN(c.t)
	}
	switch r.IntN(6) {
	case 0:
		c.o.Softcap = 3
	case 1:
		c.o.Slopes = ops.ALiBiSlopes(c.o.Heads)
	case 2:
		c.o.MaxDistance = 40
	case 3:
		c.o.Dropout = 0.2
	}
	return c
}

// TestRoPEInAttention: attention takes the ropes of q and k into itself, and its
// gradient those that turn back, and every bit stays as it was.
func TestRoPEInAttention(t *testing.T) {
	for seed := range uint64(60) {
		c := randomTurned(seed)
		compareTurned[float32](t, c)
		compareTurned[float64](t, c)
	}
}

func compareTurned[T graph.Float](t *testing.T, c turnedAttention) {
	t.Helper()
	fused := evaluate[T](t, c.expr, c.inputs(), 2)
	apart := evaluateWith[T](t, c.expr, c.inputs(), []graph.Option{graph.WithoutFusion()})
	if !slices.EqualFunc(fused.out, apart.out, slices.Equal) || !slices.EqualFunc(fused.grad, apart.grad, slices.Equal) {
		t.Errorf("%v: other bytes than apart", c)
	}
	if fused.stats.Fused != 4 {
		t.Errorf("%v: %d operations are taken in, want 4", c, fused.stats.Fused)
	}
}

// TestRoPEStays: a rope is computed by itself where its result is wanted for
// more than attention, or where it turns other heads than attention has.
func TestRoPEStays(t *testing.T) {
	c := turnedAttention{b: 2, t: 9, k: 4, rotated: 4, o: ops.AttentionOptions{Heads: 2, KVHeads: 2, Causal: true}}
	for _, v := range []struct {
		name  string
		fused int
		f     graphtest.Expr
	}{
		{"q is a result", 2, func(in []*graph.Node) []*graph.Node {
			q, k := ops.RoPE(in[0], in[3], in[4], 2, false), ops.RoPE(in[1], in[5], in[6], 2, false)
			return []*graph.Node{ops.Attention(q, k, in[2], c.o), q}
		}},
		{"one rope for q and k", 1, func(in []*graph.Node) []*graph.Node {
			q := ops.RoPE(graph.Add(in[0], in[1]), in[3], in[4], 2, false)
			return []*graph.Node{ops.Attention(q, q, in[2], c.o)}
		}},
		{"rows of another width", 0, func(in []*graph.Node) []*graph.Node {
			q, k := ops.RoPE(in[0], in[3], in[4], 1, false), ops.RoPE(in[1], in[5], in[6], 1, false)
			return []*graph.Node{ops.Attention(q, k, in[2], c.o)}
		}},
		{"turned twice", 4, func(in []*graph.Node) []*graph.Node {
			q, k := ops.RoPE(in[0], in[3], in[4], 2, false), ops.RoPE(in[1], in[5], in[6], 2, true)
			return []*graph.Node{ops.Attention(ops.RoPE(q, in[5], in[6], 2, true), k, in[2], c.o)}
		}},
		{"values too, whose gradient is turned back first", 2, func(in []*graph.Node) []*graph.Node {
			q, k := ops.RoPE(in[0], in[3], in[4], 2, false), ops.RoPE(in[1], in[5], in[6], 2, false)
			return []*graph.Node{ops.Attention(q, k, ops.RoPE(in[2], in[3], in[4], 2, false), c.o)}
		}},
	} {
		in := c.inputs()
		fused := evaluate[float64](t, v.f, in, 2)
		apart := evaluateWith[float64](t, v.f, in, []graph.Option{graph.WithoutFusion()})
		for i := range fused.out {
			near(t, v.name+": result", fused.out[i], apart.out[i], 0, 0)
		}
		for i := range fused.grad {
			near(t, v.name+": gradient", fused.grad[i], apart.grad[i], 0, 0)
		}
		if fused.stats.Fused != v.fused {
			t.Errorf("%s: %d operations are taken in, want %d", v.name, fused.stats.Fused, v.fused)
		}
	}
}
