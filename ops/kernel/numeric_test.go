package kernel

import (
	"math"
	"math/rand/v2"
	"testing"
)

// normals returns n values of the standard normal distribution, the same for the same seed.
func normals[T Float](seed uint64, n int) []T {
	r := rand.New(rand.NewPCG(seed, 1))
	x := make([]T, n)
	for i := range x {
		x[i] = T(r.NormFloat64())
	}
	return x
}

// widen converts to float64.
func widen[T Float](x []T) []float64 {
	if x == nil {
		return nil
	}
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// narrow converts to float32.
func narrow(x []float64) []float32 {
	if x == nil {
		return nil
	}
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}

// near fails unless |got - want| <= abs + rel·|want| everywhere.
func near[A, B Float](t *testing.T, what string, got []A, want []B, rel, abs float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for i := range got {
		g, w := float64(got[i]), float64(want[i])
		if !(math.Abs(g-w) <= abs+rel*math.Abs(w)) {
			t.Fatalf("%s[%d] = %v, want %v", what, i, g, w)
		}
	}
}

// same fails unless both hold the same bits.
func same[T Float](t *testing.T, what string, got, want []T) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for i := range got {
		if math.Float64bits(float64(got[i])) != math.Float64bits(float64(want[i])) {
			t.Fatalf("%s[%d] = %v, want exactly %v", what, i, got[i], want[i])
		}
	}
}

// slope compares grad, the gradient of loss with respect to x, with central differences.
func slope(t *testing.T, what string, x, grad []float64, loss func() float64) {
	t.Helper()
	const h = 1e-5
	want := make([]float64, len(x))
	for i, v := range x {
		x[i] = v + h
		up := loss()
		x[i] = v - h
		down := loss()
		x[i] = v
		want[i] = (up - down) / (2 * h)
	}
	near(t, what, grad, want, 1e-7, 1e-7)
}

// weighted is Σ a·b in float64, the loss of the gradient checks.
func weighted(a, b []float64) float64 {
	var s float64
	for i := range a {
		s += a[i] * b[i]
	}
	return s
}

// onEachPath runs f once on every instruction set of this machine.
func onEachPath(t *testing.T, f func(t *testing.T)) {
	for _, name := range Paths() {
		t.Run(name, func(t *testing.T) {
			restore, err := ForcePath(name)
			if err != nil {
				t.Fatal(err)
			}
			defer restore()
			f(t)
		})
	}
}

// noAllocs fails if f allocates. Under the race detector it says nothing: pools lose memory on purpose then.
func noAllocs(t *testing.T, what string, f func()) {
	t.Helper()
	if raceEnabled {
		return
	}
	if n := testing.AllocsPerRun(5, f); n != 0 {
		t.Errorf("%s allocates %v times a call", what, n)
	}
}

// ragged are lengths around the widths of vectors and blocks.
var ragged = []int{0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 63, 64, 65, 100, 127, 129, 256, 257}

// elementsPerNs reports the speed of a benchmark whose pass handles n elements.
func elementsPerNs(b *testing.B, n int) {
	b.ReportMetric(float64(n)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "elements/ns")
	b.ReportMetric(0, "ns/op")
}
