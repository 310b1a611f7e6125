package kernel

import (
	"math"
	"slices"
	"testing"
)

// adamStep is step t of learning rate lr, with the usual constants.
func adamStep(t int, lr, decay, clip float64) AdamWStep {
	return AdamWStep{Clip: clip, Beta1: .9, Beta2: .99, Rate: lr / (1 - math.Pow(.9, float64(t))),
		RSqrtC2: 1 / math.Sqrt(1-math.Pow(.99, float64(t))), Eps: 1e-8, Decay: lr * decay}
}

func TestAdamW(t *testing.T) {
	const n, lr, decay, clip = 6, 0.01, 0.1, 0.5
	p, m, v := normals[float64](1, n), make([]float64, n), make([]float64, n)
	want, wm, wv := append([]float64(nil), p...), make([]float64, n), make([]float64, n)
	for step := 1; step <= 4; step++ {
		g := normals[float64](uint64(step+10), n)
		h := adamStep(step, lr, decay, clip)
		AdamW(p, g, m, v, &h)
		for i := range want {
			gi := clip * g[i]
			wm[i] = .9*wm[i] + (1-.9)*gi
			wv[i] = .99*wv[i] + (1-.99)*gi*gi
			want[i] -= lr * decay * want[i]
			mh, vh := wm[i]/(1-math.Pow(.9, float64(step))), wv[i]/(1-math.Pow(.99, float64(step)))
			want[i] -= lr * mh / (math.Sqrt(vh) + 1e-8)
		}
	}
	near(t, "p", p, want, 1e-12, 1e-14)
	near(t, "m", m, wm, 1e-12, 1e-15)
	near(t, "v", v, wv, 1e-12, 1e-15)
}

func TestAdamWFloat32(t *testing.T) {
	onEachPath(t, func(t *testing.T) {
		for _, n := range ragged {
			p, m, v := normals[float32](1, n), make([]float32, n), make([]float32, n)
			wp, wm, wv := widen(p), make([]float64, n), make([]float64, n)
			for step := 1; step <= 3; step++ {
				g := normals[float32](uint64(step), n)
				if n > 2 {
					g[1] = 0 // a parameter that no token touched
				}
				h := adamStep(step, 1e-3, .1, .7)
				AdamW(p, g, m, v, &h)
				AdamW(wp, widen(g), wm, wv, &h)
				noAllocs(t, "AdamW", func() { AdamW(p[:0], g, m, v, &h) })
			}
			near(t, "p", p, wp, 1e-6, 1e-6)
			near(t, "m", m, wm, 1e-5, 1e-7)
			near(t, "v", v, wv, 1e-5, 1e-8)
		}
	})
}

// TestAdamWMeasured: a step that is measured changes the same bytes as one that is not, and its sums are those of
// the squares, also where these are no numbers of float32.
func TestAdamWMeasured(t *testing.T) {
	onEachPath(t, func(t *testing.T) {
		for _, n := range append([]int{0, 32, 64, measuredRun, 4096 + 17}, ragged...) {
			for _, scale := range []float64{1, 0, 1e-30, 1e30} {
				measuredStep[float32](t, n, scale)
				measuredStep[float64](t, n, scale)
			}
		}
	})
}

