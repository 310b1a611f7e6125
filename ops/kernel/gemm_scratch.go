package kernel

import (
	"sync"
	"unsafe"
)

// scratchLen is the scratch of one call in float32 elements: a block of A and a panel of B.
const scratchLen = maxBlockA + maxBlockK*PanelWidth

// maxBlockA is how much of A is used with all of B before the next part: half a megabyte, which
// stays in the second-level cache.
const maxBlockA = 1 << 17

// scratch is memory of a fixed size that a product copies parts of its operands to.
type scratch struct {
	f32 []float32 // on a cache line
}

var scratchPool = sync.Pool{New: func() any { return &scratch{f32: atLine(scratchLen)} }}

// atLine is n elements from the start of a cache line on.
func atLine(n int) []float32 {
	s := make([]float32, n+64/4)
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(s)))%64) / 4
	return s[skip : skip+n]
}

func getScratch() *scratch  { return scratchPool.Get().(*scratch) }
func putScratch(s *scratch) { scratchPool.Put(s) }

// scratchOf views the scratch as elements of type T.
func scratchOf[T Float](s *scratch) []T {
	var zero T
	p := (*T)(unsafe.Pointer(unsafe.SliceData(s.f32)))
	return unsafe.Slice(p, len(s.f32)*4/int(unsafe.Sizeof(zero)))
}
