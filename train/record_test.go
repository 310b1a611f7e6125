package train

import (
	"runtime"
	"sync/atomic"
	"testing"

	"ablate/graph"
	"ablate/train/metrics"
)

// idler is a sink that counts how often it is asked to do something.
type idler struct {
	metrics.Memory
	team  *graph.Team
	calls atomic.Int64
}

func (s *idler) Idle(func() bool) bool { s.calls.Add(1); return false }

// Step has one of two workers wait until the other, without an item, has come.
func (s *idler) Step(row metrics.Step) error {
	before := s.calls.Load()
	s.team.Do(2, func(part int) {
		for part == 0 && s.calls.Load() == before {
			runtime.Gosched()
		}
	})
	return s.Memory.Step(row)
}

// TestIdleWorkersServeTheSink for as long as a run takes.
func TestIdleWorkersServeTheSink(t *testing.T) {
	job, s := testJob[float32](t), new(idler)
	job.Model = newTestModel[float32](t, 4, 3, 2)
	job.Sink, s.team = s, job.Model.Team
	if _, err := Train(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	var here atomic.Int32
	meet := func(int) {
		for here.Add(1); here.Load() < 2; {
			runtime.Gosched()
		}
	}
	s.team.Do(2, meet) // both have an item, so none is on its way into the sink
	before := s.calls.Load()
	for range 100 {
		here.Store(0)
		s.team.Do(2, meet)
	}
	if after := s.calls.Load(); after != before {
		t.Errorf("called %d times after the run", after-before)
	}
}
