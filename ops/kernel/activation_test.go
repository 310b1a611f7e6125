package kernel

import (
	"math"
	"testing"
)

// activations is every activation with its formula, in the plainest form that is right for moderate x.
var activations = []struct {
	name       string
	f64        func(y, x []float64)
	f32        func(y, x []float32)
	grad64     func(dx, dy, x []float64)
	grad32     func(dx, dy, x []float32)
	formula    func(x float64) float64
	left, grow float64 // limit for x → -∞, and the power of x for x → ∞
}{
	{"relu", ReLU[float64], ReLU[float32], ReLUGrad[float64], ReLUGrad[float32],
		func(x float64) float64 { return math.Max(x, 0) }, 0, 1},
	{"relu2", ReLU2[float64], ReLU2[float32], ReLU2Grad[float64], ReLU2Grad[float32],
		func(x float64) float64 { return math.Pow(math.Max(x, 0), 2) }, 0, 2},
	{"sigmoid", Sigmoid[float64], Sigmoid[float32], SigmoidGrad[float64], SigmoidGrad[float32],
		func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }, 0, 0},
	{"tanh", Tanh[float64], Tanh[float32], TanhGrad[float64], TanhGrad[float32], math.Tanh, -1, 0},
	{"silu", SiLU[float64], SiLU[float32], SiLUGrad[float64], SiLUGrad[float32],
		func(x float64) float64 { return x / (1 + math.Exp(-x)) }, 0, 1},
	{"gelu_sigmoid", GELUSigmoid[float64], GELUSigmoid[float32], GELUSigmoidGrad[float64], GELUSigmoidGrad[float32],
		func(x float64) float64 { return x / (1 + math.Exp(-1.702*x)) }, 0, 1},
	{"gelu", GELU[float64], GELU[float32], GELUGrad[float64], GELUGrad[float32],
		func(x float64) float64 { return x / 2 * (1 + math.Erf(x/math.Sqrt2)) }, 0, 1},
	{"gelu_tanh", GELUTanh[float64], GELUTanh[float32], GELUTanhGrad[float64], GELUTanhGrad[float32],
		func(x float64) float64 { return x / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x))) }, 0, 1},
	{"identity", Identity[float64], Identity[float32], IdentityGrad[float64], IdentityGrad[float32],
		func(x float64) float64 { return x }, math.Inf(-1), 1},
}

func TestActivationFormulas(t *testing.T) {
	x := append([]float64{-6, -3, -1, -0.1, 1e-3, 0.2, 1, 2.5, 5}, normals[float64](1, 40)...)
	for _, a := range activations {
		t.Run(a.name, func(t *testing.T) {
			want := make([]float64, len(x))
			for i, v := range x {
				want[i] = a.formula(v)
			}
			y := make([]float64, len(x))
			a.f64(y, x)
			near(t, "y", y, want, 1e-12, 1e-14)

			dy, dx := normals[float64](2, len(x)), make([]float64, len(x))
			a.grad64(dx, dy, x)
			slope(t, "dx", x, dx, func() float64 {
				a.f64(y, x)
				return weighted(y, dy)
			})
		})
	}
}

// Known values, printed by other programs: the worked examples of the literature.
func TestActivationValues(t *testing.T) {
	x := []float64{.6, -.3, .9, -.2}
	y := make([]float64, 4)
	GELU(y, x)
	near(t, "gelu", y, []float64{.43544812934995586, -.1146265733433142, .7343458871879165, -.0841480581121794}, 1e-14, 0)
	GELUTanh(y, x)
	near(t, "gelu_tanh", y, []float64{.43541519923081473, -.11462907645724074, .7342284887097207, -.08414857021789374}, 1e-14, 0)
	SiLU(y, x)
	near(t, "silu", y, []float64{.3873937837354772, -.1276672449565023, .6398545523625035, -.09003320053750444}, 1e-14, 0)
}

func TestActivationExtremes(t *testing.T) {
	big := []float64{-1e30, -1e10, -700, -100, -40, 0, 40, 100, 700, 1e10, 1e15}
	onEachPath(t, func(t *testing.T) {
		for _, a := range activations {
			x := narrow(big)
			y, dx := make([]float32, len(x)), make([]float32, len(x))
			dy := make([]float32, len(x))
			Fill(dy, 1)
			a.f32(y, x)
			a.grad32(dx, dy, x)
			if !AllFinite(y) || !AllFinite(dx) {
				t.Errorf("%s: f = %v, f' = %v", a.name, y, dx)
			}
			if a.name == "identity" {
				continue
			}
			near(t, a.name+" left", y[:4], []float64{a.left, a.left, a.left, a.left}, 0, 1e-30)
			near(t, a.name+" right", y[6:], []float64{math.Pow(40, a.grow), math.Pow(100, a.grow), math.Pow(700, a.grow),
				math.Pow(1e10, a.grow), math.Pow(1e15, a.grow)}, 1e-6, 0)
			if a.name == "relu" && (y[5] != 0 || dx[5] != 0) {
				t.Errorf("relu at 0: f = %v, f' = %v, want 0, 0", y[5], dx[5])
			}
		}
	})
}

