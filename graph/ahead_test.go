package graph

import (
	"slices"
	"testing"
	"unsafe"
)

// valueAt is a value of so many rows of 4 KiB, computed by somebody or not, at a place in memory.
func valueAt(mem []byte, page, rows int, computed bool) *value {
	v := &value{Buffer: newBuffer(Shape{rows, 1024}, Float32)}
	v.ptr = unsafe.Pointer(&mem[page<<12])
	if computed {
		v.def = &call{}
	}
	return v
}

// TestAhead follows a worker through a chain: what it is offered is what it will touch next, once, its own
// rows alone, and nothing that it touched a moment ago.
func TestAhead(t *testing.T) {
	const parts = 4
	mem := make([]byte, 1<<21)
	x, y, z := valueAt(mem, 0, parts, true), valueAt(mem, 4, parts, true), valueAt(mem, 8, parts, true)
	weight, large := valueAt(mem, 12, 2, false), valueAt(mem, 16, 2*aheadMemory>>12, false)
	of := func(out *value, in ...*value) *task {
		return &task{Task: Task{Parts: parts, Rows: true}, reads: in, writes: []*value{out}}
	}
	a := aheadOf([]step{{of(y, x)}, {of(z, y, weight), of(y, z)}, {of(y, z, large)}, {of(z, x)}}, 2)
	var w lookout
	w.begin(&a, 1, 3)
	offered := func() (pages []int) {
		for p := w.Ahead(); len(p) > 0; p = w.Ahead() {
			at := uintptr(unsafe.Pointer(&p[0])) - uintptr(unsafe.Pointer(&mem[0]))
			pages = append(pages, int(at)>>12)
			w.Fetched(len(p))
		}
		return pages
	}
	w.step(0)
	if got := offered(); !slices.Equal(got, []int{12, 9, 10, 16}) {
		t.Errorf("during the first step, pages %v are fetched, not the weight, rows 1 and 2 of z and the large weight", got)
	}
	w.step(1)
	w.step(2)
	if got := offered(); !slices.Equal(got, []int{1, 2, 9, 10}) {
		t.Errorf("behind a large weight, pages %v are fetched, not x and z again", got)
	}
	w.step(3)
	if got := offered(); got != nil {
		t.Errorf("during the last step, pages %v are fetched", got)
	}

	w.begin(&a, 0, 1)
	w.step(0)
	w.Fetched(len(w.Ahead()) / 2)
	w.step(1)
	if got := offered(); !slices.Equal(got, []int{16}) {
		t.Errorf("pages %v are fetched of what is in use already", got)
	}
}
