package graph

import (
	"slices"
	"unsafe"
)

// A chain of a deep model walks through more memory than a cache holds, and returns to it only in the backward
// pass. The processor notices such walks late, since every value by itself is short; the planner knows them
// all. It lists what each task is the first to touch, and while a worker multiplies matrices it fetches what
// comes next.

const (
	// aheadWindow bounds what has been fetched and is not yet in use, in bytes: half of a second-level cache.
	aheadWindow = 512 << 10
	// aheadMemory is what a chain touches, in bytes, until something that it touched before counts as new: a
	// second-level cache.
	aheadMemory = 1 << 20
)

// stretch is memory that a task is the first to touch: the rows of a part, or all of it.
type stretch struct {
	b     *Buffer
	parts int // 0 for all
}

// bytes is what belongs to a part, as far as a window reaches.
func (s stretch) bytes(part int) []byte {
	lo, hi := 0, s.b.n
	if s.parts > 0 {
		lo, hi = s.b.part(part, s.parts)
	}
	size := int(s.b.dtype.Size())
	return unsafe.Slice((*byte)(addBytes(s.b.ptr, lo*size)), min((hi-lo)*size, aheadWindow))
}

// ahead lists the stretches of a chain in the order in which they are first touched. While step i runs, those
// from from[i] to to[i] may be fetched.
type ahead struct {
	stretches []stretch
	from, to  []int
}

// aheadOf looks through the steps of a chain, of which so many parts take turns. Buffers have their memory.
func aheadOf(steps []step, turns int) (a ahead) {
	var starts []int                 // of stretches, in bytes of those before
	touched, fetched := 0, 0         // bytes so far
	when := map[unsafe.Pointer]int{} // bytes touched when memory last was
	look := func(t *task) {
		for _, v := range slices.Concat(t.reads, t.writes) {
			s, size := stretch{b: v.Buffer}, v.bytes()
			if v.def != nil && t.keepsToRows(v) {
				s.parts, size = t.Parts, size/t.Parts*turns
			}
			touched += size
			if at, again := when[v.ptr]; !again || touched-at > aheadMemory {
				a.stretches, starts = append(a.stretches, s), append(starts, fetched)
				fetched += min(size, aheadWindow)
			}
			when[v.ptr] = touched
		}
	}
	for _, s := range steps {
		for _, t := range s {
			look(t)
		}
		a.from = append(a.from, len(a.stretches))
	}
	for _, first := range a.from {
		last := first
		for last < len(starts) && starts[last] < starts[first]+aheadWindow {
			last++
		}
		a.to = append(a.to, last)
	}
	return a
}

// lookout is a worker's place in an [ahead].
type lookout struct {
	ahead     *ahead
	next, end int    // stretches
	from, to  int    // the worker's parts
	part      int    // of the next stretch
	rest      []byte // of that part; nil before it is begun
}

// begin starts a chain for parts [from, to).
func (l *lookout) begin(a *ahead, from, to int) {
	*l = lookout{ahead: a, from: from, to: to, part: from}
}

// step says that step i begins: what it touches needs no fetching any more.
func (l *lookout) step(i int) {
	if from := l.ahead.from[i]; l.next < from {
		l.next, l.part, l.rest = from, l.from, nil
	}
	l.end = l.ahead.to[i]
}

// narrow says that the parts from to on are another worker's now.
func (l *lookout) narrow(to int) { l.to = to }

// Ahead is memory that the worker will touch soon, for products to fetch while they multiply.
func (l *lookout) Ahead() []byte {
	for l.next < l.end {
		s := l.ahead.stretches[l.next]
		if l.rest == nil {
			l.rest = s.bytes(l.part)
		}
		if len(l.rest) > 0 {
			return l.rest
		}
		l.rest = nil
		if l.part++; s.parts == 0 || l.part >= l.to {
			l.next, l.part = l.next+1, l.from
		}
	}
	return nil
}

// Fetched drops the first n bytes of what Ahead gave.
func (l *lookout) Fetched(n int) { l.rest = l.rest[n:] }
