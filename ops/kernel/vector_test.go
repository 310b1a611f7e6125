package kernel

import (
	"math"
	"testing"
)

func TestElementwise(t *testing.T) {
	for _, f := range []struct {
		name string
		run  func(dst, a, b []float32)
		want func(dst, a, b float64) float64
	}{
		{"Add", Add[float32], func(_, a, b float64) float64 { return a + b }},
		{"Sub", Sub[float32], func(_, a, b float64) float64 { return a - b }},
		{"Mul", Mul[float32], func(_, a, b float64) float64 { return a * b }},
		{"MulAdd", MulAdd[float32], func(d, a, b float64) float64 { return d + a*b }},
		{"Scale", func(d, a, _ []float32) { Scale(d, a, 1.5) }, func(_, a, _ float64) float64 { return 1.5 * a }},
		{"AXPY", func(d, a, _ []float32) { AXPY(d, -0.25, a) }, func(d, a, _ float64) float64 { return d - 0.25*a }},
		{"Fill", func(d, _, _ []float32) { Fill(d, 3) }, func(_, _, _ float64) float64 { return 3 }},
	} {
		onEachPath(t, func(t *testing.T) {
			for _, n := range ragged {
				dst, a, b := normals[float32](1, n+3), normals[float32](2, n), normals[float32](3, n)
				want := widen(dst)
				for i := range n {
					want[i] = f.want(want[i], float64(a[i]), float64(b[i]))
				}
				f.run(dst[:n], a, b)
				near(t, f.name, dst, want, 1e-6, 1e-6)
				noAllocs(t, f.name, func() { f.run(dst[:n], a, b) })
			}
		})
	}
}

func TestRowVectors(t *testing.T) {
	onEachPath(t, func(t *testing.T) {
		const rows = 6
		for _, d := range ragged {
			x, z, w := normals[float32](1, rows*d), normals[float32](2, rows*d), normals[float32](3, d)
			sums, dots := make([]float64, d), make([]float64, d)
			added, times := make([]float64, rows*d), make([]float64, rows*d)
			for i := range x {
				added[i], times[i] = float64(x[i])+float64(w[i%d]), float64(x[i])*float64(w[i%d])
				sums[i%d] += float64(x[i])
				dots[i%d] += float64(x[i]) * float64(z[i])
			}
			y := make([]float32, rows*d)
			AddRow(y, x, w, rows, d)
			near(t, "AddRow", y, added, 1e-6, 1e-6)
			MulRow(y, x, w, rows, d)
			near(t, "MulRow", y, times, 1e-6, 1e-6)

			got := normals[float32](5, d)
			ColSum(got, x, rows, d, d, false)
			near(t, "ColSum", got, sums, 1e-6, 1e-6)
			got2 := make([]float32, d)
			ColSum(got2, x, 2, d, d, true)
			ColSum(got2, x[2*d:], rows-2, d, d, true)
			same(t, "ColSum in two parts", got2, got)
			if d > 4 {
				ColSum(got2[1:4], x[1:], rows, 3, d, false)
				same(t, "ColSum of a range of columns", got2, got)
			}
			ColDot(got, x, z, rows, d, d, d, false)
			near(t, "ColDot", got, dots, 1e-6, 1e-6)
			clear(got2)
			ColDot(got2, x, z, 3, d, d, d, true)
			ColDot(got2, x[3*d:], z[3*d:], rows-3, d, d, d, true)
			same(t, "ColDot in two parts", got2, got)
		}
	})
}

func TestReductions(t *testing.T) {
	var first []float64
	onEachPath(t, func(t *testing.T) {
		var got []float64
		for _, n := range ragged {
			x, y := normals[float32](uint64(n), n), normals[float32](9, n)
			var s, sq, d float64
			for i, v := range x {
				s += float64(v)
				sq += float64(v) * float64(v)
				d += float64(v) * float64(y[i])
			}
			got = append(got, Sum(x), SumSquares(x), Dot(x, y))
			near(t, "Sum, SumSquares, Dot", got[len(got)-3:], []float64{s, sq, d}, 1e-13, 1e-13)
		}
		if first == nil {
			first = got
		}
		same(t, "reductions on all paths", got, first)
	})
	if s := SumSquares([]float32{3e38, 3e38}); math.IsInf(s, 0) {
		t.Error("SumSquares overflows float32")
	}
}

