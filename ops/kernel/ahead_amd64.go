package kernel

import "unsafe"

// The bytes that a tile asks for in four steps of k; gen/ahead.go knows them.
const (
	aheadStep512 = 256
	aheadStep256 = 64
)

// lineBytes is the size of a cache line.
const lineBytes = 64

// shortAhead is the longest piece that is asked for at once, without a product.
const shortAhead = 512

// lookAhead lets the next tiles fetch what comes first in e.Ahead: the next piece when they are done with one.
func (s *vectorProduct) lookAhead() {
	if s.t.ahead != s.t.aheadLast {
		return
	}
	t, step := &s.t, aheadStep256
	if s.rows == tileRows512 {
		step = aheadStep512
	}
	for s.lookedAhead(); s.e.Ahead != nil; s.e.Ahead.Fetched(len(s.piece)) {
		if s.piece = s.e.Ahead.Ahead(); len(s.piece) > shortAhead {
			t.ahead, t.aheadStep = address(s.piece), step
			t.aheadLast = t.ahead + uintptr(len(s.piece)-step)
			return
		}
		if len(s.piece) == 0 {
			break
		}
		fetch(unsafe.SliceData(s.piece), (len(s.piece)+lineBytes-1)/lineBytes)
	}
	s.piece = nil
	t.ahead, t.aheadLast, t.aheadStep = uintptr(unsafe.Pointer(t.a)), ^uintptr(0), 0 // the same line again and again
}

// lookedAhead reports how much of the piece has been fetched.
func (s *vectorProduct) lookedAhead() {
	switch {
	case s.piece == nil:
	case s.t.ahead == s.t.aheadLast:
		s.e.Ahead.Fetched(len(s.piece))
	default:
		s.e.Ahead.Fetched(int(s.t.ahead - address(s.piece)))
	}
}

// Fetch asks for x to be in the second-level cache: for rows with gaps between them, in which the processor does not
// foresee the next.
func Fetch[T Float](x []T) {
	if len(x) > 0 {
		fetch((*byte)(unsafe.Pointer(unsafe.SliceData(x))), (len(x)*int(unsafe.Sizeof(x[0]))+lineBytes-1)/lineBytes)
	}
}

func address(p []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(p))) }
