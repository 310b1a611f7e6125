package ops_test

import (
	"slices"
	"strings"
	"testing"

	"ablate/graph"
	"ablate/graph/graphtest"
	"ablate/ops"
)

// misfit is an operation on operands that do not fit, and what its error says.
type misfit struct {
	want string
	in   []graphtest.Input
	f    func(in []*graph.Node) *graph.Node
}

// vec is a vector of n.
func vec(n int) graphtest.Input { return normal("v", nil, n) }

func weightMisfits() []misfit {
	x, q, w := normal("x", nil, 2, 3, 8), normal("q", nil, 2, 3, 12), normal("w", nil, 5, 7)
	return []misfit{
		{"linear of [(2, 3, 8) (5, 7)]: the weight has shape (5, 7), (out, 8) is wanted", []graphtest.Input{x, w},
			func(in []*graph.Node) *graph.Node { return ops.Linear(in[0], in[1], nil) }},
		{"the bias has shape (4), (5) is wanted", []graphtest.Input{normal("x", nil, 2, 7), w, vec(4)},
			func(in []*graph.Node) *graph.Node { return ops.Linear(in[0], in[1], in[2]) }},
		{"x has shape (7), at least two axes", []graphtest.Input{vec(7), w},
			func(in []*graph.Node) *graph.Node { return ops.Linear(in[0], in[1], nil) }},
		{"rows of 3 entries do not divide a last axis of 8", []graphtest.Input{x, vec(3)},
			func(in []*graph.Node) *graph.Node { return ops.RMSNorm(in[0], in[1], 1e-5, false) }},
		{"rmsnorm plain of [(2, 3, 8)]: rows of 3 entries do not divide a last axis of 8", []graphtest.Input{x},
			func(in []*graph.Node) *graph.Node { return ops.RMSNormRows(in[0], 3, 1e-5) }},
		{"rows of -4 entries", []graphtest.Input{x},
			func(in []*graph.Node) *graph.Node { return ops.RMSNormRows(in[0], -4, 1e-5) }},
		{"a weight of the norm has shape (4), (8) is wanted", []graphtest.Input{x, vec(8), vec(4)},
			func(in []*graph.Node) *graph.Node { return ops.LayerNorm(in[0], in[1], in[2], 1e-5) }},
		{"a bias without a weight", []graphtest.Input{x, vec(8)},
			func(in []*graph.Node) *graph.Node { return ops.LayerNorm(in[0], nil, in[1], 1e-5) }},
		{"alpha has shape (8), (1) is wanted", []graphtest.Input{x, vec(8)},
			func(in []*graph.Node) *graph.Node { return ops.DyT(in[0], in[1], in[1], nil) }},
		{"gate{silu} of [(2, 3, 8) (2, 3, 12)]: operands: (2, 3, 8) and (2, 3, 12) are not equal", []graphtest.Input{x, q},
			func(in []*graph.Node) *graph.Node { return ops.Gate(in[0], in[1], ops.SiLU) }},
		{"the vector has shape (7), (8) is wanted", []graphtest.Input{x, vec(7)},
			func(in []*graph.Node) *graph.Node { return ops.MulVector(in[0], in[1]) }},
		{"the number has shape (2), (1) is wanted", []graphtest.Input{x, vec(2)},
			func(in []*graph.Node) *graph.Node { return ops.MulScalar(in[0], in[1]) }},
	}
}

