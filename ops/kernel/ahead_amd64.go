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

// lookRight sees to it that C and the addend are in the cache when the tiles of the column at j come to them. Tiles of
// AVX2, and those of the first column, ask for their lines of C when they begin. A tile of AVX-512 has 28, and so many
// at once hold up what it reads: the first tiles of a column ask for those to the right instead, a row of them in four
// steps of k, of as many columns as such a request spans.
func (s *vectorProduct) lookRight(rows, j int) {
	t, wide := &s.t, s.rows == tileRows512
	t.fetchC = 0
	if !wide || j == s.n0 {
		t.fetchC = 1
	}
	if !wide || j+PanelWidth >= s.n1 || (j-s.n0)%(aheadStep512/4) != 0 {
		return
	}
	s.lookedAhead()
	s.piece = nil
	s.tilesFetching(t.c, t.ldc, rows)
	if t.flags&tileAddend != 0 && t.addend != t.c {
		s.tilesFetching(t.addend, t.ldd, rows)
	}
	t.ahead = t.aheadLast
}

// tilesFetching computes as many tiles as it takes to ask for so many rows behind the tile that is at p.
func (s *vectorProduct) tilesFetching(p *float32, ld, rows int) {
	t := &s.t
	t.ahead, t.aheadStep = uintptr(unsafe.Pointer(p))+4*PanelWidth, ld
	t.aheadLast = t.ahead + uintptr((rows-1)*ld)
	asks := (t.k - t.tail) / 4 // of a tile
	n, big, small := (rows+asks-1)/asks, t.big, t.small
	t.big = min(n, big)
	t.small = min(n-t.big, small)
	big, small = big-t.big, small-t.small
	s.tiles() // which counts them down
	t.big, t.small = big, small
}

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
