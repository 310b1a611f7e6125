package ops_test

import (
	"strings"

	"ablate/graph"
	"ablate/graph/graphtest"
	"ablate/ops"
)

// gated splits the input h = gate | value in two operands.
func gated(u ops.Unary) func(*golden) ([]graphtest.Input, graphtest.Expr) {
	return func(g *golden) ([]graphtest.Input, graphtest.Expr) {
		for _, m := range []map[string]*array{g.Inputs, g.Grads} {
			m["gate"], m["value"] = halves(m["h"])
		}
		return nil, one(func(in []*graph.Node) *graph.Node { return ops.Gate(in[0], in[1], u) })
	}
}

func halves(h *array) (a, b *array) {
	s := append([]int{}, h.Shape...)
	n := s[len(s)-1]
	s[len(s)-1] = n / 2
	a, b = &array{Shape: s}, &array{Shape: s}
	for r := 0; r < len(h.Data); r += n {
		a.Data = append(a.Data, h.Data[r:r+n/2]...)
		b.Data = append(b.Data, h.Data[r+n/2:r+n]...)
	}
	return a, b
}

// goldenCrossEntropy is the mean over the targets that count.
func goldenCrossEntropy(g *golden) ([]graphtest.Input, graphtest.Expr) {
	counted := 0
	for _, t := range g.Attrs.Targets {
		if t != ops.Ignore {
			counted++
		}
	}
	return []graphtest.Input{ints(g.Attrs.Targets, len(g.Attrs.Targets))},
		one(func(in []*graph.Node) *graph.Node {
			loss, _ := ops.CrossEntropy(in[0], in[1])
			return ops.Scale(loss, 1/float64(counted))
		})
}

func goldenMasked(g *golden) ([]graphtest.Input, graphtest.Expr) {
	return []graphtest.Input{matrix(g.Attrs.Mask)},
		one(func(in []*graph.Node) *graph.Node { return ops.MaskedSoftmax(in[0], in[1]) })
}

func goldenEmbedding(g *golden) ([]graphtest.Input, graphtest.Expr) {
	return []graphtest.Input{matrix(g.Attrs.Indices)},
		one(func(in []*graph.Node) *graph.Node { return ops.Embedding(in[0], in[1]) })
}

func matrix(rows [][]int32) graphtest.Input {
	var all []int32
	for _, r := range rows {
		all = append(all, r...)
	}
	return ints(all, len(rows), len(rows[0]))
}

// goldenT5Bias looks the biases up in their table: [H, i, j] in the file,
// (i, j, H) here.
func goldenT5Bias(g *golden) ([]graphtest.Input, graphtest.Expr) {
	t, h := g.Attrs.T, g.Inputs["rel_bias"].Shape[1]
	for _, x := range []*array{g.Output, g.Dy} {
		moved := make([]float64, len(x.Data))
		for i, v := range x.Data {
			moved[i%(t*t)*h+i/(t*t)] = v
		}
		x.Data = moved
	}
	var ids []int32
	table := ops.T5Buckets(t, t, g.Attrs.Buckets, g.Attrs.MaxDistance, g.causal())
	for i := range t {
		for j := range t {
			ids = append(ids, table[i-j+t-1])
		}
	}
	return []graphtest.Input{ints(ids, t, t)},
		one(func(in []*graph.Node) *graph.Node { return ops.Embedding(in[0], in[1]) })
}

func goldenRoPE(g *golden) ([]graphtest.Input, graphtest.Expr) {
	s := g.Inputs["x"].Shape
	r := g.Attrs.RotatedDims
	if r == 0 {
		r = s[3]
	}
	w, mult := ops.RoPEFrequencies(r, g.Attrs.Base, g.Attrs.Scaling.value())
	cos, sin := ops.RoPETables(w, mult, g.Attrs.Positions[0], len(g.Attrs.Positions))
	tables := []graphtest.Input{fixed(cos, s[1], r/2), fixed(sin, s[1], r/2)}
	return tables, one(func(in []*graph.Node) *graph.Node {
		return ops.RoPE(in[0], in[1], in[2], s[2], g.Attrs.Style == "interleaved")
	})
}

func goldenAttention(g *golden) ([]graphtest.Input, graphtest.Expr) {
	heads, kv := g.Inputs["q"].Shape[2], g.Inputs["k"].Shape[2]
	o := ops.AttentionOptions{
		Heads: heads, KVHeads: kv, Scale: g.Attrs.Scale, Softcap: g.Attrs.Softcap,
		Causal: g.causal(), Window: g.Attrs.Window, MaxDistance: g.Attrs.MaxDistance,
	}
	if g.Attrs.ALiBi {
		o.Slopes = ops.ALiBiSlopes(heads)
	}
	var more []graphtest.Input
	if g.Attrs.KeyValid != nil {
		more = append(more, matrix(g.Attrs.KeyValid))
	}
	return more, one(func(in []*graph.Node) *graph.Node {
		o, q, k := o, in[0], in[1]
		if g.Attrs.QKNorm != "" {
			q, k = ops.RMSNorm(q, in[3], g.Attrs.Eps, false), ops.RMSNorm(k, in[4], g.Attrs.Eps, false)
		}
		if g.Inputs["rel_bias"] != nil {
			o.RelBias = in[3]
		}
		if g.Attrs.KeyValid != nil {
			o.KeyValid = in[len(in)-1]
		}
		return ops.Attention(q, k, in[2], o)
	})
}

// scaling is the scaling of rotary frequencies as the files write it.
type scaling struct {
	Type     string
	Factor   float64
	Original int     `json:"original_length"`
	BetaFast float64 `json:"beta_fast"`
	BetaSlow float64 `json:"beta_slow"`
	LowFreq  float64 `json:"low_freq_factor"`
	HighFreq float64 `json:"high_freq_factor"`
}

func (s scaling) value() ops.RoPEScaling {
	switch s.Type {
	case "linear":
		return ops.LinearScaling{Factor: s.Factor}
	case "ntk":
		return ops.NTKScaling{Factor: s.Factor}
	case "yarn":
		return ops.YaRNScaling{Factor: s.Factor, Original: s.Original, BetaFast: s.BetaFast, BetaSlow: s.BetaSlow}
	case "llama3":
		return ops.Llama3Scaling{Factor: s.Factor, LowFreq: s.LowFreq, HighFreq: s.HighFreq, Original: s.Original}
	}
	return nil
}

// isTable says whether a file holds a table instead of an operation.
func isTable(name string) bool {
	for _, p := range []string{"alibi_", "rope_inv_freq_", "sinusoidal", "t5_buckets_"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}
