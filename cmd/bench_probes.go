package cmd

import (
	"context"
	"errors"
	"math"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"ablate/train"
	"ablate/train/metrics"
)

// The cost of probes is measured in blocks of at least blockTime, so that what
// the other run has left in the caches counts for little, until the interval is
// as narrow as precise to either side, or a few times the time of a shape is
// over.
const (
	blockTime    = 20 * time.Millisecond
	precise      = 0.001
	maxProbeTime = 4 // times the seconds of a shape
)

// probeEstimate is what probes add to a step, as a share of it: the median over
// pairs of blocks, and an interval that covers it with 95 %.
type probeEstimate struct {
	median float64
	ci     [2]float64
}

// probeCost trains m in two runs, in turns: one that looks at no layer, with a row
// of records a step; and one that measures every layer at every step and writes
// all of it to files. Both run one program, in one place of the memory: at small
// shapes another place changes the speed by more than probes do. Neighbouring
// blocks of steps are compared, in the order A B B A, so that a machine that
// drifts or is lent to others for a while does so for both. Idle workers serve the
// run that was begun last, the one with probes.
func probeCost(ctx context.Context, m *train.Model[float32], s benchShape, seconds float64) (e probeEstimate, err error) {
	var runs [2]*recordedRun
	longest := 1
	for i := range runs {
		if runs[i], err = newRecordedRun(ctx, m, s, i == 1); err != nil {
			return e, err
		}
		defer runs[i].end()
		t, err := runs[i].block(ctx, warmSteps)
		if err != nil {
			return e, err
		}
		longest = max(longest, int(math.Ceil(warmSteps*blockTime.Seconds()/t)))
	}
	var costs []float64
	for begun := time.Now(); ; {
		var t [2]float64
		first := len(costs) % 2
		for _, i := range []int{first, 1 - first} {
			if t[i], err = runs[i].block(ctx, longest); err != nil {
				return e, err
			}
		}
		costs = append(costs, t[1]/t[0]-1)
		e = medianInterval(costs)
		if spent := time.Since(begun).Seconds(); spent > maxProbeTime*seconds || spent > seconds && e.ci[1]-e.ci[0] < 2*precise {
			return e, nil
		}
	}
}

// recordedRun is a run that writes files, which are removed at its end.
type recordedRun struct {
	*stepper
	dir   string
	files *idleFiles
}

// idleFiles are files for which nothing is done while on is false: while the
// other run trains.
type idleFiles struct {
	*metrics.Files
	on atomic.Bool
}

func (f *idleFiles) Idle(stop func() bool, pause bool) bool {
	return f.on.Load() && f.Files.Idle(stop, pause)
}

func newRecordedRun(ctx context.Context, m *train.Model[float32], s benchShape, probes bool) (*recordedRun, error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, err
	}
	files, err := metrics.OpenFiles(dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	idle := &idleFiles{Files: files}
	return &recordedRun{newStepper(ctx, m, s, idle, probes), dir, idle}, nil
}

// block takes some steps and gives their time in seconds. Records that are not
// written at its end are written in the run's next block, as those of the one
// before were in this.
func (r *recordedRun) block(ctx context.Context, steps int) (float64, error) {
	r.files.on.Store(true)
	defer r.files.on.Store(false)
	t, ok := r.take(steps)
	if !ok {
		return 0, errors.Join(r.err, ctx.Err())
	}
	return t.Seconds(), nil
}

func (r *recordedRun) end() {
	r.stop()
	_ = errors.Join(r.files.Close(), os.RemoveAll(r.dir)) // nobody needs them any more
}

// medianInterval is the median of independent values and, between two of them,
// an interval that covers the true one with 95 % whatever their distribution:
// the number of values below it is binomial. Fewer than six values have none
// that is as wide, and get the widest.
func medianInterval(x []float64) probeEstimate {
	s := slices.Sorted(slices.Values(x))
	n := len(s)
	half := 0.98 * math.Sqrt(float64(n)) // 1.96 standard deviations of √n/2
	lo := max(0, int(math.Floor((float64(n)-1)/2-half)))
	return probeEstimate{(s[(n-1)/2] + s[n/2]) / 2, [2]float64{s[lo], s[n-1-lo]}}
}
