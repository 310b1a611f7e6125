package train

import (
	"sync/atomic"
	"testing"

	"ablate/train/metrics"
)

// sharing is a sink that uses what it is lent.
type sharing struct {
	metrics.Memory
	do    func(parts int, f func(part int))
	lent  int
	parts atomic.Int32
}

func (s *sharing) Share(do func(parts int, f func(part int))) {
	if s.do = do; do != nil {
		s.lent++
	}
}

func (s *sharing) Step(row metrics.Step) error {
	s.do(3, func(int) { s.parts.Add(1) })
	return s.Memory.Step(row)
}

// TestSinkSharesTheTeam: the workers are lent to a sink for as long as a run
// takes.
func TestSinkSharesTheTeam(t *testing.T) {
	job, s := testJob[float32](t), new(sharing)
	job.Model, job.Sink = newTestModel[float32](t, 4, 3, 2), s
	if _, err := Train(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	if int(s.parts.Load()) != 3*len(s.Steps) || s.lent != 1 || s.do != nil {
		t.Errorf("%d parts for %d rows, lent %d times, taken back: %v", s.parts.Load(), len(s.Steps), s.lent, s.do == nil)
	}
}