// TestAdamWMeasuresFaults: a number that is not finite is seen in the sums, and equal elements, whose roundings all
// go one way, are still measured to five digits.
func TestAdamWMeasuresFaults(t *testing.T) {
	onEachPath(t, func(t *testing.T) {
		for _, bad := range []float64{math.NaN(), math.Inf(1)} {
			for _, at := range []int{0, 40, measuredRun + 5} {
				p, g, m, v := normals[float32](1, measuredRun+40), normals[float32](2, measuredRun+40), normals[float32](3, measuredRun+40), make([]float32, measuredRun+40)
				p[at] = float32(bad)
				h := adamStep(3, 1e-2, 0, 1)
				if before, change := AdamWMeasured(p, g, m, v, &h); !math.IsNaN(before) && !math.IsInf(before, 1) || !math.IsNaN(change) {
					t.Errorf("%v at %d: sums %v and %v", bad, at, before, change)
				}
			}
		}
		for _, x := range []float32{0.1, 1. / 3, 0.7} {
			const n = 2 * measuredRun
			p, g, m, v := make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, n)
			for i := range p {
				p[i], g[i] = x, x
			}
			h := adamStep(1, 1e-3, 0, 1)
			before, change := AdamWMeasured(p, g, m, v, &h)
			d := float64(p[0] - x)
			near(t, "Σ p² of equal elements", []float64{before}, []float64{n * float64(x) * float64(x)}, 128*0x1p-24, 0)
			near(t, "Σ (Δp)² of equal elements", []float64{change}, []float64{n * d * d}, 128*0x1p-24, 0)
		}
	})
}

// measuredStep takes a step in which the parameters are of the size of scale, and their changes of 1e-2·scale.
func measuredStep[T Float](t *testing.T, n int, scale float64) {
	t.Helper()
	var p, m, v [2][]T
	for i := range 2 {
		p[i], m[i], v[i] = normals[T](1, n), normals[T](2, n), normals[T](3, n)
		Mul(v[i], v[i], v[i])
		for j := range p[i] {
			p[i][j] *= T(scale)
		}
	}
	g, h, old := normals[T](4, n), adamStep(3, 1e-2*scale, 0, .7), widen(p[0])
	AdamW(p[0], g, m[0], v[0], &h)
	var before, change float64
	noAllocs(t, "AdamWMeasured", func() { AdamWMeasured(p[1][:0], g, m[1], v[1], &h) })
	before, change = AdamWMeasured(p[1], g, m[1], v[1], &h)
	if !slices.Equal(p[0], p[1]) || !slices.Equal(m[0], m[1]) || !slices.Equal(v[0], v[1]) {
		t.Errorf("%d parameters: another update", n)
	}
	wantBefore, wantChange := 0.0, 0.0
	for i, now := range p[0] {
		d := float64(now - T(old[i]))
		wantBefore, wantChange = wantBefore+old[i]*old[i], wantChange+d*d
	}
	near(t, "Σ p²", []float64{before}, []float64{wantBefore}, 1e-6, 0)
	near(t, "Σ (Δp)²", []float64{change}, []float64{wantChange}, 1e-6, 0)
	if n > 0 && scale > 0 && !(change > 0) {
		t.Errorf("%d parameters of size %g: nothing has changed", n, scale)
	}
}

func TestSGD(t *testing.T) {
	for _, nesterov := range []bool{false, true} {
		h := SGDStep{Clip: 2, Momentum: .9, Rate: .1, Decay: .01, Nesterov: nesterov}
		p, u := []float64{1, -2}, []float64{.5, 0}
		SGD(p, []float64{.25, 1}, u, &h)
		near(t, "u", u, []float64{.95, 2}, 1e-15, 0)
		step := u
		if nesterov {
			step = []float64{.5 + .9*.95, 2 + .9*2}
		}
		near(t, "p", p, []float64{.99 - .1*step[0], -1.98 - .1*step[1]}, 1e-15, 0)
	}
}

func BenchmarkAdamW(b *testing.B) { benchmarkAdamW(b, AdamW[float32]) }

func BenchmarkAdamWMeasured(b *testing.B) {
	benchmarkAdamW(b, func(p, g, m, v []float32, h *AdamWStep) { AdamWMeasured(p, g, m, v, h) })
}

func benchmarkAdamW(b *testing.B, update func(p, g, m, v []float32, h *AdamWStep)) {
	const n = 4096
	p, g, m, v := normals[float32](1, n), normals[float32](2, n), make([]float32, n), make([]float32, n)
	h := adamStep(1, 1e-6, .1, 1)
	for b.Loop() {
		update(p, g, m, v, &h)
	}
	elementsPerNs(b, n)
}
