package sweep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ablate/experiments/config"
	"ablate/experiments/results"
	"ablate/train"
	"ablate/train/metrics"
)

// small is an experiment of four cells that trains in an instant.
func small() string {
	return tiny("axes:", "  model.placement: [post, pre]", "seeds: [1, 2]",
		"quick: {train.steps: 6, train.checkpoint_every: 2, train.eval_every: 3, probe.every: 2, data.validation: 0.02}")
}

func run(t *testing.T, p *Plan, dir string, o Options) []Outcome {
	t.Helper()
	out, err := Run(context.Background(), p, dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// recorded are the files whose bytes are promised.
var recorded = []string{metrics.StepsFile, metrics.LayersFile}

// sameBytes compares the results of two runs of a plan.
func sameBytes(t *testing.T, p *Plan, a, b string) {
	t.Helper()
	for _, c := range p.Cells {
		cell := filepath.FromSlash(results.CellDir(c.ID))
		for _, name := range recorded {
			x, err := os.ReadFile(filepath.Join(a, cell, name))
			y, err2 := os.ReadFile(filepath.Join(b, cell, name))
			if err != nil || err2 != nil || len(x) == 0 {
				t.Fatalf("%s of cell %d: %d bytes, %v, %v", name, c.Index, len(x), err, err2)
			}
			if !bytes.Equal(x, y) {
				t.Errorf("%s of cell %d differs", name, c.Index)
			}
		}
		x, err := readSummary(filepath.Join(a, cell))
		y, err2 := readSummary(filepath.Join(b, cell))
		if err != nil || err2 != nil || x.WeightsSHA256 != y.WeightsSHA256 || x.ValLoss != y.ValLoss {
			t.Errorf("cell %d ends with %s, %v and with %s, %v (%v, %v)", c.Index, x.WeightsSHA256, x.ValLoss, y.WeightsSHA256, y.ValLoss, err, err2)
		}
	}
}

func TestRunDirectory(t *testing.T) {
	p, dir := plan(t, small(), "quick"), t.TempDir()
	out := run(t, p, dir, Options{Threads: 2})
	for i, o := range out {
		s := o.Summary
		if o.Cell != p.Cells[i] || o.Reused || s.Status != metrics.Done || s.Steps != 6 || s.Tokens != 6*2*16 || s.Params != o.Cell.Size.Params ||
			s.ID != o.Cell.ID || !s.ValPPL.Finite() || !s.ValBPB.Finite() || len(s.WeightsSHA256) != 64 || s.DataHash == "" {
			t.Errorf("outcome %d is %+v", i, o)
		}
	}

	e, err := results.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if e.Name != "tiny" || len(e.Arms) != 2 || len(e.Arms[0].Runs) != 2 || e.Arms[1].Name() != "pre" || !e.Arms[1].Runs[1].Finished() {
		t.Errorf("loaded is %+v", e)
	}
	model, ok := e.Arms[0].Runs[0].Manifest["model"].(map[string]any)
	if !ok || !strings.Contains(fmt.Sprint(model["placement"]), "N1(x + F(x))") {
		t.Errorf("the manifest attests %v", model)
	}

	t.Run("config.yaml runs the same cell", func(t *testing.T) {
		c := p.Cells[2]
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(results.CellDir(c.ID)), results.ConfigFile))
		if err != nil {
			t.Fatal(err)
		}
		tree, err := config.ParseFile(results.ConfigFile, text)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Single(tree)
		if err != nil || again.Cells[0].Hash != c.Hash {
			t.Fatalf("the plan is %+v (%v), the cell was %s, from\n%s", again, err, c.ID, text)
		}
		if o := RunCell(context.Background(), again.Cells[0], dir, Options{}); !o.Reused || o.Err != nil {
			t.Errorf("it was run again: %+v", o)
		}
	})
}

func TestSameBytesForAnyNumberOfThreadsAndJobs(t *testing.T) {
	p, first := plan(t, small(), "quick"), t.TempDir()
	run(t, p, first, Options{Threads: 1, Jobs: 1})
	for _, o := range []Options{{Threads: 2, Jobs: 2}, {Threads: 2, Jobs: 1}, {Threads: 4, Jobs: 1}} {
		t.Run(fmt.Sprintf("%d threads, %d jobs", o.Threads, o.Jobs), func(t *testing.T) {
			dir := t.TempDir()
			run(t, plan(t, small(), "quick"), dir, o)
			sameBytes(t, p, first, dir)
		})
	}
}

func TestSameBytesWhateverIsRecomputed(t *testing.T) {
	p, first := plan(t, small(), "quick"), t.TempDir()
	run(t, p, first, Options{Threads: 2})
	for _, c := range []string{"none", "block"} {
		dir := t.TempDir()
		again := plan(t, small(), "quick")
		for _, cell := range again.Cells {
			cell.Config.Train.Recompute = c
		}
		run(t, again, dir, Options{Threads: 2})
		sameBytes(t, p, first, dir)
	}
}

