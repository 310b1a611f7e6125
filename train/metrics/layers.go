package metrics

import (
	"fmt"
	"sync/atomic"
)

// layerLog is the file of layers, which is most of what a run writes. The values of some steps are kept until
// somebody has time to format and write them: whoever calls idle, or at the latest who adds more than there is room
// for, or has to have all of it in the file.
type layerLog struct {
	log
	kept  [keptSteps]layerStep // step i of those added stands at i mod keptSteps
	added atomic.Uint64        // steps so far, changed by add
	done  atomic.Uint64        // steps whose rows are formatted, changed by who holds mu

	hurry atomic.Bool // somebody waits for mu who will do no more than must be

	// What follows, and the buffer, are for who holds mu.
	row    int                   // of the step in turn that is the next to be formatted
	line   []byte                // scratch
	failed atomic.Pointer[error] // of the first write that failed
}

// layerStep is what was added of a step.
type layerStep struct {
	step   int64
	table  *Table
	values []Value
}

const (
	keptSteps = 4
	idleRows  = 8 // between two looks whether to stop: a microsecond or two

	// Who writes a buffer in a pause keeps nobody waiting; it takes 20 to 50 microseconds, and longer than the gaps
	// within a step are. Only what does not fit any more is written elsewhere.
	layersBuffer = 256 << 10
	worthWriting = 64 << 10
)

// add takes a copy of values. An error is that of earlier ones.
func (l *layerLog) add(step int64, t *Table, values []Value) error {
	if len(values) != t.Len() {
		panic(fmt.Sprintf("metrics: %d values for a table of %d rows", len(values), t.Len()))
	}
	l.reduce(keptSteps - 1)
	k := &l.kept[l.added.Load()%keptSteps]
	*k = layerStep{step, t, append(k.values[:0], values...)}
	l.added.Add(1)
	if err := l.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// left is the number of steps whose rows are not all formatted.
func (l *layerLog) left() uint64 {
	done := l.done.Load() // first, so that it is not ahead
	return l.added.Load() - done
}

// idle formats rows until it is to stop, unless somebody else is at it, and says whether it did anything. In a pause
// it first writes what there is.
func (l *layerLog) idle(stop func() bool, pause bool) (did bool) {
	if l.left() == 0 && !pause || l.hurry.Load() || !l.mu.TryLock() {
		return false
	}
	defer l.mu.Unlock()
	if pause && l.w.Buffered() >= worthWriting && !stop() {
		l.fail(l.w.Flush())
		did = true
	}
	for l.left() > 0 && !l.hurry.Load() && !stop() {
		for range idleRows {
			l.format()
		}
		did = true
	}
	return did
}

// fail keeps the first error.
func (l *layerLog) fail(err error) {
	if err != nil && l.failed.Load() == nil {
		first := err // a variable of its own, since it leaves the stack
		l.failed.Store(&first)
	}
}

// format formats the next row, if there is one.
func (l *layerLog) format() {
	if l.left() == 0 {
		return
	}
	k := &l.kept[l.done.Load()%keptSteps]
	if l.row < len(k.values) {
		l.line = k.table.appendRow(l.line[:0], l.row, k.step, k.values[l.row])
		l.fail(l.write(l.line))
		l.row++
	}
	if l.row == len(k.values) {
		l.row = 0
		l.done.Add(1)
	}
}

// reduce formats rows until those of at most so many steps are left. It waits for whoever is at it, a few rows and
// perhaps a write.
func (l *layerLog) reduce(steps uint64) {
	if l.left() <= steps {
		return
	}
	l.hurry.Store(true)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hurry.Store(false)
	for l.left() > steps {
		l.format()
	}
}

// drain formats everything that was added. An error shows in the next add, and in flush.
func (l *layerLog) drain() { l.reduce(0) }
