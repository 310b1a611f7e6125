package train

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"ablate/train/metrics"
)

// runDir is a run with files in dir: it continues from what is there.
type runDir struct {
	dir      string
	rejected []error
}

// run starts or continues the test run. change, which may be nil, alters the
// job.
func (d *runDir) run(t testing.TB, ctx context.Context, change func(*Job[float32])) (*Result, error) {
	t.Helper()
	files, err := metrics.OpenFiles(d.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	job := testJob[float32](t)
	job.Config.Accumulate = 2
	job.Sink = files
	job.Checkpoints = mustOpen(t, d.dir)
	if job.From, d.rejected, err = job.Checkpoints.Latest(); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&job)
	}
	return Train(ctx, job)
}

// outcome is everything that must not depend on interruptions.
func (d *runDir) outcome(t testing.TB, r *Result) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintln(&b, r.Status, r.Steps, r.Tokens, r.TrainLoss, r.GradNorm, r.ValLoss, r.ValTargets, r.WeightsSHA256)
	for _, name := range []string{metrics.StepsFile, metrics.LayersFile} {
		content, err := os.ReadFile(filepath.Join(d.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		b.Write(content)
	}
	return b.String()
}

// unbroken is the outcome of the run without interruption.
func unbroken(t testing.TB) string {
	t.Helper()
	unbrokenOnce.Do(func() {
		d := &runDir{dir: t.TempDir()}
		r, err := d.run(t, t.Context(), nil)
		if err != nil || r.Status != metrics.Done {
			t.Fatal(r, err)
		}
		unbrokenOutcome = d.outcome(t, r)
	})
	return unbrokenOutcome
}

var (
	unbrokenOnce    sync.Once
	unbrokenOutcome string
)

func TestInterruptionAtEveryStep(t *testing.T) {
	t.Parallel()
	want := unbroken(t)
	for at := range 21 {
		d := &runDir{dir: t.TempDir()}
		ctx, cancel := context.WithCancel(t.Context())
		if at == 0 {
			cancel()
		}
		r, err := d.run(t, ctx, func(j *Job[float32]) {
			j.Progress = func(p Progress) {
				if p.Step >= at {
					cancel()
				}
			}
		})
		cancel()
		if err != nil || r.Status != metrics.Interrupted || r.Steps != int64(at) || r.Checkpoint == "" {
			t.Fatalf("interrupted at %d: %+v, %v", at, r, err)
		}
		if r, err = d.run(t, t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if got := d.outcome(t, r); got != want {
			t.Errorf("interrupted at %d: the outcome differs", at)
		}
	}
}

// brokenLog fails at the row of a step, as if the process died there: rows
// have been written that no checkpoint knows of.
type brokenLog struct {
	*metrics.Files
	at int64
}

var errBroken = errors.New("broken")

func (l brokenLog) Step(s metrics.Step) error {
	if s.Step == l.at {
		return errBroken
	}
	return l.Files.Step(s)
}

func TestDeathAtEveryStep(t *testing.T) {
	t.Parallel()
	want := unbroken(t)
	for at := range int64(21) {
		d := &runDir{dir: t.TempDir()}
		_, err := d.run(t, t.Context(), func(j *Job[float32]) { j.Sink = brokenLog{j.Sink.(*metrics.Files), at} })
		if !errors.Is(err, errBroken) {
			t.Fatal(err)
		}
		r, err := d.run(t, t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := d.outcome(t, r); got != want {
			t.Errorf("dead at %d: the outcome differs", at)
		}
	}
}

func TestRunAgainAfterTheEnd(t *testing.T) {
	d := &runDir{dir: t.TempDir()}
	for range 3 {
		r, err := d.run(t, t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := d.outcome(t, r); got != unbroken(t) {
			t.Error("the outcome differs")
		}
	}
	short := func(j *Job[float32]) { j.Config.Steps = 10 }
	if r, err := d.run(t, t.Context(), short); err != nil || r.Steps != 20 {
		t.Errorf("past the end: %+v, %v; want no step", r, err)
	}
}

// TestMoreSteps: under a constant schedule a run of 20 steps that is given 20
// more is a run of 40.
func TestMoreSteps(t *testing.T) {
	constant := func(steps int) func(*Job[float32]) {
		return func(j *Job[float32]) {
			j.Config.Schedule, j.Config.Steps, j.Probe.Every = "constant", steps, 0
		}
	}
	long, short := &runDir{dir: t.TempDir()}, &runDir{dir: t.TempDir()}
	want, err := long.run(t, t.Context(), constant(40))
	if err != nil {
		t.Fatal(err)
	}
	for _, steps := range []int{20, 40} {
		got, err := short.run(t, t.Context(), constant(steps))
		if err != nil || steps == 40 && got.WeightsSHA256 != want.WeightsSHA256 {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

// TestFreshStartRemovesOldCheckpoints: a step-5000 of an older run must not be
// taken for the newest of this one.
func TestFreshStartRemovesOldCheckpoints(t *testing.T) {
	d := &runDir{dir: t.TempDir()}
	if _, err := d.run(t, t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	c := mustOpen(t, d.dir)
	if err := os.Rename(c.path(20), c.path(5000)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r, err := d.run(t, ctx, func(j *Job[float32]) {
		j.From = nil
		j.Progress = func(p Progress) {
			if p.Step == 2 {
				cancel()
			}
		}
	})
	if err != nil || r.Steps != 2 {
		t.Fatal(r, err)
	}
	if steps, _ := c.steps(); !slices.Equal(steps, []int64{2}) {
		t.Errorf("checkpoints %v, want that of step 2 alone", steps)
	}
}
