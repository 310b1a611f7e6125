package golden

import (
	"fmt"
	"math"

	"ablate/graph"
	"ablate/nn"
	"ablate/ops"
)

// positionOps are position encodings and their tables.
var positionOps = map[string]opReader{
	"rope": readRoPE, "rope_inv_freq": readFrequencies, "sinusoidal": readSinusoidal,
	"alibi_slopes": readSlopes, "alibi_bias": readALiBi, "t5_buckets": readBuckets, "t5_bias": readT5Bias,
}

// maxTable bounds the elements of a table that a few numbers ask for.
const maxTable = 1 << 22

func readRoPE(o *object, f *opFile) {
	style, base, fraction := "half", 10000.0, 1.0
	scaling := nn.RoPEScaling{Kind: "none"}
	var positions []int
	at := f.attrs
	optional(at, "style", &style)
	optional(at, "base", &base)
	optional(at, "rope_fraction", &fraction)
	required(at, "positions", &positions)
	if s := at.sub("scaling"); s != nil {
		scaling = readScaling(s)
	}
	if !f.want(o, map[string]int{"x": 4}) {
		return
	}
	shape := f.inputs["x"].shape
	r := int(math.Floor(fraction * float64(shape[3])))
	if style != "half" && style != "interleaved" {
		at.bad("style: %q is not known; known: half, interleaved", style)
	}
	if r < 2 || r%2 != 0 || r > shape[3] || len(positions) != shape[1] {
		at.bad("%d rotated dims of %d, %d positions of %d", r, shape[3], len(positions), shape[1])
		return
	}
	w, factor := ops.RoPEFrequencies(r, base, scaling.Op())
	var cos, sin []float64
	for _, p := range positions {
		c, s := ops.RoPETables(w, factor, p, 1)
		cos, sin = append(cos, c...), append(sin, s...)
	}
	f.checkTables(r, shape[3], w, factor, cos, sin)
	f.plan.shape = func(_ string, t tensor) []int { return []int{t.shape[0], t.shape[1], t.shape[2] * t.shape[3]} }
	f.plan.build = func(s *graph.Scope, in map[string]*graph.Node) *graph.Node {
		t := len(positions)
		return ops.RoPE(in["x"], s.Table("cos", cos, t, r/2), s.Table("sin", sin, t, r/2), shape[2], style == "interleaved")
	}
}

// checkTables compares the derived values that a rope file may state.
func (f *opFile) checkTables(r, hd int, w []float64, factor float64, cos, sin []float64) {
	at := f.attrs
	same := func(key string, got, want []float64) {
		var r Result
		if r.compare(key, got, want, limits64.ops); len(r.Problems) > 0 {
			at.bad("%s", r.Problems[0])
		}
	}
	var n int
	var x float64
	var list []float64
	if optional(at, "hd", &n) && n != hd {
		at.bad("hd: %d for heads of %d", n, hd)
	}
	if optional(at, "rotated_dims", &n) && n != r {
		at.bad("rotated_dims: %d, derived %d", n, r)
	}
	if optional(at, "inv_freq", &list) {
		same("inv_freq", w, list)
	}
	if optional(at, "cos_sin_multiplier", &x) {
		same("cos_sin_multiplier", []float64{factor}, []float64{x})
	}
	if at.has("cos") {
		same("cos", cos, at.tensor("cos").data)
	}
	if at.has("sin") {
		same("sin", sin, at.tensor("sin").data)
	}
}

func readFrequencies(_ *object, f *opFile) {
	var r int
	base := 10000.0
	scaling := nn.RoPEScaling{Kind: "none"}
	at := f.attrs
	required(at, "rotated_dims", &r)
	optional(at, "base", &base)
	if s := at.sub("scaling"); s != nil {
		scaling = readScaling(s)
	}
	if r < 2 || r%2 != 0 || r > maxTable {
		at.bad("rotated_dims: %d is no even number from 2 to %d", r, maxTable)
		return
	}
	w, factor := ops.RoPEFrequencies(r, base, scaling.Op())
	var want float64
	if optional(at, "cos_sin_multiplier", &want) && math.Abs(want-factor) > 1e-12 {
		at.bad("cos_sin_multiplier: %v, derived %v", want, factor)
	}
	f.plan.table = func() []float64 { return w }
}

