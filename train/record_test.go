package train

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"ablate/graph"
	"ablate/train/metrics"
)

// idler is a sink, and a source of batches, that has idle workers come and sees what they say.
type idler struct {
	metrics.Memory
	Batches
	t     *testing.T
	team  *graph.Team
	calls [2]atomic.Int64 // outside of pauses, and in them
}

var _ metrics.Idler = (*idler)(nil)

func (s *idler) Idle(_ func() bool, pause bool) bool {
	if pause {
		s.calls[1].Add(1)
	} else {
		s.calls[0].Add(1)
	}
	return false
}

// come has one of two workers wait until the other, without an item, has come.
func (s *idler) come(pause int) {
	before, begun := s.calls[pause].Load(), time.Now()
	s.team.Do(2, func(part int) {
		for part == 0 && s.calls[pause].Load() == before && !s.t.Failed() {
			if runtime.Gosched(); time.Since(begun) > 10*time.Second {
				s.t.Errorf("nobody comes who says %d for a pause", pause)
			}
		}
	})
}

func (s *idler) Layers(step int64, table *metrics.Table, values []metrics.Value) error {
	s.come(1)
	return s.Memory.Layers(step, table, values)
}

func (s *idler) Batch(tokens, targets []int32, step, micro int) {
	s.come(0)
	s.Batches.Batch(tokens, targets, step, micro)
}

// TestIdleWorkersServeTheSink for as long as a run takes, and know its pauses.
func TestIdleWorkersServeTheSink(t *testing.T) {
	job := testJob[float32](t)
	job.Model = newTestModel[float32](t, 4, 3, 2)
	s := &idler{t: t, team: job.Model.Team, Batches: job.Data.Train}
	job.Sink, job.Data.Train = s, s
	if _, err := Train(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	if len(s.LayerRows) == 0 {
		t.Fatal("no step was recorded")
	}
	var here atomic.Int32
	meet := func(int) {
		for here.Add(1); here.Load() < 2; {
			runtime.Gosched()
		}
	}
	s.team.Do(2, meet) // both have an item, so none is on its way into the sink
	calls := func() int64 { return s.calls[0].Load() + s.calls[1].Load() }
	before := calls()
	for range 100 {
		here.Store(0)
		s.team.Do(2, meet)
	}
	if after := calls(); after != before {
		t.Errorf("called %d times after the run", after-before)
	}
}
