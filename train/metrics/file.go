package metrics

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// Names of the three files in a run directory.
const (
	StepsFile  = "metrics.jsonl"
	LayersFile = "layers.jsonl"
	TimingFile = "timing.jsonl"
)

// Offsets are lengths in bytes of the three files: what a checkpoint stores,
// so that a resumed run can cut off the rows that it is going to write again.
type Offsets struct {
	Metrics int64 `json:"metrics"`
	Layers  int64 `json:"layers"`
	Timing  int64 `json:"timing"`
}

// Files is the Sink that appends to the three files of a run directory. Layers
// are formatted and written some time after they were recorded, in their order:
// what goes wrong with them comes back from a later call, at the latest from
// Flush, Sync or Close.
type Files struct {
	steps, timing log
	layers        layerLog
	buf           []byte
}

var (
	_ Sink  = (*Files)(nil)
	_ Idler = (*Files)(nil)
)

// OpenFiles opens, or creates, the three files in dir, which must exist, and
// stands at their ends. A run that resumes calls Truncate before it records.
func OpenFiles(dir string) (*Files, error) {
	f := new(Files)
	for _, l := range f.logs() {
		if err := l.open(filepath.Join(dir, l.name)); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return f, nil
}

// logs lists the three files with their names and the sizes of their buffers set.
func (f *Files) logs() [3]*log {
	f.steps.name, f.layers.name, f.timing.name = StepsFile, LayersFile, TimingFile
	f.steps.buffer, f.layers.buffer, f.timing.buffer = 64<<10, layersBuffer, 64<<10
	return [3]*log{&f.steps, &f.layers.log, &f.timing}
}

// Step implements Sink.
func (f *Files) Step(s Step) error {
	f.buf = append(s.AppendJSON(f.buf[:0]), '\n')
	return f.steps.write(f.buf)
}

// Layers implements Sink.
func (f *Files) Layers(step int64, t *Table, values []Value) error {
	return f.layers.add(step, t, values)
}

// Idle implements Idler.
func (f *Files) Idle(stop func() bool, pause bool) bool { return f.layers.idle(stop, pause) }

// Timing implements Sink.
func (f *Files) Timing(t Timing) error {
	f.buf = append(t.AppendJSON(f.buf[:0]), '\n')
	return f.timing.write(f.buf)
}

// Offsets returns the lengths of the files, counting what is still buffered.
func (f *Files) Offsets() Offsets {
	f.layers.drain()
	return Offsets{Metrics: f.steps.size, Layers: f.layers.size, Timing: f.timing.size}
}

// EndRows says with an error in which file of results no row ends at the given
// length: it was changed, and cannot be continued.
func (f *Files) EndRows(o Offsets) error {
	if err := f.Flush(); err != nil {
		return err
	}
	for _, at := range []struct {
		log  *log
		size int64
	}{{&f.steps, o.Metrics}, {&f.layers.log, o.Layers}} {
		if at.size == 0 {
			continue
		}
		var last [1]byte
		if _, err := at.log.file.ReadAt(last[:], at.size-1); err != nil {
			return err
		}
		if last[0] != '\n' {
			return fmt.Errorf("no row of %s ends at its %d bytes", at.log.name, at.size)
		}
	}
	return nil
}

// Truncate cuts the files back to the given lengths. A file of results that is
// shorter than that has lost rows and cannot be continued to the same bytes:
// that is an error, and nothing is cut. Timing promises nothing and is cut to
// what there is.
func (f *Files) Truncate(o Offsets) error {
	if err := f.Flush(); err != nil {
		return err
	}
	o.Timing = min(o.Timing, f.timing.size)
	want := [3]int64{o.Metrics, o.Layers, o.Timing}
	for i, l := range f.logs() {
		if want[i] < 0 || want[i] > l.size {
			return fmt.Errorf("metrics: %s has %d bytes, but the run to be continued had written %d", l.file.Name(), l.size, want[i])
		}
	}
	for i, l := range f.logs() {
		if err := l.truncate(want[i]); err != nil {
			return err
		}
	}
	return nil
}

// Flush implements Sink: buffers go to the operating system.
func (f *Files) Flush() error {
	f.layers.drain()
	var errs []error
	for _, l := range f.logs() {
		errs = append(errs, l.flush())
	}
	return errors.Join(errs...)
}

// Sync flushes and waits until the files are on disk. A checkpoint calls it
// before it stores Offsets, or a power cut could leave it pointing past an end.
func (f *Files) Sync() error {
	if err := f.Flush(); err != nil {
		return err
	}
	var errs []error
	for _, l := range f.logs() {
		errs = append(errs, l.file.Sync())
	}
	return errors.Join(errs...)
}

// Close implements Sink. Files that never opened are passed over.
func (f *Files) Close() error {
	f.layers.drain()
	var errs []error
	for _, l := range f.logs() {
		if l.file != nil {
			errs = append(errs, l.flush(), l.file.Close())
		}
	}
	return errors.Join(errs...)
}

// log is one append-only file behind a buffer.
type log struct {
	name   string
	buffer int // bytes
	file   *os.File
	size   int64

	mu sync.Mutex // for w, where it is not one caller's alone
	w  *bufio.Writer
}

func (l *log) open(path string) error {
	// Not O_APPEND: Windows then refuses to truncate. One process owns the run.
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	l.file, l.w = file, bufio.NewWriterSize(file, l.buffer)
	l.size, err = file.Seek(0, io.SeekEnd)
	return err
}

func (l *log) write(b []byte) error {
	n, err := l.w.Write(b)
	l.size += int64(n)
	return err
}

func (l *log) flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Flush()
}

func (l *log) truncate(size int64) error {
	if err := l.file.Truncate(size); err != nil {
		return err
	}
	_, err := l.file.Seek(size, io.SeekStart)
	l.size = size
	return err
}