func smallMisfits() []misfit {
	x, w, ids := normal("x", nil, 2, 3, 8), normal("w", nil, 5, 7), ints(make([]int32, 6), 2, 3)
	return []misfit{
		{"softcap{-1} of [(2, 3, 8)]: the limit is -1; it must be positive", []graphtest.Input{x},
			func(in []*graph.Node) *graph.Node { return ops.Softcap(in[0], -1) }},
		{"x and the mask: (2, 3, 8) and (2, 3) are not equal", []graphtest.Input{x, ids},
			func(in []*graph.Node) *graph.Node { return ops.MaskedSoftmax(in[0], in[1]) }},
		{"a probability of 1; it must be in [0, 1)", []graphtest.Input{x, ints([]int32{1, 2}, 2)},
			func(in []*graph.Node) *graph.Node { return ops.Dropout(in[0], in[1], 1, "d") }},
		{"targets have shape (2, 3) for logits of (5, 7)", []graphtest.Input{w, ids},
			func(in []*graph.Node) *graph.Node { n, _ := ops.CrossEntropy(in[0], in[1]); return n }},
		{"the table has shape (8), (V, D) is wanted", []graphtest.Input{vec(8), ids},
			func(in []*graph.Node) *graph.Node { return ops.Embedding(in[0], in[1]) }},
		{"the table has shape (2, 8), at least 3 rows of 8 are wanted", []graphtest.Input{x, normal("p", nil, 2, 8)},
			func(in []*graph.Node) *graph.Node { return ops.AddPositions(in[0], in[1]) }},
		{"3 heads do not divide a width of 8", []graphtest.Input{x, w},
			func(in []*graph.Node) *graph.Node { return ops.RoPE(in[0], in[1], in[1], 3, false) }},
		{"at least 3 rows of at most 2 are wanted", []graphtest.Input{x, w},
			func(in []*graph.Node) *graph.Node { return ops.RoPE(in[0], in[1], in[1], 2, false) }},
	}
}

func attentionMisfits() []misfit {
	q := normal("q", nil, 2, 3, 12)
	attend := func(o ops.AttentionOptions) func(in []*graph.Node) *graph.Node {
		return func(in []*graph.Node) *graph.Node { return ops.Attention(in[0], in[1], in[2], o) }
	}
	with := func(set func(o *ops.AttentionOptions, n *graph.Node)) func(in []*graph.Node) *graph.Node {
		return func(in []*graph.Node) *graph.Node {
			o := ops.AttentionOptions{Heads: 4}
			set(&o, in[1])
			return ops.Attention(in[0], in[0], in[0], o)
		}
	}
	return []misfit{
		{"3 key/value heads do not divide 4 heads", []graphtest.Input{q, q, q}, attend(ops.AttentionOptions{Heads: 4, KVHeads: 3})},
		{"5 heads do not divide a width of 12", []graphtest.Input{q, q, q}, attend(ops.AttentionOptions{Heads: 5})},
		{"(2, 3, 6) is wanted for 2 of 4 heads", []graphtest.Input{q, q, q}, attend(ops.AttentionOptions{Heads: 4, KVHeads: 2})},
		{"2 slopes for 4 heads", []graphtest.Input{q, q, q}, attend(ops.AttentionOptions{Heads: 4, Slopes: []float64{1, 2}})},
		{"a window of -1", []graphtest.Input{q, q, q}, attend(ops.AttentionOptions{Heads: 4, Window: -1})},
		{"a dropout of 0.5 wants", []graphtest.Input{q, q, q}, attend(ops.AttentionOptions{Heads: 4, Dropout: 0.5})},
		{"the relative bias has shape (5, 7), (buckets, 4) is wanted", []graphtest.Input{q, normal("w", nil, 5, 7)},
			with(func(o *ops.AttentionOptions, n *graph.Node) { o.RelBias = n })},
		{"a relative bias of 3 buckets up to a distance of 8; at least 4 buckets", []graphtest.Input{q, normal("r", nil, 3, 4)},
			with(func(o *ops.AttentionOptions, n *graph.Node) { o.RelBias, o.MaxDistance = n, 8 })},
		{"the validity of keys has shape (3, 2), (2, 3) is wanted", []graphtest.Input{q, ints(make([]int32, 6), 3, 2)},
			with(func(o *ops.AttentionOptions, n *graph.Node) { o.KeyValid = n })},
	}
}

// TestErrors wants to read the sizes that are at fault.
func TestErrors(t *testing.T) {
	for _, c := range slices.Concat(weightMisfits(), smallMisfits(), attentionMisfits(), cacheMisfits()) {
		_, err := graphtest.Compile[float32](one(c.f), c.in, nil, 1)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

// TestOnlyTheLossHasAGradient: the losses of single tokens are for evaluation.
func TestOnlyTheLossHasAGradient(t *testing.T) {
	f := one(func(in []*graph.Node) *graph.Node { _, nll := ops.CrossEntropy(in[0], in[1]); return nll })
	in := []graphtest.Input{normal("x", nil, 2, 3, 8), ints(make([]int32, 6), 2, 3)}
	_, err := graphtest.Compile[float32](f, in, [][]float64{make([]float64, 6)}, 1)
	if err == nil || !strings.Contains(err.Error(), "single tokens has none") {
		t.Errorf("got %v", err)
	}
}
