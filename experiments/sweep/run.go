package sweep

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"ablate/experiments/results"
	"ablate/train/metrics"
)

// Options say how cells are run. None of them changes a number of a run.
type Options struct {
	Threads  int      // in all; below 1: every processor that Go may use
	Jobs     int      // cells at once, each with ⌊Threads/Jobs⌋ threads and at least one; below 1: Threads
	Cells    []int    // only these, by index; nil: all
	Resume   Resume   // where a run that was begun continues
	Force    bool     // run finished cells again
	Progress Progress // nil: nobody watches

	sharing int // cells that share the memory of the machine
}

// Outcome is how one cell ended.
type Outcome struct {
	Cell    *Cell
	Summary metrics.Summary // Status is pending where nothing was run
	Reused  bool            // the cell was found finished
	Err     error           // what kept it from an end; divergence is no error
}

// waitForOthers is how long a process waits before it looks again at a cell that another one runs.
const waitForOthers = 500 * time.Millisecond

// Run runs the cells of a plan into the directory of its experiment, and writes
// experiment.yaml and cells.json beside them. A cell that fails does not stop the
// others. One that another process is running is left for the end, and waited for; if
// it is the only one, or Cells names it, its Outcome has a *Locked instead. When ctx
// ends, the cells save what they have and the rest stays pending.
//
// There is an outcome for each cell asked for, in their order. The error joins what
// went wrong with the directory, and every error of a cell.
func Run(ctx context.Context, p *Plan, dir string, o Options) ([]Outcome, error) {
	cells, err := p.selected(o.Cells)
	if err != nil {
		return nil, err
	}
	if path, named := o.Resume.path(); named {
		if len(cells) > 1 {
			return nil, fmt.Errorf("a checkpoint to resume from (%s) is for one cell, not for %d", path, len(cells))
		}
		if err := cells[0].goOn(path); err != nil {
			return nil, err
		}
	}
	if err := p.writeFiles(dir, nil); err != nil {
		return nil, err
	}
	o = o.complete(len(cells))
	out := make([]Outcome, len(cells))
	each := o
	each.Threads, each.sharing = max(1, o.Threads/o.Jobs), o.Jobs
	patient := o.Cells == nil && len(cells) > 1

	queue := make(chan int)
	var pool sync.WaitGroup
	for range o.Jobs {
		pool.Go(func() {
			for i := range queue {
				out[i] = runOne(ctx, cells[i], dir, each, patient)
			}
		})
	}
	for i := range cells {
		queue <- i
	}
	close(queue)
	pool.Wait()
	if patient {
		waitForLocked(ctx, out, dir, o)
	}
	return out, errors.Join(failures(out), p.twins(out), p.writeFiles(dir, out))
}

// selected is the cells with the given indices.
func (p *Plan) selected(indices []int) ([]*Cell, error) {
	if indices == nil {
		return p.Cells, nil
	}
	var cells []*Cell
	for _, i := range indices {
		if i < 0 || i >= len(p.Cells) {
			return nil, fmt.Errorf("there is no cell %d; the experiment has cells 0 to %d", i, len(p.Cells)-1)
		}
		cells = append(cells, p.Cells[i])
	}
	return cells, nil
}

// complete replaces what is left to choose. More jobs than cells would leave threads idle.
func (o Options) complete(cells int) Options {
	if o.Threads < 1 {
		o.Threads = runtime.GOMAXPROCS(0)
	}
	if o.Jobs < 1 {
		o.Jobs = o.Threads
	}
	o.Jobs, o.sharing = max(1, min(o.Jobs, cells)), max(1, o.sharing)
	if o.Progress == nil {
		o.Progress = Silent{}
	}
	if _, already := o.Progress.(*oneAtATime); !already {
		o.Progress = &oneAtATime{to: o.Progress}
	}
	return o
}

// runOne runs a cell, unless it is too late, and tells how it ended; a patient caller
// is going to ask again for one that another process is running.
func runOne(ctx context.Context, c *Cell, dir string, o Options, patient bool) Outcome {
	out := Outcome{Cell: c, Summary: metrics.Summary{ID: c.ID, Status: results.Pending}}
	if ctx.Err() == nil {
		out = RunCell(ctx, c, dir, o)
	}
	var held *Locked
	if errors.As(out.Err, &held) && patient && !held.Elsewhere {
		o.Progress.Note(c, held.Error()+"; it is waited for at the end")
		return out
	}
	o.Progress.Finished(out)
	return out
}

// waitForLocked takes the cells that other processes were running: once they let go,
// a finished one is read, and an unfinished one is run. All threads are free by now.
func waitForLocked(ctx context.Context, out []Outcome, dir string, o Options) {
	for i := range out {
		var held *Locked
		if errors.As(out[i].Err, &held) && held.Elsewhere {
			continue // told already
		}
		for errors.As(out[i].Err, &held) && !held.Elsewhere && ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-time.After(waitForOthers):
				out[i] = RunCell(ctx, out[i].Cell, dir, o)
			}
		}
		if held != nil {
			o.Progress.Finished(out[i])
		}
	}
}

// failures joins the errors of the cells.
func failures(out []Outcome) error {
	var errs []error
	for _, o := range out {
		if o.Err != nil {
			errs = append(errs, fmt.Errorf("cell %d (%s): %w", o.Cell.Index, o.Cell.name(), o.Err))
		}
	}
	return errors.Join(errs...)
}

// name is the cell for people.
func (c *Cell) name() string {
	if c.Label == "" {
		return fmt.Sprintf("seed %d", c.Seed())
	}
	return fmt.Sprintf("%s, seed %d", c.Label, c.Seed())
}

// twins refuses two cells of one seed that were trained to the same weights and the same
// loss: whatever their configurations say, what was built and trained is the same.
func (p *Plan) twins(out []Outcome) error {
	var errs []error
	type end struct {
		weights string
		loss    metrics.Value
	}
	first := map[end]*Cell{}
	for _, o := range out {
		if o.Summary.Status != metrics.Done || o.Summary.WeightsSHA256 == "" {
			continue
		}
		e := end{o.Summary.WeightsSHA256, o.Summary.ValLoss}
		if c, twice := first[e]; twice {
			errs = append(errs, fmt.Errorf("cells %d (%s) and %d (%s) ended with the same weights: what differs between them does nothing",
				c.Index, c.name(), o.Cell.Index, o.Cell.name()))
			continue
		}
		first[e] = o.Cell
	}
	return errors.Join(errs...)
}

// writeFiles writes experiment.yaml and cells.json, with the states of cells as their
// summaries have them, and those of this process where it ran them.
func (p *Plan) writeFiles(dir string, out []Outcome) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	table := p.table()
	for i := range table.Cells {
		if s, err := readSummary(filepath.Join(dir, results.CellDir(table.Cells[i].ID))); err == nil && s.ConfigHash == table.Cells[i].ConfigHash {
			table.Cells[i].Status = s.Status
		}
	}
	for _, o := range out {
		if o.Summary.Status == metrics.Failed {
			table.Cells[o.Cell.Index].Status = metrics.Failed
		}
	}
	return errors.Join(results.WriteFile(dir, results.ExperimentFile, p.Experiment.YAML()), table.Write(dir))
}
