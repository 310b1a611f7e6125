package ops_test

import (
	"math"
	"testing"

	"ablate/graph"
	"ablate/graph/graphtest"
	"ablate/ops"
)

// fusedCase is an expression in which operations fuse.
type fusedCase struct {
	name  string
	fused int // operations that disappear in forward and gradient together
	f     graphtest.Expr
	in    []graphtest.Input
}

// gatedNetwork is a feed-forward network with a gate: operands x, the weight and bias of the
// gate, and the weights of the value and behind.
func gatedNetwork(u ops.Unary) graphtest.Expr {
	return func(in []*graph.Node) []*graph.Node {
		g, v := ops.Linear(in[0], in[1], in[2]), ops.Linear(in[0], in[3], nil)
		return []*graph.Node{ops.Linear(ops.Gate(g, v, u), in[4], nil)}
	}
}

// residual adds a product of norm, of which the weight is the last operand, to the first.
func residual(norm func(in []*graph.Node) *graph.Node) graphtest.Expr {
	return func(in []*graph.Node) []*graph.Node {
		return []*graph.Node{graph.Add(in[0], ops.Linear(norm(in), in[len(in)-1], nil))}
	}
}

// fusions lists them for rows of 6 entries and hidden layers of h.
func fusions(lead []int, h int) []fusedCase {
	const d = 6
	x, up, down := normal("x", lead, d), normal("up", nil, h, d), normal("down", nil, d, h)
	b, w, c := normal("b", nil, h), normal("w", nil, d), normal("c", nil, d)
	return []fusedCase{
		{"residual sum", 2, func(in []*graph.Node) []*graph.Node {
			return []*graph.Node{graph.Add(in[0], ops.Linear(in[0], in[1], nil))}
		}, []graphtest.Input{x, normal("sq", nil, d, d)}},
		{"feed-forward", 3, func(in []*graph.Node) []*graph.Node {
			a := ops.Activate(ops.Linear(in[0], in[1], in[2]), ops.GELU)
			return []*graph.Node{ops.Linear(a, in[3], nil)}
		}, []graphtest.Input{x, up, b, down}},
		{"gated feed-forward", 4, gatedNetwork(ops.SiLU), []graphtest.Input{x, up, b, normal("value", nil, h, d), down}},
		{"gated feed-forward of two kernels", 4, gatedNetwork(ops.Tanh), []graphtest.Input{x, up, b, normal("value", nil, h, d), down}},
		{"gated feed-forward of functions", 4, gatedNetwork(ops.Unary{Name: "sine", F: math.Sin, D: math.Cos}), []graphtest.Input{x, up, b, normal("value", nil, h, d), down}},
		{"feed-forward with a norm inside", 1, func(in []*graph.Node) []*graph.Node {
			a := ops.Activate(ops.Linear(in[0], in[1], nil), ops.GELU)
			return []*graph.Node{ops.Linear(ops.RMSNorm(a, nil, 1e-5, false), in[2], nil)}
		}, []graphtest.Input{x, up, down}},
		{"three products of one value", 2, func(in []*graph.Node) []*graph.Node {
			var out []*graph.Node
			for _, w := range in[1:] {
				out = append(out, ops.Linear(in[0], w, nil))
			}
			return out
		}, []graphtest.Input{x, up, normal("second", nil, h, d), normal("third", nil, 5, d)}},
		{"layernorm in a residual", 2, residual(func(in []*graph.Node) *graph.Node { return ops.LayerNorm(in[0], in[1], in[2], 1e-5) }),
			[]graphtest.Input{x, w, c, normal("sq", nil, d, d)}},
		{"rmsnorm in a residual", 2, residual(func(in []*graph.Node) *graph.Node { return ops.RMSNorm(in[0], in[1], 1e-5, false) }),
			[]graphtest.Input{x, w, normal("sq", nil, d, d)}},
		{"dyt in a residual", 2, residual(func(in []*graph.Node) *graph.Node { return ops.DyT(in[0], in[1], in[2], nil) }),
			[]graphtest.Input{x, normal("alpha", nil, 1), w, normal("sq", nil, d, d)}},
		{"capped logits", 2, func(in []*graph.Node) []*graph.Node {
			z := ops.Scale(ops.Linear(in[0], in[1], nil), 0.3)
			return []*graph.Node{ops.Softcap(z, 1.5)}
		}, []graphtest.Input{x, up}},
		{"a weight used twice", 1, func(in []*graph.Node) []*graph.Node {
			y := ops.Linear(in[0], in[1], nil)
			return []*graph.Node{ops.Linear(ops.Softmax(y), in[1], nil)}
		}, []graphtest.Input{x, normal("sq", nil, d, d)}},
		{"tied head", 1, func(in []*graph.Node) []*graph.Node {
			y := ops.Softmax(ops.Embedding(in[0], in[1]))
			return []*graph.Node{ops.Linear(y, in[0], nil)}
		}, []graphtest.Input{normal("table", nil, 8, 35), ints(tokens(len(x.Data)/d, 8), lead...)}},
	}
}

// fusedCases are the fused expressions, for the suites that walk all cases.
func fusedCases(lead []int) []opCase {
	var all []opCase
	for _, c := range fusions(lead, 37) {
		all = append(all, opCase{name: named(c.name, lead), in: c.in, f: c.f})
	}
	return all
}

// TestFusedEqualsUnfused compares every fused expression with the same one
// without fusion, and counts what was fused.
func TestFusedEqualsUnfused(t *testing.T) {
	for _, z := range []struct {
		lead []int
		h    int
	}{{[]int{5}, 37}, {[]int{3, 4}, 37}, {[]int{2, 130}, 600}} { // the last in several blocks of rows and columns
		for _, c := range fusions(z.lead, z.h) {
			name := named(c.name, z.lead)
			fused := evaluate[float32](t, c.f, c.in, 2)
			apart := evaluateWith[float32](t, c.f, c.in, []graph.Option{graph.WithoutFusion()})
			if fused.stats.Fused != c.fused {
				t.Errorf("%s: %d operations fused, want %d", name, fused.stats.Fused, c.fused)
			}
			for i := range fused.out {
				near(t, name+": result", fused.out[i], apart.out[i], 1e-5, 1e-5)
			}
			for i := range fused.grad {
				near(t, name+": gradient", fused.grad[i], apart.grad[i], 1e-4, 1e-5)
			}
		}
	}
}
