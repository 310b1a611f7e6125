package ops_test

import (
	"math"
	"testing"

	"ablate/graph"
	"ablate/graph/graphtest"
	"ablate/ops"
)

// The worked numbers of a widely used lesson on transformer blocks, as they come out
// exactly. Where the lesson rounds between steps it prints something else.

// row evaluates an expression of one row in float64.
func row(t *testing.T, x []float64, f func(x *graph.Node) *graph.Node) []float64 {
	t.Helper()
	in := []graphtest.Input{{Shape: graph.Shape{1, len(x)}, Data: x}}
	return evaluate[float64](t, one(func(in []*graph.Node) *graph.Node { return f(in[0]) }), in, 1).out[0]
}

// long holds values to what is printed of them in full.
func long(t *testing.T, what string, got, want []float64) {
	t.Helper()
	near(t, what, got, want, 1e-12, 1e-12)
}

func dot(a, b []float64) (sum float64) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

// TestPositionSums: three words of three entries, to the first two of which the
// sinusoidal code of width 2 is added. The lesson counts positions from 1.
func TestPositionSums(t *testing.T) {
	me, hit, you := []float64{.5, .3, .8}, []float64{.2, .9, .4}, []float64{.7, .1, .6}
	code := ops.Sinusoidal(4, 2) // positions 0 … 3
	long(t, "sines and cosines of 1, 2, 3", code[2:], []float64{
		.8414709848078965, .5403023058681398, .9092974268256817, -.4161468365471424, .1411200080598672, -.9899924966004454})

	at := func(word []float64, p int) []float64 {
		return []float64{word[0] + code[2*p], word[1] + code[2*p+1], word[2]}
	}
	long(t, "me, hit, you", append(append(at(me, 1), at(hit, 2)...), at(you, 3)...), []float64{
		.5 + .8414709848078965, .3 + .5403023058681398, .8, .2 + .9092974268256817, .9 - .4161468365471424, .4, .7 + .1411200080598672, .1 - .9899924966004454, .6})
	near(t, "me, as printed", at(me, 1), []float64{1.3414709848, .8403023059, .8}, 0, 5e-11)
	near(t, "hit, as printed", at(hit, 2), []float64{1.1092974268, .4838531635, .4}, 0, 5e-11)
	near(t, "you, as printed", at(you, 3), []float64{.8411200081, -.8899924966, .6}, 0, 5e-11)

	long(t, "products of the first word with the last, in both orders", []float64{dot(at(me, 1), at(you, 3)), dot(at(you, 1), at(me, 3))},
		[]float64{.860475338454999, 1.0264641035991104})
	long(t, "the same from position 0", []float64{dot(at(me, 0), at(you, 2)), dot(at(you, 0), at(me, 2))}, []float64{.8736578259015557, 1.3387466785761204})
	long(t, "the same without positions", []float64{dot(me, you), dot(you, me)}, []float64{.86, .86})
	for p, want := range []float64{.0021544330, .0043088560, .0064632591} { // the third entry of a code that is 3 wide
		if got := ops.Sinusoidal(4, 3)[3*(p+1)+2]; math.Abs(got-want) > 5e-11 {
			t.Errorf("third entry of position %d is %v, want %v", p+1, got, want)
		}
	}
}

// TestRotations: an addition changes lengths and angles, a rotation only the angle.
func TestRotations(t *testing.T) {
	degrees := func(v []float64) float64 { return math.Atan2(v[1], v[0]) * 180 / math.Pi }
	norm := func(v []float64) float64 { return math.Hypot(v[0], v[1]) }
	base, rounded := []float64{.8, .6}, []float64{1.64, 1.14}
	exact := []float64{.8 + math.Sin(1), .6 + math.Cos(1)}
	long(t, "length of the rounded sum", []float64{norm(rounded)}, []float64{1.997298175035465})
	near(t, "length of the sum", []float64{norm(exact)}, []float64{1.9986786492}, 0, 5e-11)
	near(t, "angles", []float64{degrees(base), degrees(rounded), degrees(exact)}, []float64{36.86989765, 34.80401175, 34.78705907}, 0, 5e-9)

	// Heads of two entries, one frequency of 0.01: position t turns by t/100.
	cos, sin := ops.RoPETables([]float64{.01}, 1, 0, 4)
	in := []graphtest.Input{
		{Shape: graph.Shape{1, 4, 2}, Data: []float64{.8, .6, .8, .6, .8, .6, .8, .6}}, fixed(cos, 4, 1), fixed(sin, 4, 1),
	}
	turned := evaluate[float64](t, one(func(in []*graph.Node) *graph.Node { return ops.RoPE(in[0], in[1], in[2], 1, false) }), in, 1).out[0]
	long(t, "rotated by .01", turned[2:4], []float64{.7939601003328323, .6079698669173325})
	long(t, "rotated by .03", turned[6:8], []float64{.7816427268776928, .623726420411389})
	long(t, "their product is the cosine of the difference", []float64{dot(turned[2:4], turned[6:8])}, []float64{.999800006666578})
	long(t, "length", []float64{norm(turned[6:8])}, []float64{1})

	cos, sin = ops.RoPETables([]float64{.01}, 1, 99, 1)
	long(t, "cosine of .99", cos, []float64{.5486898605815875})
	near(t, "angles", []float64{degrees([]float64{cos[0], sin[0]}), degrees([]float64{math.Cos(1), math.Sin(1)})}, []float64{56.7228217, 57.2957795}, 0, 5e-8)
	cos, _ = ops.RoPETables([]float64{.01}, 1, 257, 1) // far enough for the sign of a score to change
	near(t, "cosine of 2.57", cos, []float64{-.8410404608}, 0, 5e-11)
}