// A number that is lost must stay visible.
func TestActivationNaN(t *testing.T) {
	nan := float32(math.NaN())
	onEachPath(t, func(t *testing.T) {
		for _, a := range activations {
			y := make([]float32, 20)
			x := make([]float32, 20)
			x[3], x[18] = nan, nan
			a.f32(y, x)
			if y[3] == y[3] || y[18] == y[18] {
				t.Errorf("%s(NaN) = %v, %v", a.name, y[3], y[18])
			}
		}
	})
}

func TestActivationFloat32(t *testing.T) {
	onEachPath(t, func(t *testing.T) {
		for _, a := range activations {
			for _, n := range ragged {
				x, dy := normals[float32](uint64(n), n), normals[float32](7, n)
				for i := range x {
					x[i] *= []float32{1, 3, 10, .01}[i%4]
				}
				y, dx := make([]float32, n), make([]float32, n)
				wantY, wantDX := make([]float64, n), make([]float64, n)
				a.f32(y, x)
				a.grad32(dx, dy, x)
				a.f64(wantY, widen(x))
				a.grad64(wantDX, widen(dy), widen(x))
				near(t, a.name, y, wantY, 1e-6, 3e-7)
				near(t, a.name+" grad", dx, wantDX, 1e-6, 2e-6)
				if n == 100 {
					half := make([]float32, n)
					a.f32(half[:37], x[:37])
					a.f32(half[37:], x[37:])
					same(t, a.name+" in two parts", half, y)
					a.grad32(half[:37], dy[:37], x[:37])
					a.grad32(half[37:], dy[37:], x[37:])
					same(t, a.name+" grad in two parts", half, dx)
					noAllocs(t, a.name, func() { a.f32(y, x); a.grad32(dx, dy, x) })
				}
			}
		}
	})
}

// The float32 versions against float64 over the range where they bend: absolute errors below 3e-7, in
// units in the last place of results above 1.
func TestActivationSweep(t *testing.T) {
	const n = 1 << 15
	x, y, dy := make([]float32, n), make([]float32, n), make([]float32, n)
	for i := range x {
		x[i] = 24*float32(i)/n - 12
	}
	Fill(dy, 1)
	wx, wdy, want := widen(x), widen(dy), make([]float64, n)
	onEachPath(t, func(t *testing.T) {
		for _, a := range activations {
			a.f32(y, x)
			a.f64(want, wx)
			near(t, a.name, y, want, 2.5e-7, 1.5e-7)
			a.grad32(y, dy, x)
			a.grad64(want, wdy, wx)
			near(t, a.name+" grad", y, want, 2e-7, 4e-7)
		}
	})
}

// boths is every activation that comes with its gradient in one call.
var boths = map[string]func(y, dx, dy, x []float32){
	"silu": SiLUBoth[float32], "gelu": GELUBoth[float32], "gelu_tanh": GELUTanhBoth[float32], "gelu_sigmoid": GELUSigmoidBoth[float32],
}

// Both at once are what they are one by one, to the bit, wherever the results stand.
func TestActivationBoth(t *testing.T) {
	onEachPath(t, func(t *testing.T) {
		compared := 0
		for _, a := range activations {
			both := boths[a.name]
			if both == nil {
				continue
			}
			compared++
			for _, n := range ragged {
				x, dy := normals[float32](uint64(n), n), normals[float32](7, n)
				for i := range x {
					x[i] *= []float32{1, 4, 100, 1e30}[i%4]
				}
				wantY, wantDX, y, dx := make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, n)
				a.f32(wantY, x)
				a.grad32(wantDX, dy, x)
				both(y, dx, dy, x)
				same(t, a.name, y, wantY)
				same(t, a.name+" grad", dx, wantDX)
				both(x, dy, dy, x)
				same(t, a.name+" in place", x, wantY)
				same(t, a.name+" grad in place", dy, wantDX)
			}
		}
		if compared != len(boths) {
			t.Errorf("%d of %d are in the table of activations", compared, len(boths))
		}
	})
}

func BenchmarkActivations(b *testing.B) {
	const n = 4096
	x, dy, y := normals[float32](1, n), normals[float32](2, n), make([]float32, n)
	for _, a := range activations {
		b.Run(a.name, func(b *testing.B) {
			for b.Loop() {
				a.f32(y, x)
			}
			elementsPerNs(b, n)
		})
		b.Run(a.name+"_grad", func(b *testing.B) {
			for b.Loop() {
				a.grad32(y, dy, x)
			}
			elementsPerNs(b, n)
		})
		if both := boths[a.name]; both != nil {
			dx := make([]float32, n)
			b.Run(a.name+"_both", func(b *testing.B) {
				for b.Loop() {
					both(y, dx, dy, x)
				}
				elementsPerNs(b, n)
			})
		}
	}
}
