//go:build linux

package kernel

import (
	"syscall"
	"testing"
	"unsafe"
)

// fenced returns n values that end where memory ends: a read or write behind them is a fault. It
// also returns what gives the memory back.
func fenced(t *testing.T, n int) (x []float32, free func()) {
	t.Helper()
	page := syscall.Getpagesize()
	size := (4*n + page - 1) / page * page
	mem, err := syscall.Mmap(-1, 0, size+page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Skip("no memory map: ", err)
	}
	if err := syscall.Mprotect(mem[size:], syscall.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	if n > 0 {
		x = unsafe.Slice((*float32)(unsafe.Pointer(&mem[size-4*n])), n)
	}
	copy(x, normals[float32](1, n))
	return x, func() { syscall.Munmap(mem) }
}

// Vector code never touches memory behind a slice, and never writes before or behind it.
func TestNoAccessOutsideSlices(t *testing.T) {
	const rows = 3
	key := [2]uint64{1, 2}
	for _, f := range []struct {
		name string
		run  func(s [][]float32, n int) // nine slices of n·rows elements
	}{
		{"map", func(s [][]float32, n int) {
			GELUGrad(s[0], s[1], s[2])
			MulAdd(s[0], s[1], s[2])
			SiLU(s[0], s[1])
			GELUBoth(s[0], s[3], s[1], s[2])
		}},
		{"layernorm", func(s [][]float32, n int) {
			LayerNorm(s[0], s[1], s[2][(rows-1)*n:], s[3][(rows-1)*n:], s[4], s[5], rows, n, 1e-5)
			LayerNormGrad(s[0], s[1], s[2], s[3][(rows-1)*n:], s[4], s[5], s[6][(rows-1)*n:], s[7][(rows-1)*n:], s[8], rows, n)
		}},
		{"rmsnorm", func(s [][]float32, n int) {
			RMSNorm(s[0], s[1], s[2][(rows-1)*n:], s[5], rows, n, 1e-5, true)
			RMSNormGrad(s[0], s[1], s[2], s[3][(rows-1)*n:], s[5], s[6][(rows-1)*n:], s[8], rows, n, true)
		}},
		{"softmax", func(s [][]float32, n int) { Softmax(s[0], s[1], nil, rows, n); SoftmaxGrad(s[0], s[1], s[2], rows, n) }},
		{"cross-entropy", func(s [][]float32, n int) {
			CrossEntropy(s[3], s[4], s[1], []int32{0, 0, 0}, rows, n, ignored)
			CrossEntropyGrad(s[0], s[1], s[3], s[4], []int32{0, 0, 0}, rows, n, ignored, 1)
		}},
		{"adamw", func(s [][]float32, n int) {
			h := adamStep(1, .1, .1, 1)
			Fill(s[3], 1)
			AdamW(s[0], s[1], s[2], s[3], &h)
			AdamWMeasured(s[0], s[1], s[2], s[3], &h)
		}},
		{"colsum", func(s [][]float32, n int) {
			ColSum(s[0][(rows-1)*n:], s[1], rows, n, n, true)
			ColDot(s[0][(rows-1)*n:], s[1], s[2], rows, n, n, n, true)
		}},
		{"reduce", func(s [][]float32, n int) {
			_ = SumSquares(s[0]) + SumSquaresNarrow(s[0]) + Dot(s[0], s[1]) + Sum(s[2])
		}},
		{"dropout", func(s [][]float32, n int) { Dropout(s[0], s[1], .5, key, 3) }},
	} {
		onEachPath(t, func(t *testing.T) {
			for _, n := range ragged[1:] {
				var s [][]float32
				for range 9 {
					x, free := fenced(t, n*rows)
					defer free()
					s = append(s, x)
				}
				f.run(s, n)
				before := fencedGap(s[0])
				for i, v := range before {
					if v != 0 {
						t.Fatalf("%s n=%d wrote %d elements before the slice", f.name, n, len(before)-i)
					}
				}
			}
		})
	}
}

// fencedGap is the memory of the page before a fenced slice.
func fencedGap(x []float32) []float32 {
	p := unsafe.Pointer(unsafe.SliceData(x))
	gap := int(uintptr(p)%uintptr(syscall.Getpagesize())) / 4
	return unsafe.Slice((*float32)(unsafe.Add(p, -4*gap)), gap)
}

func TestAttentionInsideSlices(t *testing.T) {
	onEachPath(t, func(t *testing.T) {
		for _, s := range []AttentionShape[float32]{
			{T: 33, S: 33, H: 2, G: 1, K: 17, Causal: true},
			{T: 40, S: 41, H: 1, G: 1, K: 5, Window: 9, Slopes: []float64{.5}},
			{T: 3, S: 21, H: 2, G: 2, K: 15, Causal: true, Offset: 18},
			{T: 64, S: 64, H: 1, G: 1, K: 16, Causal: true, Softcap: 2, Dropout: .1},
			{T: 48, S: 48, H: 4, G: 2, K: 32, Causal: true},
		} {
			fence := func(n int) []float32 {
				x, free := fenced(t, n)
				t.Cleanup(free)
				return x
			}
			nq, nk := s.T*s.H*s.K, s.S*s.G*s.K
			q, k, v, o, logSum := fence(nq), fence(nk), fence(nk), fence(nq), fence(s.H*s.T)
			do, dq, dk, dv := fence(nq), fence(nq), fence(nk), fence(nk)
			scratch := fence(AttentionScratch(&s))
			Attention(o, logSum, q, k, v, &s, scratch)
			AttentionGrad(dq, dk, dv, nil, do, logSum, q, k, v, &s, scratch)
			for _, x := range [][]float32{o, logSum, dq, dk, dv} {
				if !AllFinite(x) {
					t.Errorf("%+v: not finite", s)
				}
				for _, v := range fencedGap(x) {
					if v != 0 {
						t.Fatalf("%+v: wrote before a slice", s)
					}
				}
			}
		}
	})
}
