package metrics

import "errors"

// Sink takes the records of a run in the order of its steps. An error means
// that the record was not kept; a sink that failed once keeps failing.
type Sink interface {
	// Step records one training step, or one evaluation.
	Step(Step) error
	// Layers records the probes of one step: a value for every row of the table;
	// Files panics if there are more or fewer.
	// The slice is the caller's again when Layers returns.
	Layers(step int64, t *Table, values []Value) error
	// Timing records a reading of the clock.
	Timing(Timing) error
	// Flush hands everything recorded so far to whoever may be watching: after
	// it, the death of this process loses nothing.
	Flush() error
	// Close flushes and ends the sink.
	Close() error
}

// Idler is a Sink that leaves some of its work to whoever has nothing else to do.
type Idler interface {
	// Idle does some of it, until stop says to, and says whether there was any. It
	// may be called at any time, also while another method runs and after Close.
	// pause says that the run has just begun to record a step, so that nobody waits
	// for the caller: time for what cannot be stopped half-way.
	Idle(stop func() bool, pause bool) bool
}

// Memory is a Sink that keeps the records, for tests and small programs.
type Memory struct {
	Steps     []Step
	LayerRows []Layer
	Timings   []Timing
}

var _ Sink = (*Memory)(nil)

// Step implements Sink.
func (m *Memory) Step(s Step) error { m.Steps = append(m.Steps, s); return nil }

// Layers implements Sink.
func (m *Memory) Layers(step int64, t *Table, values []Value) error {
	for i, v := range values {
		m.LayerRows = append(m.LayerRows, t.Row(i, step, v))
	}
	return nil
}

// Timing implements Sink.
func (m *Memory) Timing(t Timing) error { m.Timings = append(m.Timings, t); return nil }

// Flush implements Sink.
func (m *Memory) Flush() error { return nil }

// Close implements Sink.
func (m *Memory) Close() error { return nil }

// Tee returns a Sink that passes every record on to all sinks, in order. A
// failing one does not keep a record from the others; errors are joined.
func Tee(sinks ...Sink) Sink { return tee(sinks) }

type tee []Sink

func (t tee) each(f func(Sink) error) error {
	var errs []error
	for _, s := range t {
		errs = append(errs, f(s))
	}
	return errors.Join(errs...)
}

func (t tee) Step(r Step) error     { return t.each(func(s Sink) error { return s.Step(r) }) }
func (t tee) Timing(r Timing) error { return t.each(func(s Sink) error { return s.Timing(r) }) }
func (t tee) Flush() error          { return t.each(Sink.Flush) }
func (t tee) Close() error          { return t.each(Sink.Close) }

func (t tee) Layers(step int64, table *Table, values []Value) error {
	return t.each(func(s Sink) error { return s.Layers(step, table, values) })
}
