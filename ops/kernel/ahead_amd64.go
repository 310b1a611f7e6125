package kernel

import "unsafe"

// The bytes that a tile asks for in four steps of k; gen/ahead.go knows them.
const (
	aheadStep512 = 256
	aheadStep256 = 64
)

// shortAhead is the longest piece that is asked for at once, without a product.
const shortAhead = 512

// lookAhead lets the next column of tiles fetch what comes first in u, if there is anything, and returns it.
func (s *vectorProduct) lookAhead(u Upcoming) []byte {
	t, step := &s.t, aheadStep256
	if s.rows == tileRows512 {
		step = aheadStep512
	}
	if u != nil {
		for p := u.Ahead(); len(p) > 0; p = u.Ahead() {
			if len(p) > shortAhead {
				t.ahead, t.aheadStep = address(p), step
				t.aheadLast = t.ahead + uintptr(len(p)-step)
				return p
			}
			fetch(unsafe.SliceData(p), len(p))
			u.Fetched(len(p))
		}
	}
	t.ahead, t.aheadLast, t.aheadStep = uintptr(unsafe.Pointer(t.a)), ^uintptr(0), 0 // the same line again and again
	return nil
}

// lookedAhead tells u how much of p the tiles have fetched.
func (t *tileArgs) lookedAhead(u Upcoming, p []byte) {
	switch {
	case p == nil:
	case t.ahead == t.aheadLast:
		u.Fetched(len(p))
	default:
		u.Fetched(int(t.ahead - address(p)))
	}
}

func address(p []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(p))) }
