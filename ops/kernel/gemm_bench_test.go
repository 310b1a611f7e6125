package kernel

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// benchShapes are m, n, k of products in training: linear layers of models from tiny to small, and
// squares to compare with other libraries.
var benchShapes = [][3]int{
	{1024, 512, 128}, {1024, 128, 512}, {2048, 1024, 256}, {4096, 1536, 384}, {512, 512, 512}, {1024, 1024, 1024},
	{64, 64, 32}, {128, 128, 32}, {128, 128, 64}, {256, 256, 64}, {256, 64, 256},
}

// peak is measured once for each path.
var peak = func() func(b *testing.B) float64 {
	var mu sync.Mutex
	known := map[string]float64{}
	return func(b *testing.B) float64 {
		mu.Lock()
		defer mu.Unlock()
		if known[Path()] == 0 {
			known[Path()] = FMAPeak(200 * time.Millisecond)
		}
		return known[Path()]
	}
}()

// BenchmarkMul measures each shape in each form on one core: A·B and Aᵀ·B in place, A·Bᵀ packed
// beforehand, as a linear layer does it.
func BenchmarkMul(b *testing.B) {
	for _, form := range forms {
		for _, s := range benchShapes {
			b.Run(fmt.Sprintf("%s/%dx%dx%d", form, s[0], s[1], s[2]), func(b *testing.B) {
				p := newProblem[float32](rand.New(rand.NewPCG(1, 2)), form, s[0], s[1], s[2], 0)
				limit := peak(b)
				for b.Loop() {
					p.mul(p.c, 0, p.m, 0, p.n)
				}
				reportRate(b, 2*float64(p.m)*float64(p.n)*float64(p.k), limit)
			})
		}
	}
}

// BenchmarkMulCold has operands in turn from 24 MB, so that rows come from the third-level cache or
// from memory, as activations do; the right-hand side stays, as a weight does.
func BenchmarkMulCold(b *testing.B) {
	for _, s := range [][3]int{{256, 64, 64}, {256, 256, 64}, {256, 64, 256}, {128, 512, 128}, {128, 128, 512}} {
		m, n, k := s[0], s[1], s[2]
		b.Run(fmt.Sprintf("Packed/%dx%dx%d", m, n, k), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 2))
			set := []*problem[float32]{newProblem[float32](r, "Packed", m, n, k, 0)}
			for len(set)*4*(m*k+m*n) < 24<<20 {
				p := *set[0]
				p.a, p.c = randoms[float32](r, m*k), randoms[float32](r, m*n)
				set = append(set, &p)
			}
			limit, i := peak(b), 0
			for b.Loop() {
				set[i%len(set)].mul(set[i%len(set)].c, 0, m, 0, n)
				i++
			}
			reportRate(b, 2*float64(m*n*k), limit)
		})
	}
}

// reportRate reports GFLOP/s and the share of the peak for flops operations in an iteration.
func reportRate(b *testing.B, flops, limit float64) {
	rate := flops * float64(b.N) / float64(b.Elapsed().Nanoseconds())
	b.ReportMetric(rate, "GFLOP/s")
	b.ReportMetric(100*rate/limit, "%peak")
}

func BenchmarkPack(b *testing.B) {
	for _, s := range [][2]int{{64, 64}, {256, 256}, {1024, 1024}} {
		k, n := s[0], s[1]
		src, dst := make([]float32, k*n), make([]float32, PackedLen(k, n))
		run := func(name string, f func()) {
			b.Run(fmt.Sprintf("%s/%dx%d", name, k, n), func(b *testing.B) {
				b.SetBytes(int64(4 * k * n))
				for b.Loop() {
					f()
				}
			})
		}
		run("N", func() { PackN(dst, src, n, k, n, 0, panels(n)) })
		run("T", func() { PackT(dst, src, k, k, n, 0, panels(n)) })
	}
}

// BenchmarkMulDots multiplies few rows by a weight that comes from memory, as in generation, and
// reports the bytes of the weight.
func BenchmarkMulDots(b *testing.B) {
	for _, s := range [][3]int{{1, 65536, 512}, {1, 24000, 1408}, {4, 65536, 512}} {
		m, n, k := s[0], s[1], s[2]
		b.Run(fmt.Sprintf("%dx%dx%d", m, n, k), func(b *testing.B) {
			p := newProblem[float32](rand.New(rand.NewPCG(1, 2)), "Dots", m, n, k, 0)
			b.SetBytes(int64(4 * n * k))
			for b.Loop() {
				p.mul(p.c, 0, m, 0, n)
			}
		})
	}
}