// size reads one size of a table.
func (f *opFile) size(key string) int {
	var n int
	required(f.attrs, key, &n)
	if n < 1 || n > maxTable {
		f.attrs.bad("%s: %d is no size", key, n)
		return 1
	}
	return n
}

func readSinusoidal(_ *object, f *opFile) {
	t, d := f.size("T"), f.size("d")
	if t > maxTable/d {
		f.attrs.bad("a table of %d × %d is too large", t, d)
		return
	}
	f.plan.table = func() []float64 { return ops.Sinusoidal(t, d) }
}

func readSlopes(_ *object, f *opFile) {
	h := f.size("n_head")
	f.plan.table = func() []float64 { return ops.ALiBiSlopes(h) }
}

// readALiBi is -slope·|i - j| for [head, query i, key j].
func readALiBi(_ *object, f *opFile) {
	h, t := f.size("n_head"), f.size("T")
	if float64(h)*float64(t)*float64(t) > maxTable {
		f.attrs.bad("a table of %d × %d × %d is too large", h, t, t)
		return
	}
	f.plan.table = func() []float64 {
		var out []float64
		for _, slope := range ops.ALiBiSlopes(h) {
			for i := range t {
				for j := range t {
					out = append(out, -slope*math.Abs(float64(i-j)))
				}
			}
		}
		return out
	}
}

// t5Options are the options of a table of relative positions.
type t5Options struct {
	buckets, maxDistance int
	causal               bool
}

func (f *opFile) t5() t5Options {
	t := t5Options{causal: true}
	t.buckets, t.maxDistance = f.size("buckets"), f.size("max_distance")
	optional(f.attrs, "causal", &t.causal)
	return t
}

func (t t5Options) bucket(i, j int) int32 {
	return int32(ops.T5Bucket(i-j, t.buckets, t.maxDistance, t.causal))
}

func readBuckets(_ *object, f *opFile) {
	t := f.t5()
	var queries []int
	var keys string
	var from, to int
	required(f.attrs, "query_positions", &queries)
	required(f.attrs, "key_positions", &keys)
	if _, err := fmt.Sscanf(keys, "%d..%d", &from, &to); err != nil || from < 0 || to < from || to > maxTable || len(queries) > maxTable/(to-from+1) {
		f.attrs.bad("key_positions: %q is no range such as 0..15", keys)
		return
	}
	f.plan.table = func() []float64 {
		var out []float64
		for _, i := range queries {
			for j := from; j <= to; j++ {
				out = append(out, float64(t.bucket(i, j)))
			}
		}
		return out
	}
}

// readT5Bias looks the buckets of all pairs up in the table; the file's output
// is [head, query, key], ours [query, key, head].
func readT5Bias(o *object, f *opFile) {
	t, n := f.t5(), f.size("T")
	var stated [][]int32
	hasTable := optional(f.attrs, "bucket_table", &stated)
	if !f.want(o, map[string]int{"rel_bias": 2}) {
		return
	}
	shape := f.inputs["rel_bias"].shape
	if shape[0] != t.buckets || n > maxTable/n {
		f.attrs.bad("rel_bias has shape %v for %d buckets and T %d", shape, t.buckets, n)
		return
	}
	ids := make([]int32, 0, n*n)
	for i := range n {
		for j := range n {
			b := t.bucket(i, j)
			if b < 0 || int(b) >= t.buckets {
				f.attrs.bad("buckets: %d up to a distance of %d do not work", t.buckets, t.maxDistance)
				return
			}
			if hasTable && (len(stated) != n || len(stated[i]) != n || stated[i][j] != b) {
				f.attrs.bad("bucket_table: query %d, key %d differs from the derived bucket %d", i, j, b)
				return
			}
			ids = append(ids, b)
		}
	}
	f.plan.order = func(k int) int { // [h,i,j] → [i,j,h]
		h, ij := k/(n*n), k%(n*n)
		return ij*shape[1] + h
	}
	f.plan.build = func(s *graph.Scope, in map[string]*graph.Node) *graph.Node {
		return ops.Embedding(in["rel_bias"], s.IntTable("buckets", ids, n, n))
	}
}