// TestSumSquaresRows: rows with gaps, and without, of any width; what lies in the gaps is not read.
func TestSumSquaresRows(t *testing.T) {
	var first []float64
	onEachPath(t, func(t *testing.T) {
		var got []float64
		for _, cols := range append([]int{0}, ragged...) {
			for _, gap := range []int{0, 3} {
				const rows = 5
				x, want := normals[float32](uint64(cols), rows*(cols+gap)), 0.0
				for i := range x {
					if col := i % (cols + gap); col >= cols {
						x[i] = float32(math.NaN())
					} else {
						want += float64(x[i]) * float64(x[i])
					}
				}
				got = append(got, SumSquaresRows(x, rows, cols, cols+gap))
				near(t, "Σx² of rows", got[len(got)-1:], []float64{want}, 1e-13, 0)
			}
		}
		if first == nil {
			first = got
		}
		same(t, "Σx² of rows on all paths", got, first)
	})
}

// TestSumSquaresNarrow: the sum has a float32's precision, whatever the size of the elements and wherever a run of
// them ends, also where all are equal and their roundings go one way; a number that is not finite shows.
func TestSumSquaresNarrow(t *testing.T) {
	onEachPath(t, func(t *testing.T) {
		for _, n := range append([]int{64, narrowRun, narrowRun + 64, 2*narrowRun + 100}, ragged...) {
			for _, size := range []float32{1, 0, 1e-44, 1e-30, 1e-13, 1e18, 1e37} {
				x := normals[float32](uint64(n), n)
				for i := range x {
					x[i] *= size
				}
				near(t, "Σx²", []float64{SumSquaresNarrow(x)}, []float64{SumSquares(x)}, 1e-6, 0)
				Fill(x, float64(size)/3)
				near(t, "Σx² of equal elements", []float64{SumSquaresNarrow(x)}, []float64{SumSquares(x)}, 130*0x1p-24, 0)
			}
		}
		x := normals[float64](3, 100)
		same(t, "Σx² of float64", []float64{SumSquaresNarrow(x)}, []float64{SumSquares(x)})
		for _, at := range []int{0, 63, 64, narrowRun - 1, narrowRun + 70} {
			y := normals[float32](1, narrowRun+71)
			y[at] = float32(math.NaN())
			if s := SumSquaresNarrow(y); s == s {
				t.Errorf("Σx² = %v with a NaN at %d", s, at)
			}
			y[at] = float32(math.Inf(-1))
			if s := SumSquaresNarrow(y); !math.IsInf(s, 1) {
				t.Errorf("Σx² = %v with -Inf at %d", s, at)
			}
		}
	})
}

func TestMaxAndAllFinite(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	onEachPath(t, func(t *testing.T) {
		for _, n := range ragged[1:] {
			x := normals[float32](1, n)
			for i := range x {
				old := x[i]
				x[i] = 100
				if Max(x) != 100 || !AllFinite(x) {
					t.Fatalf("n=%d: Max = %v, AllFinite = %v", n, Max(x), AllFinite(x))
				}
				for _, bad := range []float32{nan, inf, -inf} {
					x[i] = bad
					if AllFinite(x) {
						t.Fatalf("n=%d: AllFinite misses %v at %d", n, bad, i)
					}
				}
				x[i] = nan
				if m := Max(x); m == m {
					t.Fatalf("n=%d: Max = %v with a NaN at %d", n, m, i)
				}
				x[i] = old
			}
		}
		if !math.IsInf(float64(Max[float32](nil)), -1) || !AllFinite[float32](nil) {
			t.Error("nothing is finite and has maximum -Inf")
		}
	})
}

func BenchmarkVector(b *testing.B) {
	const rows, d = 64, 64
	x, y, z, s := normals[float32](1, rows*d), normals[float32](2, rows*d), make([]float32, rows*d), make([]float32, d)
	for _, f := range []struct {
		name string
		run  func()
	}{
		{"Add", func() { Add(z, x, y) }},
		{"AXPY", func() { AXPY(z, 1e-9, y) }},
		{"ColSum", func() { ColSum(s, x, rows, d, d, false) }},
		{"ColDot", func() { ColDot(s, x, y, rows, d, d, d, false) }},
		{"SumSquares", func() { _ = SumSquares(x) }},
		{"SumSquaresNarrow", func() { _ = SumSquaresNarrow(x) }},
		{"AllFinite", func() { _ = AllFinite(x) }},
		{"Dropout", func() { Dropout(z, x, .1, [2]uint64{1, 2}, 0) }},
	} {
		b.Run(f.name, func(b *testing.B) {
			for b.Loop() {
				f.run()
			}
			elementsPerNs(b, rows*d)
		})
	}
}
