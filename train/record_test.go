package train

import (
	"sync/atomic"
	"testing"
	"time"

	"ablate/train/metrics"
)

// idler is a sink that counts how often it is asked to do something.
type idler struct {
	metrics.Memory
	calls atomic.Int64
}

func (s *idler) Idle(func() bool) bool { s.calls.Add(1); return false }

// Step takes its time, in which the other workers have nothing to do.
func (s *idler) Step(row metrics.Step) error {
	time.Sleep(50 * time.Microsecond)
	return s.Memory.Step(row)
}

// TestIdleWorkersServeTheSink for as long as a run takes.
func TestIdleWorkersServeTheSink(t *testing.T) {
	job, s := testJob[float32](t), new(idler)
	job.Model, job.Sink = newTestModel[float32](t, 4, 3, 2), s
	if _, err := Train(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	if s.calls.Load() == 0 {
		t.Error("nobody served it")
	}
	time.Sleep(time.Millisecond) // who was about to call has done so
	before := s.calls.Load()
	for range 100 {
		job.Model.Team.Do(2, func(int) { time.Sleep(time.Microsecond) })
	}
	if after := s.calls.Load(); after != before {
		t.Errorf("called %d times after the run", after-before)
	}
}
