package ops_test

import (
	"fmt"
	"math"

	"ablate/graph"
	"ablate/graph/graphtest"
	"ablate/ops"
)

// opCase is an operation on given operands. Every suite below walks all cases.
type opCase struct {
	name string
	f    graphtest.Expr
	in   []graphtest.Input
	free []int // results that have no gradient
}

// cases lists every operation in its variants, on values of rank 2 and 3.
func cases() []opCase {
	var all []opCase
	for _, lead := range [][]int{{5}, {3, 4}} {
		all = append(all, linearCases(lead)...)
		all = append(all, normCases(lead)...)
		all = append(all, activationCases(lead)...)
		all = append(all, smallCases(lead)...)
		all = append(all, fusedCases(lead)...)
	}
	few := []int{1, 3} // rows with which a product reads its weight in place
	all = append(append(all, linearCases(few)...), fusedCases(few)...)
	all = append(append(all, attentionCases()...), turnedCases()...)
	return append(all, positionCases()...)
}

// one makes an Expr of a function with one result.
func one(f func(in []*graph.Node) *graph.Node) graphtest.Expr {
	return func(in []*graph.Node) []*graph.Node { return []*graph.Node{f(in)} }
}

// normal is an operand with leading axes lead and the given last ones.
func normal(name string, lead []int, last ...int) graphtest.Input {
	return graphtest.NormalInput(3, name, append(append([]int{}, lead...), last...)...)
}

// shift adds c to every number of an operand.
func shift(in graphtest.Input, c float64) graphtest.Input {
	for i := range in.Data {
		in.Data[i] += c
	}
	return in
}

func ints(v []int32, shape ...int) graphtest.Input {
	return graphtest.Input{Shape: shape, Ints: v}
}

func fixed(v []float64, shape ...int) graphtest.Input {
	return graphtest.Input{Shape: shape, Data: v, Fixed: true}
}

// named tells apart the shapes of a case.
func named(name string, lead []int) string { return fmt.Sprintf("%s, rows %v", name, lead) }

func linearCases(lead []int) []opCase {
	x, b := normal("x", lead, 6), normal("b", nil, 37)
	w := normal("w", nil, 37, 6)
	return []opCase{
		{name: named("linear", lead), in: []graphtest.Input{x, w, b},
			f: one(func(in []*graph.Node) *graph.Node { return ops.Linear(in[0], in[1], in[2]) })},
		{name: named("linear without bias", lead), in: []graphtest.Input{x, w},
			f: one(func(in []*graph.Node) *graph.Node { return ops.Linear(in[0], in[1], nil) })},
	}
}

func normCases(lead []int) []opCase {
	x, w, b := normal("x", lead, 12), normal("w", nil, 12), normal("b", nil, 12)
	head, headB, alpha := normal("w", nil, 4), normal("b", nil, 4), shift(normal("alpha", nil, 1), 1)
	ln := one(func(in []*graph.Node) *graph.Node { return ops.LayerNorm(in[0], in[1], in[2], 1e-5) })
	rms := one(func(in []*graph.Node) *graph.Node { return ops.RMSNorm(in[0], in[1], 1e-5, false) })
	return []opCase{
		{name: named("layernorm", lead), in: []graphtest.Input{x, w, b}, f: ln},
		{name: named("layernorm of heads", lead), in: []graphtest.Input{x, head, headB}, f: ln},
		{name: named("layernorm without bias", lead), in: []graphtest.Input{x, w},
			f: one(func(in []*graph.Node) *graph.Node { return ops.LayerNorm(in[0], in[1], nil, 1e-5) })},
		{name: named("layernorm without weights", lead), in: []graphtest.Input{x},
			f: one(func(in []*graph.Node) *graph.Node { return ops.LayerNorm(in[0], nil, nil, 1e-5) })},
		{name: named("rmsnorm", lead), in: []graphtest.Input{x, w}, f: rms},
		{name: named("rmsnorm of heads", lead), in: []graphtest.Input{x, head}, f: rms},
		{name: named("rmsnorm 1+w", lead), in: []graphtest.Input{x, w},
			f: one(func(in []*graph.Node) *graph.Node { return ops.RMSNorm(in[0], in[1], 1e-5, true) })},
		{name: named("rmsnorm without weights", lead), in: []graphtest.Input{x},
			f: one(func(in []*graph.Node) *graph.Node { return ops.RMSNorm(in[0], nil, 1e-5, false) })},
		{name: named("rmsnorm of heads without weights", lead), in: []graphtest.Input{x},
			f: one(func(in []*graph.Node) *graph.Node { return ops.RMSNormRows(in[0], 4, 1e-5) })},
		{name: named("dyt", lead), in: []graphtest.Input{x, alpha, w, b},
			f: one(func(in []*graph.Node) *graph.Node { return ops.DyT(in[0], in[1], in[2], in[3]) })},
		{name: named("dyt of heads without bias", lead), in: []graphtest.Input{x, alpha, head},
			f: one(func(in []*graph.Node) *graph.Node { return ops.DyT(in[0], in[1], in[2], nil) })},
	}
}

