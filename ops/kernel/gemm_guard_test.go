//go:build linux

package kernel

import (
	"math/rand/v2"
	"syscall"
	"testing"
	"unsafe"
)

// guarded returns a copy of x that ends where the memory ends: a byte behind it cannot be touched.
func guarded(t *testing.T, x []float32) []float32 {
	page := syscall.Getpagesize()
	size := (4*len(x) + page - 1) / page * page
	mem, err := syscall.Mmap(-1, 0, size+page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Skip("no memory map:", err)
	}
	t.Cleanup(func() { syscall.Munmap(mem) })
	if err := syscall.Mprotect(mem[size:], syscall.PROT_NONE); err != nil {
		t.Skip("no protection:", err)
	}
	if len(x) == 0 {
		return x
	}
	y := unsafe.Slice((*float32)(unsafe.Pointer(&mem[size-4*len(x)])), len(x))
	copy(y, x)
	return y
}

// TestMulStaysInside ends all operands at a page that must not be touched, so that a read or write
// behind a slice, which no result would show, ends the test.
func TestMulStaysInside(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(19, 20))
		for _, s := range raggedShapes {
			for _, form := range forms {
				p := newProblem[float32](r, form, s[0], s[1], s[2], 0)
				p.a, p.b, p.c = guarded(t, p.a), guarded(t, p.b), guarded(t, p.c)
				p.e.Acc = r.IntN(2) == 0
				if form == "Packed" {
					p.packed = guarded(t, p.packed)
					p.pack() // from and to guarded memory
				}
				if epilogues(form) {
					p.e.Bias = guarded(t, randoms[float32](r, p.n))
					p.e.Addend, p.e.LdAddend = guarded(t, randoms[float32](r, p.m*p.n)), p.n
				}
				p.check(t)
			}
		}
	})
}
