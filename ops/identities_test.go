package ops_test

import (
	"math"
	"slices"
	"testing"

	"ablate/graph"
	"ablate/graph/graphtest"
	"ablate/ops"
)

// Equations that hold exactly, whatever the numbers. Rounding leaves 1e-10 in float64.

const exact = 1e-10

// affine is a·x + c.
func affine(x []float64, a, c float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = a*v + c
	}
	return y
}

// TestWhatNormsIgnore: LayerNorm ignores scale and shift, RMSNorm the scale, each
// with its eps scaled along; the gradients are orthogonal to what is ignored.
func TestWhatNormsIgnore(t *testing.T) {
	const rows, d, eps, a, c = 3, 10, 1e-3, 2.5, 7.0
	x := graphtest.Normal(1, "x", rows*d)
	norm := func(x []float64, f func(x *graph.Node) *graph.Node) values[float64] {
		return evaluate[float64](t, one(func(in []*graph.Node) *graph.Node { return f(in[0]) }), []graphtest.Input{{Shape: graph.Shape{rows, d}, Data: x}}, 1)
	}
	layer := func(eps float64) func(*graph.Node) *graph.Node {
		return func(x *graph.Node) *graph.Node { return ops.LayerNorm(x, nil, nil, eps) }
	}
	rms := func(eps float64) func(*graph.Node) *graph.Node {
		return func(x *graph.Node) *graph.Node { return ops.RMSNorm(x, nil, eps, false) }
	}
	for _, eps := range []float64{0, eps} {
		near(t, "LN(a x + c)", norm(affine(x, a, c), layer(a*a*eps)).out[0], norm(x, layer(eps)).out[0], 0, exact)
		near(t, "RMS(a x)", norm(affine(x, a, 0), rms(a*a*eps)).out[0], norm(x, rms(eps)).out[0], 0, exact)
	}
	if y, z := norm(affine(x, 1, c), rms(0)).out[0], norm(x, rms(0)).out[0]; math.Abs(y[0]-z[0]) < 1e-3 {
		t.Error("RMSNorm ignores a shift")
	}

	centred := slices.Clone(x)
	dx, dz := norm(x, layer(0)).grad[0], norm(x, rms(0)).grad[0]
	for r := range rows {
		row := slice(centred, r, d)
		mean := 0.0
		for _, v := range row {
			mean += v / d
		}
		copy(row, affine(row, 1, -mean))
		sum := 0.0
		for _, v := range slice(dx, r, d) {
			sum += v
		}
		near(t, "Σ dx, <dx, x - mean> of LN, <dx, x> of RMS", []float64{sum, dot(slice(dx, r, d), row), dot(slice(dz, r, d), slice(x, r, d))}, []float64{0, 0, 0}, 0, exact)
	}
	near(t, "LN is RMS of what is centred", norm(x, layer(eps)).out[0], norm(centred, rms(eps)).out[0], 0, exact)
}

func slice(x []float64, row, width int) []float64 { return x[row*width : (row+1)*width] }

// turn rotates heads of width r, all entries the same at n positions from `from`.
func turn(t *testing.T, x []float64, scaling ops.RoPEScaling, from, n int, sign float64, interleaved bool) []float64 {
	t.Helper()
	w, factor := ops.RoPEFrequencies(len(x), 100, scaling)
	cos, sin := ops.RoPETables(w, factor, from, n)
	in := []graphtest.Input{
		{Shape: graph.Shape{1, n, len(x)}, Data: slices.Repeat(x, n)}, fixed(cos, n, len(w)), fixed(affine(sin, sign, 0), n, len(w)),
	}
	return evaluate[float64](t, one(func(in []*graph.Node) *graph.Node { return ops.RoPE(in[0], in[1], in[2], 1, interleaved) }), in, 1).out[0]
}