// activations are all that the package has, and one made of two functions.
var activations = []ops.Unary{
	ops.ReLU, ops.ReLU2, ops.GELU, ops.GELUTanh, ops.GELUSigmoid, ops.SiLU, ops.Sigmoid, ops.Tanh, ops.Identity,
	{Name: "softplus", F: func(x float64) float64 { return math.Log1p(math.Exp(x)) }, D: ops.Sigmoid.F},
}

func activationCases(lead []int) []opCase {
	var all []opCase
	x, v := normal("x", lead, 7), normal("v", lead, 7)
	for _, u := range activations {
		all = append(all,
			opCase{name: named("activate "+u.Name, lead), in: []graphtest.Input{x},
				f: one(func(in []*graph.Node) *graph.Node { return ops.Activate(in[0], u) })},
			opCase{name: named("gate "+u.Name, lead), in: []graphtest.Input{x, v},
				f: one(func(in []*graph.Node) *graph.Node { return ops.Gate(in[0], in[1], u) })})
	}
	return all
}

func smallCases(lead []int) []opCase {
	x, rng := normal("x", lead, 7), ints([]int32{3, -4}, 2)
	n := len(x.Data) / 7
	targets, mask := make([]int32, n), make([]int32, 7*n)
	for i := range targets {
		targets[i] = int32(i*5%8) - 1
		if targets[i] < 0 {
			targets[i] = ops.Ignore
		}
	}
	for i := range mask {
		mask[i] = int32(i % 3 * (i / 7)) // the first row has none
	}
	return []opCase{
		{name: named("scale", lead), in: []graphtest.Input{x},
			f: one(func(in []*graph.Node) *graph.Node { return ops.Scale(in[0], -1.5) })},
		{name: named("mulVector", lead), in: []graphtest.Input{x, normal("g", nil, 7)},
			f: one(func(in []*graph.Node) *graph.Node { return ops.MulVector(in[0], in[1]) })},
		{name: named("mulScalar", lead), in: []graphtest.Input{x, normal("a", nil, 1)},
			f: one(func(in []*graph.Node) *graph.Node { return ops.MulScalar(in[0], in[1]) })},
		{name: named("softcap", lead), in: []graphtest.Input{x},
			f: one(func(in []*graph.Node) *graph.Node { return ops.Softcap(in[0], 0.8) })},
		{name: named("softmax", lead), in: []graphtest.Input{x},
			f: one(func(in []*graph.Node) *graph.Node { return ops.Softmax(in[0]) })},
		{name: named("softmax, masked", lead), in: []graphtest.Input{x, ints(mask, x.Shape...)},
			f: one(func(in []*graph.Node) *graph.Node { return ops.MaskedSoftmax(in[0], in[1]) })},
		{name: named("dropout", lead), in: []graphtest.Input{x, rng},
			f: one(func(in []*graph.Node) *graph.Node { return ops.Dropout(in[0], in[1], 0.3, "d") })},
		{name: named("crossEntropy", lead), in: []graphtest.Input{x, ints(targets, lead...)}, free: []int{1},
			f: func(in []*graph.Node) []*graph.Node {
				loss, nll := ops.CrossEntropy(in[0], in[1])
				return []*graph.Node{loss, nll}
			}},
		{name: named("embedding", lead), in: []graphtest.Input{normal("w", nil, 8, 35), ints(tokens(n, 8), lead...)},
			f: one(func(in []*graph.Node) *graph.Node { return ops.Embedding(in[0], in[1]) })},
	}
}