// TestNormsOfFourNumbers is the lesson's row under both norms.
func TestNormsOfFourNumbers(t *testing.T) {
	x := []float64{1.2, -.8, .5, -1.5}
	layer := func(eps float64) []float64 {
		return row(t, x, func(x *graph.Node) *graph.Node { return ops.LayerNorm(x, nil, nil, eps) })
	}
	rms := func(eps float64) []float64 {
		return row(t, x, func(x *graph.Node) *graph.Node { return ops.RMSNorm(x, nil, eps, false) })
	}
	long(t, "layernorm", layer(0), []float64{1.2742087810941236, -.6135079316379114, .6135079316379114, -1.2742087810941236})
	long(t, "layernorm, eps 1e-5", layer(1e-5)[:2], []float64{1.2742031053691012, -.6135051988814191})
	long(t, "layernorm, eps 1e-6", layer(1e-6)[:2], []float64{1.2742082135182082, -.6135076583606188})
	long(t, "rmsnorm", rms(0), []float64{1.1214463524383946, -.7476309016255964, .46726931351599776, -1.4018079405479933})
	long(t, "rmsnorm, eps 1e-6", rms(1e-6), []float64{1.1214458627241508, -.747630575149434, .4672691094683962, -1.4018073284051886})

	// What they divide by: y = (x - mean)/sigma gives sigma from two entries, and x/rms gives rms.
	y, z := layer(0), rms(0)
	sigma := (x[0] - x[1]) / (y[0] - y[1])
	long(t, "mean, sigma, rms", []float64{x[0] - sigma*y[0], sigma, x[0] / z[0]}, []float64{-.15, 1.0594810050208545, 1.0700467279516348})
	long(t, "variance, mean square", []float64{sigma * sigma, dot(x, x) / 4}, []float64{1.1225, 1.145})
}

// TestActivationsOfFourNumbers is the lesson's row under five activations.
func TestActivationsOfFourNumbers(t *testing.T) {
	x := []float64{.6, -.3, .9, -.2}
	for _, c := range []struct {
		u    ops.Unary
		want []float64
	}{
		{ops.ReLU, []float64{.6, 0, .9, 0}},
		{ops.GELU, []float64{.43544812934995586, -.1146265733433142, .7343458871879165, -.0841480581121794}},
		{ops.GELUTanh, []float64{.43541519923081473, -.11462907645724074, .7342284887097207, -.08414857021789374}},
		{ops.SiLU, []float64{.3873937837354772, -.1276672449565023, .6398545523625035, -.09003320053750444}},
	} {
		long(t, c.u.Name, row(t, x, func(x *graph.Node) *graph.Node { return ops.Activate(x, c.u) }), c.want)
	}
}

// TestMinimaOfActivations: both smooth activations fall below 0 and come back.
func TestMinimaOfActivations(t *testing.T) {
	for _, c := range []struct {
		u         ops.Unary
		at, value float64
	}{{ops.SiLU, -1.2784, -.2784645}, {ops.GELU, -.7518, -.1699712}} {
		low, high := -3.0, -.1 // the derivative has one zero in between
		for range 60 {
			if mid := (low + high) / 2; c.u.D(mid) < 0 {
				low = mid
			} else {
				high = mid
			}
		}
		if math.Abs(low-c.at) > 1e-4 || math.Abs(c.u.F(low)-c.value) > 5e-8 {
			t.Errorf("%s is lowest at %v, %v; want %v, %v", c.u.Name, low, c.u.F(low), c.at, c.value)
		}
	}
}