func TestFinishedCellsAreNotRunAgain(t *testing.T) {
	p, dir := plan(t, small(), "quick"), t.TempDir()
	first := run(t, p, dir, Options{Cells: []int{1}})
	second := run(t, p, dir, Options{Jobs: 1})
	for i, o := range second {
		if o.Reused != (i == 1) {
			t.Errorf("cell %d: reused is %v", i, o.Reused)
		}
	}
	if a, b := first[0].Summary, second[1].Summary; a != b {
		t.Errorf("the summary was %+v, is %+v", a, b)
	}
	for _, o := range run(t, p, dir, Options{Force: true, Cells: []int{1, 2}}) {
		if o.Reused || o.Summary.WeightsSHA256 != second[o.Cell.Index].Summary.WeightsSHA256 {
			t.Errorf("forced: %+v", o)
		}
	}
	if _, err := Run(context.Background(), p, dir, Options{Cells: []int{4}}); err == nil || !strings.Contains(err.Error(), "cells 0 to 3") {
		t.Errorf("error is %v", err)
	}
}

// stopper ends a context when a cell has made a number of updates.
type stopper struct {
	Silent
	at    int
	stop  context.CancelFunc
	begun atomic.Int64
}

func (s *stopper) Started(_ *Cell, step int64) { s.begun.Store(step) }
func (s *stopper) Step(_ *Cell, p train.Progress) {
	if p.Step >= s.at {
		s.stop()
	}
}

func TestInterruptedCellResumes(t *testing.T) {
	p, unbroken, dir := plan(t, small(), "quick"), t.TempDir(), t.TempDir()
	run(t, p, unbroken, Options{})
	for at := 1; at <= 6; at += 2 { // each time a little further
		ctx, cancel := context.WithCancel(context.Background())
		s := &stopper{at: at, stop: cancel}
		out, err := Run(ctx, p, dir, Options{Jobs: 1, Progress: s})
		cancel()
		if err != nil || out[0].Summary.Status != metrics.Interrupted || out[3].Summary.Status != results.Pending {
			t.Fatalf("stopped at %d: %+v, %v", at, out, err)
		}
	}
	s := &stopper{at: 1 << 30}
	for i, o := range run(t, p, dir, Options{Jobs: 1, Progress: s}) {
		if o.Reused || o.Summary.Status != metrics.Done {
			t.Errorf("cell %d: %+v", i, o)
		}
	}
	sameBytes(t, p, unbroken, dir)

	t.Run("never", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		dir := t.TempDir()
		Run(ctx, p, dir, Options{Cells: []int{0}, Progress: &stopper{at: 3, stop: cancel}})
		s := &stopper{at: 1 << 30}
		s.begun.Store(-1)
		run(t, p, dir, Options{Cells: []int{0}, Resume: ResumeNever, Progress: s})
		if s.begun.Load() != 0 {
			t.Errorf("it began at step %d", s.begun.Load())
		}
	})

	t.Run("from a path", func(t *testing.T) {
		checkpoint := filepath.Join(unbroken, filepath.FromSlash(results.CellDir(p.Cells[0].ID)), results.CheckpointsDir, "step-6")
		_, err := Run(context.Background(), p, t.TempDir(), Options{Cells: []int{1}, Resume: Resume(checkpoint)})
		var other *train.MismatchError
		if !errors.As(err, &other) || !strings.Contains(err.Error(), "seed: 1 in the checkpoint, 2 here") {
			t.Errorf("the checkpoint of another seed: %v", err)
		}
		if _, err := Run(context.Background(), p, dir, Options{Resume: Resume(checkpoint)}); err == nil || !strings.Contains(err.Error(), "for one cell, not for 4") {
			t.Errorf("for all cells: %v", err)
		}
	})
}

// slow is a Progress that holds up every step.
type slow struct{ Silent }

func (slow) Step(*Cell, train.Progress) { time.Sleep(10 * time.Millisecond) }

// runInto runs the cells of small.
func runInto(dir string) error {
	e, err := Parse("small.yaml", []byte(small()))
	if err != nil {
		return err
	}
	if e, err = e.With("quick", nil); err != nil {
		return err
	}
	p, err := e.Plan(new(Corpora))
	if err != nil {
		return err
	}
	_, err = Run(context.Background(), p, dir, Options{Jobs: 1, Progress: slow{}})
	return err
}