// tokens are n indices below v, some of them repeated.
func tokens(n, v int) []int32 {
	t := make([]int32, n)
	for i := range t {
		t[i] = int32(i * i % v)
	}
	return t
}

func positionCases() []opCase {
	x := normal("x", nil, 2, 5, 3*8)
	w, mult := ops.RoPEFrequencies(6, 10000, nil)
	cos, sin := ops.RoPETables(w, mult, 0, 7)
	all := []opCase{{name: "addPositions", in: []graphtest.Input{x, normal("p", nil, 40, 24)},
		f: one(func(in []*graph.Node) *graph.Node { return ops.AddPositions(in[0], in[1]) })}}
	for _, interleaved := range []bool{false, true} {
		all = append(all, opCase{name: fmt.Sprintf("rope, interleaved %v", interleaved),
			in: []graphtest.Input{x, fixed(cos, 7, 3), fixed(sin, 7, 3)},
			f:  one(func(in []*graph.Node) *graph.Node { return ops.RoPE(in[0], in[1], in[2], 3, interleaved) })})
	}
	return all
}

func attentionCases() []opCase {
	const b, t, h, k = 3, 6, 4, 5
	valid := ints([]int32{1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 0, 1, 0, 0, 0, 0, 0, 0}, b, t)
	rng, rel := ints([]int32{1, 2}, 2), normal("rel", nil, 6, h)
	var all []opCase
	add := func(name string, o ops.AttentionOptions, more ...graphtest.Input) {
		g := max(o.KVHeads, 1)
		o.Heads, o.KVHeads = h, g
		in := []graphtest.Input{normal("q", nil, b, t, h*k), normal("k", nil, b, t, g*k), normal("v", nil, b, t, g*k)}
		all = append(all, opCase{name: "attention, " + name, in: append(in, more...),
			f: one(func(in []*graph.Node) *graph.Node {
				o, rest := o, in[3:]
				take := func(want bool) (n *graph.Node) {
					if want {
						n, rest = rest[0], rest[1:]
					}
					return n
				}
				o.RelBias, o.KeyValid, o.RNG = take(o.MaxDistance > 0), take(name == "all" || name == "padding"), take(o.Dropout > 0)
				return ops.Attention(in[0], in[1], in[2], o)
			})})
	}
	add("plain", ops.AttentionOptions{KVHeads: 4})
	add("causal, grouped", ops.AttentionOptions{KVHeads: 2, Causal: true})
	add("window, one kv head", ops.AttentionOptions{Window: 3})
	add("softcap and scale", ops.AttentionOptions{KVHeads: 2, Causal: true, Softcap: 0.7, Scale: 1.3})
	add("alibi", ops.AttentionOptions{KVHeads: 4, Causal: true, Slopes: ops.ALiBiSlopes(h)})
	add("t5", ops.AttentionOptions{KVHeads: 2, Causal: true, MaxDistance: 8}, rel)
	add("t5, both ways", ops.AttentionOptions{KVHeads: 2, MaxDistance: 5}, rel)
	add("padding", ops.AttentionOptions{KVHeads: 2, Causal: true}, valid)
	add("dropout", ops.AttentionOptions{KVHeads: 2, Causal: true, Dropout: 0.4, Name: "a"}, rng)
	add("all", ops.AttentionOptions{KVHeads: 2, Causal: true, Window: 4, Softcap: 2, MaxDistance: 8,
		Slopes: ops.ALiBiSlopes(h), Dropout: 0.2, Name: "b"}, rel, valid, rng)
	return all
}