// TestRotationsAreRelative: scores depend on distances alone, lengths stay, position
// 0 is left alone. To turn the other way is the same model with the second entry of
// every pair negated in queries and keys, the other layout the same with entries moved.
func TestRotationsAreRelative(t *testing.T) {
	const r, n, m, k = 8, 40, 5, 2
	q, key := graphtest.Normal(1, "q", r), graphtest.Normal(1, "k", r)
	a, b := turn(t, q, nil, 0, n, 1, false), turn(t, key, nil, 0, n, 1, false)
	mirror := func(x []float64) []float64 { return append(slices.Clone(x[:r/2]), affine(x[r/2:], -1, 0)...) }
	back, kback := turn(t, mirror(q), nil, 0, n, -1, false), turn(t, mirror(key), nil, 0, n, -1, false)
	order := []int{0, 4, 1, 5, 2, 6, 3, 7} // pair (j, j+4) of half becomes (2j, 2j+1)
	pairs := func(x []float64) []float64 {
		y := make([]float64, r)
		for i, from := range order {
			y[i] = x[from]
		}
		return y
	}
	c, d := turn(t, pairs(q), nil, 0, n, 1, true), turn(t, pairs(key), nil, 0, n, 1, true)
	near(t, "R_0 x", slice(a, 0, r), q, 0, 0)
	for s := range n - m {
		want := dot(slice(a, m, r), slice(b, k, r))
		near(t, "<R_(m+s) q, R_(n+s) k>; turned the other way; in the other layout; |R q|²", []float64{
			dot(slice(a, m+s, r), slice(b, k+s, r)), dot(slice(back, m+s, r), slice(kback, k+s, r)), dot(slice(c, m+s, r), slice(d, k+s, r)), dot(slice(a, s, r), slice(a, s, r)),
		}, []float64{want, want, want, dot(q, q)}, 0, exact)
		near(t, "layouts", slice(c, s, r), pairs(slice(a, s, r)), 0, exact)
	}
	// Interpolation by 4: position 4p turns as position p did. A wave of period n is back after n.
	near(t, "interpolated", slice(turn(t, q, ops.LinearScaling{Factor: 4}, 12, 1, 1, false), 0, r), slice(a, 3, r), 0, exact)
	cos, sin := ops.RoPETables([]float64{2 * math.Pi / n}, 1, 0, n+1)
	near(t, "period", []float64{cos[n], sin[n]}, []float64{1, 0}, 0, exact)
}

// TestRotatingAndRepeatingCommute: to rotate shared keys and then give each head its
// copy, and to do it the other way round, gives the same bytes.
func TestRotatingAndRepeatingCommute(t *testing.T) {
	const time, heads, groups, r = 5, 6, 2, 4
	w, _ := ops.RoPEFrequencies(r, 100, nil)
	cos, sin := ops.RoPETables(w, 1, 0, time)
	rotate := func(x []float64, heads int) []float64 {
		in := []graphtest.Input{{Shape: graph.Shape{1, time, heads * r}, Data: x}, fixed(cos, time, r/2), fixed(sin, time, r/2)}
		return evaluate[float64](t, one(func(in []*graph.Node) *graph.Node { return ops.RoPE(in[0], in[1], in[2], heads, false) }), in, 1).out[0]
	}
	repeat := func(k []float64) (out []float64) {
		for p := range time {
			for h := range heads {
				out = append(out, slice(slice(k, p, groups*r), h*groups/heads, r)...)
			}
		}
		return out
	}
	k := graphtest.Normal(1, "k", time*groups*r)
	if !slices.Equal(rotate(repeat(k), heads), repeat(rotate(k, groups))) {
		t.Error("the order matters")
	}
}