func TestKilledProcessResumes(t *testing.T) {
	p, unbroken, dir := plan(t, small(), "quick"), t.TempDir(), t.TempDir()
	run(t, p, unbroken, Options{})
	for _, c := range p.Cells[:3] { // killed in the first cell, the second, the third
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), runSlowly+"="+dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		checkpoints := filepath.Join(dir, filepath.FromSlash(results.CellDir(c.ID)), results.CheckpointsDir, "step-*")
		for begun := time.Now(); time.Since(begun) < time.Minute; time.Sleep(time.Millisecond) {
			if found, _ := filepath.Glob(checkpoints); len(found) > 0 {
				break
			}
		}
		cmd.Process.Kill()
		if err := cmd.Wait(); err == nil {
			t.Error("it ended before it was killed")
		}
	}
	s := &stopper{at: 1 << 30}
	if out := run(t, p, dir, Options{Jobs: 1, Progress: s, Cells: []int{2}}); out[0].Reused || s.begun.Load() == 0 {
		t.Errorf("the third cell began at step %d: %+v", s.begun.Load(), out[0])
	}
	run(t, p, dir, Options{})
	sameBytes(t, p, unbroken, dir)
}

// TestProcessesShareTheCells starts several processes on one experiment at once:
// each cell is run by one of them, and all of them end well.
func TestProcessesShareTheCells(t *testing.T) {
	p, alone, dir := plan(t, small(), "quick"), t.TempDir(), t.TempDir()
	run(t, p, alone, Options{})
	var others []*exec.Cmd
	for range 3 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), runSlowly+"="+dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		others = append(others, cmd)
	}
	for _, cmd := range others {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	sameBytes(t, p, alone, dir)
	for i, o := range run(t, p, dir, Options{}) {
		if !o.Reused {
			t.Errorf("cell %d was not finished", i)
		}
	}
}

func TestOneFailingCellDoesNotStopTheOthers(t *testing.T) {
	p, dir := plan(t, small(), "quick"), t.TempDir()
	bad := filepath.Join(dir, filepath.FromSlash(results.CellDir(p.Cells[1].ID)), metrics.StepsFile)
	if err := os.MkdirAll(bad, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, jobs := range []int{1, 2} {
		out, err := Run(context.Background(), p, dir, Options{Threads: 2, Jobs: jobs})
		if err == nil || !strings.Contains(err.Error(), "cell 1 (model.placement=post, seed 2): ") {
			t.Errorf("error is %v", err)
		}
		for i, o := range out {
			if want := map[bool]metrics.Status{false: metrics.Done, true: metrics.Failed}[i == 1]; o.Summary.Status != want {
				t.Errorf("cell %d is %s, want %s", i, o.Summary.Status, want)
			}
		}
		text, err := os.ReadFile(filepath.Join(dir, results.CellsFile))
		if err != nil {
			t.Fatal(err)
		}
		table, err := results.ParseCells(text)
		if err != nil || table.Cells[1].Status != metrics.Failed || table.Cells[2].Status != metrics.Done {
			t.Errorf("cells.json holds %+v (%v)", table, err)
		}
	}
	if err := os.Remove(bad); err != nil {
		t.Fatal(err)
	}
	for i, o := range run(t, p, dir, Options{}) {
		if o.Reused != (i != 1) {
			t.Errorf("afterwards: cell %d: reused is %v", i, o.Reused)
		}
	}
}

func TestCellOfAnotherProcess(t *testing.T) {
	p, dir := plan(t, small(), "quick"), t.TempDir()
	cell := filepath.Join(dir, filepath.FromSlash(results.CellDir(p.Cells[0].ID)))
	if err := os.MkdirAll(cell, 0o777); err != nil {
		t.Fatal(err)
	}
	l, err := lockDir(cell, false)
	if err != nil {
		t.Fatal(err)
	}
	var held *Locked
	if out, err := Run(context.Background(), p, dir, Options{Cells: []int{0}}); !errors.As(err, &held) || out[0].Summary.Status != results.Pending {
		t.Errorf("asked for by index: %v", err)
	}
	one := plan(t, small(), "quick", "model.placement=post", "seeds=1")
	if _, err := Run(context.Background(), one, dir, Options{}); !errors.As(err, &held) || one.Cells[0].ID != p.Cells[0].ID {
		t.Errorf("the only cell: %v", err)
	}
	time.AfterFunc(waitForOthers/4, func() { l.release() })
	for i, o := range run(t, p, dir, Options{Jobs: 2}) {
		if o.Summary.Status != metrics.Done {
			t.Errorf("cell %d: %+v", i, o)
		}
	}
}

func TestCellsThatEndAlikeAreRefused(t *testing.T) {
	a, b := &Cell{Index: 0, Label: "x=1"}, &Cell{Index: 1, Label: "x=2"}
	done := metrics.Summary{Status: metrics.Done, WeightsSHA256: "f00"}
	err := new(Plan).twins([]Outcome{{Cell: a, Summary: done}, {Cell: b, Summary: done}})
	if err == nil || !strings.Contains(err.Error(), "cells 0 (x=1, seed 0) and 1 (x=2, seed 0) ended with the same weights") {
		t.Errorf("error is %v", err)
	}
	other := done
	other.ValLoss = metrics.Known(2) // of what only the loss depends on
	if err := new(Plan).twins([]Outcome{{Cell: a, Summary: done}, {Cell: b, Summary: other}}); err != nil {
		t.Errorf("two losses: %v", err)
	}
}
