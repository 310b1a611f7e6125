package kernel

import (
	"fmt"
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
	CrossEntropyGrad(d, logits, nll, lse, targets, rows, v, ignored, 0.5)
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
			CrossEntropyGrad(d, logits, nll, lse, targets, rows, v, ignored, 0.25)
			CrossEntropyGrad(wd, widen(logits), wn, wl, targets, rows, v, ignored, 0.25)
			near(t, "nll", nll, wn, 1e-6, 2e-6)
			near(t, "lse", lse, wl, 1e-6, 1e-6)
			near(t, "dlogits", d, wd, 4e-6, 1e-7)
			near(t, "sum", []float64{got}, []float64{want}, 1e-6, 4e-6)
			noAllocs(t, "cross-entropy", func() {
				CrossEntropy(nll, lse, logits, targets, rows, v, ignored)
				CrossEntropyGrad(d, logits, nll, lse, targets, rows, v, ignored, 0.25)
			})
			CrossEntropyGrad(logits, logits, nll, lse, targets, rows, v, ignored, 0.25)
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
		CrossEntropyGrad(d, logits, nll, lse, []int32{0, 0, 1}, 3, 2, ignored, 1)
		near(t, "dlogits", d, []float64{0, 0, 0, 0, .5, -.5}, 1e-6, 0)
	})
}

// TestCrossEntropyGradOfCertainTargets: beside a common part of 500, whose last digit is 3e-5, the
// gradient of a target that is nearly certain is as good as without: the rounding of 1 + Σ of the others.
func TestCrossEntropyGradOfCertainTargets(t *testing.T) {
	onEachPath(t, func(t *testing.T) {
		for _, gap := range []float64{5, 10, 12} {
			logits, target := []float32{500, 500 - float32(gap)}, []int32{0}
			nll, lse, d := make([]float32, 1), make([]float32, 1), make([]float32, 2)
			CrossEntropy(nll, lse, logits, target, 1, 2, ignored)
			CrossEntropyGrad(d, logits, nll, lse, target, 1, 2, ignored, 2)
			rest := math.Exp(-gap) / (1 + math.Exp(-gap)) // 1 - p
			near(t, "dlogits at the target", d[:1], []float64{-2 * rest}, 0, 2*1.2e-7)
			near(t, "dlogits beside it", d[1:], []float64{2 * rest}, 4e-5, 0)
		}
	})
}

// TestCrossEntropyByChunks: logits that come chunk by chunk give the bits that they give at once,
// however the largest and the targets lie.
func TestCrossEntropyByChunks(t *testing.T) {
	onEachPath(t, byChunks[float32])
	byChunks[float64](t)
}

func byChunks[T Float](t *testing.T) {
	const rows, ld = 5, 7
	for _, v := range []int{1, 31, LossChunk - 1, LossChunk, LossChunk + 1, 3*LossChunk + 7} {
		logits, targets := normals[T](1, rows*v), []int32{0, int32(v - 1), ignored, int32(v / 2), int32(v / 3)}
		for r := range rows {
			logits[r*v+r*v/rows] += T(3 * r) // the largest, in any chunk
		}
		want, lse, got, picked := make([]T, rows), make([]T, rows), make([]T, rows), make([]T, rows)
		CrossEntropy(want, lse, logits, targets, rows, v, ignored)
		chunks := (v + LossChunk - 1) / LossChunk
		most, sum := make([]T, chunks*ld), make([]T, chunks*ld)
		for i := chunks - 1; i >= 0; i-- {
			c0 := i * LossChunk
			n := min(LossChunk, v-c0)
			z := make([]T, rows*n)
			for r := range rows {
				copy(z[r*n:(r+1)*n], logits[r*v+c0:])
			}
			CrossEntropyChunk(most[i*ld:], sum[i*ld:], picked, z, targets, rows, n, c0)
		}
		CrossEntropyOfChunks(got, most, sum, picked, targets, rows, v, ld, ignored)
		same(t, "nll", got, want)
		exact := make([]float64, rows)
		for r, y := range targets {
			if y != ignored {
				exact[r] = -math.Log(softmaxOf(widen(logits[r*v:(r+1)*v]), nil)[y])
			}
		}
		near(t, "nll", got, exact, 1e-6, 1e-5)
	}
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

// TestCrossEntropyNaNInAnyChunk: a NaN is not lost among the maxima.
func TestCrossEntropyNaNInAnyChunk(t *testing.T) {
	onEachPath(t, func(t *testing.T) {
		const v = 2*LossChunk + 5
		for _, at := range []int{0, LossChunk, v - 1} {
			logits := normals[float32](1, v)
			logits[at] = float32(math.NaN())
			nll, lse := make([]float32, 1), make([]float32, 1)
			if sum := CrossEntropy(nll, lse, logits, []int32{3}, 1, v, ignored); sum == sum || nll[0] == nll[0] || lse[0] == lse[0] {
				t.Errorf("a NaN in column %d gives a loss of %v", at, sum)
			}
		}
	})
}

func TestCrossEntropyRefusesTargets(t *testing.T) {
	x := make([]float32, 8)
	for name, f := range map[string]func(){
		"at once":            func() { CrossEntropy(x[:1], x[:1], x, []int32{4}, 1, 3, ignored) },
		"in chunks":          func() { CrossEntropyOfChunks(x, x, x, x, []int32{4}, 1, 3, 1, ignored) },
		"in chunks, below 0": func() { CrossEntropyOfChunks(x, x, x, x, []int32{-1}, 1, 3, 1, ignored) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s, a target of no class did not panic", name)
				}
			}()
			f()
		}()
	}
}

func BenchmarkCrossEntropy(b *testing.B) {
	for _, v := range []int{256, 8192, 50257} {
		b.Run(fmt.Sprint(v, " classes"), func(b *testing.B) { benchCrossEntropy(b, 1<<13/min(v, 1<<13), v) })
	}
}

func benchCrossEntropy(b *testing.B, rows, v int) {
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
			CrossEntropyGrad(d, logits, nll, lse, targets, rows, v, ignored, 1)
		}
		elementsPerNs(b, rows*v)
	})
}
