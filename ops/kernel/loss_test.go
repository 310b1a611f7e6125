package kernel

import (
	"math"
	"testing"
)

const ignored = -100

func TestCrossEntropy(t *testing.T) {
	const rows, v = 4, 7
	logits, targets := normals[float64](1, rows*v), []int32{3, ignored, 0, 6}
	for i := range v {
		logits[i] += 500 // a constant does not matter
	}
	nll, lse, d := make([]float64, rows), make([]float64, rows), make([]float64, rows*v)
	total := CrossEntropy(nll, lse, logits, targets, rows, v, ignored)
	want := 0.
	for r, y := range targets {
		n := 0.
		if y != ignored {
			n = -math.Log(softmaxOf(logits[r*v:(r+1)*v], nil)[y])
		}
		near(t, "nll", nll[r:r+1], []float64{n}, 1e-12, 1e-12)
		want += nll[r]
	}
	if total != want {
		t.Errorf("sum = %v, want %v", total, want)
	}
	CrossEntropyGrad(d, logits, lse, targets, rows, v, ignored, 0.5)
	slope(t, "dlogits", logits, d, func() float64 { return 0.5 * CrossEntropy(nll, lse, logits, targets, rows, v, ignored) })
}

func TestCrossEntropyFloat32(t *testing.T) {
	onEachPath(t, func(t *testing.T) {
		const rows = 5
		for _, v := range ragged[1:] {
			logits := normals[float32](1, rows*v)
			for i := range logits {
				logits[i] *= 4
			}
			targets := []int32{0, int32(v - 1), ignored, int32(v / 2), 0}
			nll, lse, d := make([]float32, rows), make([]float32, rows), make([]float32, rows*v)
			wn, wl, wd := make([]float64, rows), make([]float64, rows), make([]float64, rows*v)
			got := CrossEntropy(nll, lse, logits, targets, rows, v, ignored)
			want := CrossEntropy(wn, wl, widen(logits), targets, rows, v, ignored)
			CrossEntropyGrad(d, logits, lse, targets, rows, v, ignored, 0.25)
			CrossEntropyGrad(wd, widen(logits), wl, targets, rows, v, ignored, 0.25)
			near(t, "nll", nll, wn, 1e-6, 2e-6)
			near(t, "lse", lse, wl, 1e-6, 1e-6)
			near(t, "dlogits", d, wd, 4e-6, 1e-7)
			near(t, "sum", []float64{got}, []float64{want}, 1e-6, 4e-6)
			noAllocs(t, "cross-entropy", func() {
				CrossEntropy(nll, lse, logits, targets, rows, v, ignored)
				CrossEntropyGrad(d, logits, lse, targets, rows, v, ignored, 0.25)
			})
			CrossEntropyGrad(logits, logits, lse, targets, rows, v, ignored, 0.25)
			same(t, "dlogits in place", logits, d)
		}
	})
}

func TestCrossEntropyExtremes(t *testing.T) {
	onEachPath(t, func(t *testing.T) {
		logits := []float32{1e5, -1e5, 3e38, -3e38, 0, 0}
		nll, lse, d := make([]float32, 3), make([]float32, 3), make([]float32, 6)
		CrossEntropy(nll, lse, logits, []int32{0, 0, 1}, 3, 2, ignored)
		near(t, "nll", nll, []float64{0, 0, math.Ln2}, 1e-6, 0)
		CrossEntropyGrad(d, logits, lse, []int32{0, 0, 1}, 3, 2, ignored, 1)
		near(t, "dlogits", d, []float64{0, 0, 0, 0, .5, -.5}, 1e-6, 0)
	})
}

func TestCrossEntropyNaN(t *testing.T) {
	onEachPath(t, func(t *testing.T) {
		logits := normals[float32](1, 40)
		logits[35] = float32(math.NaN())
		nll, lse := make([]float32, 1), make([]float32, 1)
		if sum := CrossEntropy(nll, lse, logits, []int32{3}, 1, 40, ignored); sum == sum || nll[0] == nll[0] {
			t.Errorf("a NaN among the logits gives a loss of %v", sum)
		}
	})
}

func TestCrossEntropyRefusesTargets(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("target 4 of 3 classes did not panic")
		}
	}()
	CrossEntropy(make([]float32, 1), make([]float32, 1), make([]float32, 8), []int32{4}, 1, 3, ignored)
}

func BenchmarkCrossEntropy(b *testing.B) {
	const rows, v = 32, 256
	logits, d := normals[float32](1, rows*v), make([]float32, rows*v)
	nll, lse, targets := make([]float32, rows), make([]float32, rows), make([]int32, rows)
	b.Run("forward", func(b *testing.B) {
		for b.Loop() {
			CrossEntropy(nll, lse, logits, targets, rows, v, ignored)
		}
		elementsPerNs(b, rows*v)
	})
	b.Run("grad", func(b *testing.B) {
		for b.Loop() {
			CrossEntropyGrad(d, logits, lse, targets, rows, v, ignored, 1)
		}
		elementsPerNs(b, rows*v)
	})
}
