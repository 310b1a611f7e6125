package golden

import (
	"fmt"

	"ablate/graph"
	"ablate/ops"
)

// elementwiseOps are activations, plain and gated, and the softcap.
var elementwiseOps = map[string]opReader{
	"relu": unary(ops.ReLU), "relu2": unary(ops.ReLU2), "gelu": unary(ops.GELU), "gelu_erf": unary(ops.GELU),
	"gelu_tanh": unary(ops.GELUTanh), "gelu_sigmoid": unary(ops.GELUSigmoid), "silu": unary(ops.SiLU), "sigmoid": unary(ops.Sigmoid),
	"glu": gated(ops.Sigmoid), "bilinear": gated(ops.Identity), "reglu": gated(ops.ReLU),
	"geglu": gated(ops.GELU), "geglu_tanh": gated(ops.GELUTanh), "swiglu": gated(ops.SiLU),
	"softcap": readSoftcap,
}

func unary(u ops.Unary) opReader {
	return func(o *object, f *opFile) {
		f.want(o, map[string]int{"x": anyRank})
		f.plan.build = func(_ *graph.Scope, in map[string]*graph.Node) *graph.Node { return ops.Activate(in["x"], u) }
	}
}

func readSoftcap(o *object, f *opFile) {
	var c float64
	required(f.attrs, "cap", &c)
	if c <= 0 {
		f.attrs.bad("cap: %g is not above 0", c)
	}
	f.want(o, map[string]int{"x": anyRank})
	f.plan.build = func(_ *graph.Scope, in map[string]*graph.Node) *graph.Node { return ops.Softcap(in["x"], c) }
}

// gated operations have gate and value side by side in the last axis. A matrix
// with a single 1 a row takes each of them out, so that the gradient comes back
// to one tensor.
func gated(u ops.Unary) opReader {
	return func(o *object, f *opFile) {
		if !f.want(o, map[string]int{"h": anyRank}) {
			return
		}
		shape := f.inputs["h"].shape
		d := shape[len(shape)-1]
		if d%2 != 0 || d > maxGated {
			o.bad("inputs: h has a last axis of %d; an even number up to %d is wanted", d, maxGated)
			return
		}
		f.plan.build = func(s *graph.Scope, in map[string]*graph.Node) *graph.Node {
			half := func(from int) *graph.Node {
				pick := make([]float64, d/2*d)
				for i := range d / 2 {
					pick[i*d+from+i] = 1
				}
				return ops.Linear(in["h"], s.Table(fmt.Sprint("pick.", from), pick, d/2, d), nil)
			}
			return ops.Gate(half(0), half(d/2), u)
		}
	}
}

// maxGated bounds the matrices that take halves out.
const maxGated = 4096
