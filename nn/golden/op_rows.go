package golden

import (
	"slices"

	"ablate/graph"
	"ablate/ops"
)

// rowOps work on the last axis: norms, linear maps, softmax, losses, lookups.
var rowOps = map[string]opReader{
	"layernorm": readLayerNorm, "rmsnorm": rmsNorm(false), "rmsnorm_1p": rmsNorm(true), "dyt": readDyT,
	"deepnorm_residual": readDeepNorm, "linear": readLinear, "embedding": readEmbedding,
	"softmax": readSoftmax, "softmax_cross_entropy": readCrossEntropy,
}

// lastAxis reads the options that norms and softmax share.
func (f *opFile) lastAxis() {
	axis := -1
	if optional(f.attrs, "axis", &axis); axis != -1 {
		f.attrs.bad("axis: %d is not known; the last, -1, is", axis)
	}
}

func (f *opFile) eps() float64 {
	eps := 1e-5
	if optional(f.attrs, "eps", &eps); eps < 0 {
		f.attrs.bad("eps: %g is below 0", eps)
	}
	return eps
}

func readLayerNorm(o *object, f *opFile) {
	f.lastAxis()
	eps := f.eps()
	f.want(o, map[string]int{"x": anyRank, "w": 1, "b?": 1})
	f.plan.build = func(_ *graph.Scope, in map[string]*graph.Node) *graph.Node {
		return ops.LayerNorm(in["x"], in["w"], in["b"], eps)
	}
}

func rmsNorm(onePlus bool) opReader {
	return func(o *object, f *opFile) {
		f.lastAxis()
		eps := f.eps()
		f.want(o, map[string]int{"x": anyRank, "w": 1})
		f.plan.build = func(_ *graph.Scope, in map[string]*graph.Node) *graph.Node {
			return ops.RMSNorm(in["x"], in["w"], eps, onePlus)
		}
	}
}

func readDyT(o *object, f *opFile) {
	f.want(o, map[string]int{"x": anyRank, "alpha": 1, "w": 1, "b?": 1})
	f.plan.build = func(_ *graph.Scope, in map[string]*graph.Node) *graph.Node {
		return ops.DyT(in["x"], in["alpha"], in["w"], in["b"])
	}
}

// readDeepNorm is layernorm(alpha·x + f).
func readDeepNorm(o *object, f *opFile) {
	alpha := 1.0
	optional(f.attrs, "alpha", &alpha)
	eps := f.eps()
	f.want(o, map[string]int{"x": anyRank, "f": anyRank, "w": 1, "b": 1})
	f.plan.build = func(_ *graph.Scope, in map[string]*graph.Node) *graph.Node {
		return ops.LayerNorm(graph.Add(ops.Scale(in["x"], alpha), in["f"]), in["w"], in["b"], eps)
	}
}

func readLinear(o *object, f *opFile) {
	f.want(o, map[string]int{"x": anyRank, "w": 2, "b?": 1})
	f.plan.build = func(_ *graph.Scope, in map[string]*graph.Node) *graph.Node {
		return ops.Linear(in["x"], in["w"], in["b"])
	}
}

func readEmbedding(o *object, f *opFile) {
	ids, _ := f.attrs.integers("indices")
	if !f.want(o, map[string]int{"w": 2}) || len(ids) == 0 {
		return
	}
	for _, id := range ids {
		if id < 0 || int(id) >= f.inputs["w"].shape[0] {
			f.attrs.bad("indices: %d is no row of %v", id, f.inputs["w"].shape)
			return
		}
	}
	f.plan.build = func(s *graph.Scope, in map[string]*graph.Node) *graph.Node {
		return ops.Embedding(in["w"], s.IntTable("indices", ids, len(ids)))
	}
}

// rectangular makes sure that rows are of one length, which is not 0.
func rectangular(o *object, key string, rows [][]int32) bool {
	if len(rows) == 0 || len(rows[0]) == 0 || slices.ContainsFunc(rows, func(r []int32) bool { return len(r) != len(rows[0]) }) {
		o.bad("%s: rows of one length are wanted", key)
		return false
	}
	return true
}

func readSoftmax(o *object, f *opFile) {
	f.lastAxis()
	var mask []int32
	var shape []int
	masked := f.attrs.has("mask")
	if masked {
		mask, shape = f.attrs.integers("mask")
	}
	if !f.want(o, map[string]int{"x": anyRank}) {
		return
	}
	if x := f.inputs["x"].shape; masked && !slices.Equal(x, shape) {
		f.attrs.bad("mask: shape %v for x of shape %v", shape, x)
	}
	f.plan.build = func(s *graph.Scope, in map[string]*graph.Node) *graph.Node {
		if !masked {
			return ops.Softmax(in["x"])
		}
		return ops.MaskedSoftmax(in["x"], s.IntTable("mask", mask, in["x"].Shape()...))
	}
}

// readCrossEntropy is the mean over the targets that count.
func readCrossEntropy(o *object, f *opFile) {
	var targets []int32
	ignore, count := int32(-100), 0
	required(f.attrs, "targets", &targets)
	optional(f.attrs, "ignore_index", &ignore)
	if !f.want(o, map[string]int{"logits": 2}) {
		return
	}
	shape := f.inputs["logits"].shape
	if len(targets) != shape[0] {
		f.attrs.bad("targets: %d for logits of shape %v", len(targets), shape)
		return
	}
	for i, t := range targets {
		switch {
		case t == ignore:
			targets[i] = ops.Ignore
		case t < 0 || int(t) >= shape[1]:
			f.attrs.bad("targets: %d is none of %d classes", t, shape[1])
			return
		default:
			count++
		}
	}
	f.plan.scale = 1 / float64(max(count, 1))
	f.plan.build = func(s *graph.Scope, in map[string]*graph.Node) *graph.Node {
		loss, _ := ops.CrossEntropy(in["logits"], s.IntTable("targets", targets, len(targets)))
		return loss
	}
}
