package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestMulCrowded has leading dimensions that make rows share cache sets, where operands are copied.
func TestMulCrowded(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(3, 4))
		for _, form := range forms {
			for _, s := range [][3]int{{100, 70, 40}, {30, 200, 512}, {200, 65, 33}, {220, 35, 600}} {
				p := newProblem[float32](r, form, s[0], s[1], s[2], 0)
				widen := func(x []float32, ld *int) []float32 {
					rows, old := (len(x)+*ld-1) / *ld, *ld
					*ld = (old + 1023) / 1024 * 1024
					y := make([]float32, (rows-1)**ld+old)
					for i := range rows {
						copy(y[i**ld:i**ld+old], x[i*old:])
					}
					return y
				}
				p.a, p.b = widen(p.a, &p.lda), widen(p.b, &p.ldb)
				p.check(t)
			}
		}
	})
}

// TestMulAddendIsC adds C through the addend; the sum over k has several blocks.
func TestMulAddendIsC(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(5, 6))
		p := newProblem[float32](r, "Packed", 30, 50, 1200, 3)
		acc := slices.Clone(p.c)
		p.e.Acc = true
		p.mul(acc, 0, p.m, 0, p.n)
		same := slices.Clone(p.c)
		p.e = Epilogue[float32]{Addend: same, LdAddend: p.ldc}
		p.mul(same, 0, p.m, 0, p.n)
		if !slices.Equal(acc, same) {
			t.Error("C + A·B differs between Acc and an addend that is C")
		}
	})
}

// TestMulSplit cuts products at random rows and columns: the bytes must stay the same.
func TestMulSplit(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(7, 8))
		for range 40 {
			for _, form := range forms {
				p := newProblem[float32](r, form, 1+r.IntN(150), 1+r.IntN(150), 1+r.IntN(1100), r.IntN(4))
				p.e.Acc = r.IntN(2) == 0
				if epilogues(form) && r.IntN(2) == 0 {
					p.e.Bias = randoms[float32](r, p.n)
				}
				if epilogues(form) && r.IntN(2) == 0 {
					p.e.Addend, p.e.LdAddend = randoms[float32](r, p.m*p.n), p.n
				}
				whole, parts := slices.Clone(p.c), slices.Clone(p.c)
				p.mul(whole, 0, p.m, 0, p.n)
				i, j := r.IntN(p.m+1), r.IntN(p.n+1)
				if form == "Packed" {
					j &^= PanelWidth - 1
				}
				for _, rows := range [][2]int{{0, i}, {i, p.m}} {
					for _, cols := range [][2]int{{0, j}, {j, p.n}} {
						p.mul(parts, rows[0], rows[1], cols[0], cols[1])
					}
				}
				if !slices.Equal(whole, parts) {
					t.Fatalf("%v: split at row %d, column %d changes the result", p, i, j)
				}
			}
		}
	})
}

// TestMulVectorPathsAgree holds AVX2 to the bytes of AVX-512: both add in the same order, but for dot
// products, whose partial sums are as many as a vector has lanes.
func TestMulVectorPathsAgree(t *testing.T) {
	if best < pathAVX512 {
		t.Skip("needs AVX-512")
	}
	r := rand.New(rand.NewPCG(9, 10))
	for _, form := range forms {
		if form == "Dots" {
			continue
		}
		p := newProblem[float32](r, form, 70, 81, 1300, 2)
		wide, narrow := slices.Clone(p.c), slices.Clone(p.c)
		restore := usePath(pathAVX512)
		p.mul(wide, 0, p.m, 0, p.n)
		usePath(pathAVX2)
		p.mul(narrow, 0, p.m, 0, p.n)
		restore()
		if !slices.Equal(wide, narrow) {
			t.Errorf("%v: AVX2 and AVX-512 differ", p)
		}
	}
}

// TestMulNotFinite checks that a NaN or an infinity reaches its row and column and nothing else.
func TestMulNotFinite(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(11, 12))
		for _, form := range forms {
			for _, bad := range []float64{math.NaN(), math.Inf(1)} {
				p := newProblem[float32](r, form, 30, 97, 100, 0)
				p.a[p.aIndex(7, 99)] = float32(bad)
				got := slices.Clone(p.c)
				p.mul(got, 0, p.m, 0, p.n)
				for x, v := range got {
					finite := !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0)
					if i := x / p.ldc; finite == (i == 7) {
						t.Fatalf("%v: %v at (7,99) of A gives C(%d,%d) = %v", p, bad, i, x%p.ldc, v)
					}
				}
			}
		}
	})
}

func TestMulAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes sync.Pool forget")
	}
	eachPath(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(13, 14))
		for _, form := range forms {
			p := newProblem[float32](r, form, 40, 70, 512, 0)
			p.e.Bias = randoms[float32](r, p.n)
			if n := testing.AllocsPerRun(50, func() { p.mul(p.c, 0, p.m, 0, p.n) }); n != 0 {
				t.Errorf("%v: %v allocations a call", p, n)
			}
		}
	})
}

// TestMulConcurrent runs the same product in several goroutines, which share the scratch pool.
func TestMulConcurrent(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		for _, form := range forms {
			p := newProblem[float32](rand.New(rand.NewPCG(15, 16)), form, 50, 70, 512, 0)
			want := slices.Clone(p.c)
			p.mul(want, 0, p.m, 0, p.n)
			done := make(chan bool)
			for range 4 {
				go func() {
					got := slices.Clone(p.c)
					for range 10 {
						copy(got, p.c)
						p.mul(got, 0, p.m, 0, p.n)
					}
					done <- slices.Equal(got, want)
				}()
			}
			for range 4 {
				if !<-done {
					t.Errorf("%v: concurrent calls disturb each other", p)
				}
			}
		}
	})
}

func TestFMAPeak(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		if rate := FMAPeak(time.Millisecond); !(rate > 0.1 && rate < 10000) {
			t.Errorf("FMAPeak = %v GFLOP/s", rate)
		}
	})
}
