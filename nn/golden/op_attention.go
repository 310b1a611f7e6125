package golden

import (
	"math"
	"slices"
	"strings"

	"ablate/graph"
	"ablate/ops"
)

// attentionOps are the forms of attention; one reader knows all options.
var attentionOps = map[string]opReader{"attention": readAttention, "causal_attention": readAttention}

func readAttention(o *object, f *opFile) {
	a := ops.AttentionOptions{Causal: true}
	var keys [][]int32
	var buckets int
	var alibi bool
	qkNorm, eps := "none", f.eps()
	at := f.attrs
	scaled := optional(at, "scale", &a.Scale)
	optional(at, "causal", &a.Causal)
	optional(at, "window", &a.Window)
	optional(at, "softcap", &a.Softcap)
	optional(at, "alibi", &alibi)
	optional(at, "buckets", &buckets)
	optional(at, "max_distance", &a.MaxDistance)
	optional(at, "qk_norm", &qkNorm)
	padded := optional(at, "key_valid", &keys)
	if !f.want(o, map[string]int{"q": 4, "k": 4, "v": 4, "wq?": 1, "wk?": 1, "rel_bias?": 2}) || padded && !rectangular(at, "key_valid", keys) {
		return
	}
	q, k := f.inputs["q"].shape, f.inputs["k"].shape
	a.Heads, a.KVHeads = q[2], k[2]
	if !scaled {
		a.Scale = 1 / math.Sqrt(float64(q[3]))
	}
	if alibi {
		a.Slopes = ops.ALiBiSlopes(a.Heads)
	}
	f.checkAttention(qkNorm, buckets, keys)
	f.plan.shape = func(_ string, t tensor) []int {
		if len(t.shape) == 4 { // the graph has the heads side by side
			return []int{t.shape[0], t.shape[1], t.shape[2] * t.shape[3]}
		}
		return t.shape
	}
	f.plan.build = func(s *graph.Scope, in map[string]*graph.Node) *graph.Node {
		a := a
		q, k := in["q"], in["k"]
		if in["wq"] != nil {
			q, k = ops.RMSNorm(q, in["wq"], eps, false), ops.RMSNorm(k, in["wk"], eps, false)
		}
		a.RelBias = in["rel_bias"]
		if padded {
			a.KeyValid = s.IntTable("key_valid", slices.Concat(keys...), len(keys), len(keys[0]))
		}
		return ops.Attention(q, k, in["v"], a)
	}
}

// checkAttention holds options and inputs against each other.
func (f *opFile) checkAttention(qkNorm string, buckets int, keys [][]int32) {
	q, k, v := f.inputs["q"].shape, f.inputs["k"].shape, f.inputs["v"].shape
	wq, normed := f.inputs["wq"]
	wk, normedK := f.inputs["wk"]
	bias, biased := f.inputs["rel_bias"]
	kind, _, _ := strings.Cut(qkNorm, ":") // the rest is prose
	bad := f.attrs.bad
	switch {
	case !slices.Equal(k, v) || q[0] != k[0] || q[1] != k[1] || q[3] != k[3] || q[2]%k[2] != 0:
		bad("q, k, v have shapes %v, %v, %v", q, k, v)
	case kind != "none" && kind != "head" && kind != "full":
		bad("qk_norm: %q is not known; known: none, head, full", kind)
	case normed != (kind != "none") || normedK != normed:
		bad("qk_norm: %s, and the inputs wq and wk do not fit", kind)
	case kind == "head" && (wq.shape[0] != q[3] || wk.shape[0] != q[3]),
		kind == "full" && (wq.shape[0] != q[2]*q[3] || wk.shape[0] != k[2]*k[3]):
		bad("qk_norm: %s with weights of shapes %v, %v", kind, wq.shape, wk.shape)
	case biased != (buckets != 0) || biased && bias.shape[0] != buckets:
		bad("buckets: %d, and rel_bias of shape %v", buckets, bias.shape)
	case keys != nil && (len(keys) != q[0] || len(keys[0]) != q[1]):
		bad("key_valid: %d rows of %d for q of shape %v", len(keys), len(keys[0]), q)
	}
}