// TestALiBiIsRelative: within the softmax of a query, -m·(i-j) and m·j are the same,
// and slopes of 0 are none.
func TestALiBiIsRelative(t *testing.T) {
	const time, hd, slope = 6, 4, 0.3
	q, k, v := graphtest.Normal(1, "q", time*hd), graphtest.Normal(1, "k", time*hd), graphtest.Normal(1, "v", time*hd)
	attend := func(slopes []float64) []float64 {
		in := []graphtest.Input{{Shape: graph.Shape{1, time, hd}, Data: q}, {Shape: graph.Shape{1, time, hd}, Data: k}, {Shape: graph.Shape{1, time, hd}, Data: v}}
		return evaluate[float64](t, one(func(in []*graph.Node) *graph.Node {
			return ops.Attention(in[0], in[1], in[2], ops.AttentionOptions{Heads: 1, KVHeads: 1, Scale: 0.5, Causal: true, Slopes: slopes})
		}), in, 1).out[0]
	}
	var want []float64
	for i := range time {
		y, sum := make([]float64, hd), 0.0
		for j := range i + 1 {
			p := math.Exp(0.5*dot(slice(q, i, hd), slice(k, j, hd)) + slope*float64(j))
			sum += p
			for e := range y {
				y[e] += p * slice(v, j, hd)[e]
			}
		}
		want = append(want, affine(y, 1/sum, 0)...)
	}
	near(t, "slopes of positions", attend([]float64{slope}), want, 0, exact)
	near(t, "slopes of 0", attend([]float64{0}), attend(nil), 0, 0)
}

// TestSoftmaxAndCrossEntropy: a constant added to logits changes nothing, gradients
// of a row sum to 0, and logits of 0 cost ln V.
func TestSoftmaxAndCrossEntropy(t *testing.T) {
	const rows, v = 4, 9
	z := graphtest.Normal(1, "z", rows*v)
	softmax := func(z []float64) values[float64] {
		in := []graphtest.Input{{Shape: graph.Shape{rows, v}, Data: z}}
		return evaluate[float64](t, one(func(in []*graph.Node) *graph.Node { return ops.Softmax(in[0]) }), in, 1)
	}
	loss := func(z []float64) values[float64] {
		in := []graphtest.Input{{Shape: graph.Shape{1, rows, v}, Data: z}, ints([]int32{0, ops.Ignore, 8, 3}, 1, rows)}
		return evaluate[float64](t, func(in []*graph.Node) []*graph.Node {
			l, nll := ops.CrossEntropy(in[0], in[1])
			return []*graph.Node{l, nll}
		}, in, 1, 1)
	}
	near(t, "softmax(z + 50)", softmax(affine(z, 1, 50)).out[0], softmax(z).out[0], 0, exact)
	near(t, "loss(z + 50)", loss(affine(z, 1, 50)).out[0], loss(z).out[0], 0, exact)
	dp, dl := softmax(z).grad[0], loss(z).grad[0]
	for r := range rows {
		sums := []float64{0, 0}
		for i := range v {
			sums[0] += slice(dp, r, v)[i]
			sums[1] += slice(dl, r, v)[i]
		}
		near(t, "Σ dz", sums, []float64{0, 0}, 0, exact)
	}
	near(t, "loss of logits 0", loss(make([]float64, rows*v)).out[1], []float64{math.Log(v), 0, math.Log(v), math.Log(v)}, 0, exact)
}

// TestGatesThatReduce: a sigmoid's gate of 0 halves, a bilinear gate is symmetric, and
// a ReLU gate on its own value is ReLU².
func TestGatesThatReduce(t *testing.T) {
	const n = 12
	x, y := graphtest.Normal(1, "x", n), graphtest.Normal(1, "y", n)
	gate := func(u ops.Unary, g, v []float64) []float64 {
		in := []graphtest.Input{{Shape: graph.Shape{1, n}, Data: g}, {Shape: graph.Shape{1, n}, Data: v}}
		return evaluate[float64](t, one(func(in []*graph.Node) *graph.Node { return ops.Gate(in[0], in[1], u) }), in, 1).out[0]
	}
	near(t, "σ(0) v", gate(ops.Sigmoid, make([]float64, n), x), affine(x, .5, 0), 0, exact)
	near(t, "bilinear", gate(ops.Identity, x, y), gate(ops.Identity, y, x), 0, 0)
	near(t, "relu(x) x", gate(ops.ReLU, x, x), row(t, x, func(x *graph.Node) *graph.Node { return ops.Activate(x, ops.ReLU2) }), 0, exact)
}
