package sweep

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"ablate/experiments/results"
	"ablate/train"
	"ablate/train/metrics"
)

// stepsKey is the only key in which a run may differ from one that it goes on from.
const stepsKey = "train.steps"

// An origin is another run that a cell goes on from: one of more or fewer steps.
// Where the steps it has made had the learning rates that the cell gives them, the
// cell ends with the bytes of a run that never stopped, and has the identity of
// one. Otherwise it is a run of its own kind, and the origin is part of its identity.
type origin struct {
	checkpoint *train.Checkpoint
	run        string // directory of the other run
	steps      int    // that it was to make
	exact      bool
}

// origin says what another run's checkpoint is to the cell; an error is a
// *train.MismatchError.
func (c *Cell) origin(from *train.Checkpoint) (*origin, error) {
	identity := c.identityKeys()
	if differing := from.Differing(identity); !slices.Equal(differing, []string{stepsKey}) {
		return nil, from.Belongs(identity)
	}
	steps, err := strconv.Atoi(from.Identity[stepsKey])
	if err != nil {
		return nil, from.Belongs(identity)
	}
	if from.Step > int64(c.Config.Train.Steps) {
		return nil, &train.MismatchError{Path: from.Path, Differences: []string{
			fmt.Sprintf("it stands at step %d, past the %d steps of this run", from.Step, c.Config.Train.Steps)}}
	}
	dir := from.Path
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		dir = filepath.Dir(dir)
	}
	return &origin{checkpoint: from, run: filepath.Dir(filepath.Dir(dir)), steps: steps,
		exact: sameRates(c.Config.Train, steps, int(from.Step))}, nil
}

// sameRates reports whether a run of a number of steps has the learning rates of t
// in all steps before until.
func sameRates(t train.Config, steps, until int) bool {
	other := t
	other.Steps = steps
	for s := range until {
		if t.LearningRate(s) != other.LearningRate(s) {
			return false
		}
	}
	return true
}

// goOn makes the cell continue from a checkpoint that was named: one of its own, or
// of a run that differs in the number of steps alone.
func (c *Cell) goOn(path string) error {
	from, err := train.Load(path)
	if err != nil {
		return err
	}
	if len(from.Differing(c.identityKeys())) == 0 {
		return nil
	}
	if c.from, err = c.origin(from); err != nil {
		return err
	}
	c.reseed(c.Config.Seed) // another identity, unless the continuation is exact
	return nil
}

// findOrigin looks among the runs beside the cell's for the one whose continuation
// is exact and shortest; nil if there is none.
func (c *Cell) findOrigin(run string) *origin {
	longer := c.Config.Train.Steps + 1
	if after := c.Config.Train.Warmup.Of(c.Config.Train.Steps) + 2; after < longer && !sameRates(c.Config.Train, longer, after) {
		return nil // every rate depends on the number of steps: no other run can do
	}
	cells, err := os.ReadDir(filepath.Dir(run))
	if err != nil {
		return nil
	}
	var best *origin
	for _, cell := range cells {
		if cell.Name() == c.ID || !results.ValidID(cell.Name()) {
			continue
		}
		for _, path := range train.Saved(filepath.Join(filepath.Dir(run), cell.Name(), results.CheckpointsDir)) {
			from, err := train.Peek(path)
			if err != nil {
				continue
			}
			o, err := c.origin(from)
			if err != nil || !o.exact || best != nil && best.checkpoint.Step >= from.Step {
				continue
			}
			if o.checkpoint, err = train.Load(path); err == nil {
				best = o
			}
		}
	}
	return best
}

// adopt puts the origin's records into the directory of the cell, and gives its
// checkpoint as one of the cell's own. What the origin recorded only because its run
// was to end there is left out, so that the records are those of the cell from its start.
func (c *Cell) adopt(o *origin, run string) (from *train.Checkpoint, err error) {
	if o.checkpoint.Records == nil {
		return nil, &train.MismatchError{Path: o.checkpoint.Path, Differences: []string{"records: it was saved without any, and cannot continue them"}}
	}
	sink, err := metrics.OpenFiles(run)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, sink.Close()) }()
	if err := sink.Truncate(metrics.Offsets{}); err != nil {
		return nil, err
	}
	due := func(step int64) bool { return c.Config.Probe.Due(int(step), c.Config.Train) }
	err = errors.Join(
		read(o.run, metrics.StepsFile, o.checkpoint.Records.Metrics, func(r io.Reader) error {
			for row, err := range metrics.ReadSteps(r) {
				if err != nil {
					return err
				}
				if !due(row.Step) {
					row.UpdateRatio = metrics.Value{}
				}
				if err := sink.Step(row); err != nil {
					return err
				}
			}
			return nil
		}),
		read(o.run, metrics.LayersFile, o.checkpoint.Records.Layers, func(r io.Reader) error {
			var rows []metrics.Layer // of one step
			for row, err := range metrics.ReadLayers(r) {
				if err != nil {
					return err
				}
				if !due(row.Step) {
					continue
				}
				if len(rows) > 0 && rows[0].Step != row.Step {
					if err := sink.Layers(metrics.Split(rows)); err != nil {
						return err
					}
					rows = rows[:0]
				}
				rows = append(rows, row)
			}
			return sink.Layers(metrics.Split(rows))
		}),
		sink.Sync())
	if err != nil {
		return nil, &train.CorruptError{Path: o.checkpoint.Path, Reason: "the records that it continues cannot be read", Err: err}
	}
	own, offsets := *o.checkpoint, sink.Offsets()
	own.Identity, own.Records = c.identityKeys(), &offsets
	return &own, nil
}

// read reads the first bytes of a file of records; fewer are an error.
func read(run, name string, size int64, rows func(io.Reader) error) error {
	f, err := os.Open(filepath.Join(run, name))
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() < size {
		return errors.Join(err, fmt.Errorf("%s has fewer than %d bytes", name, size))
	}
	return rows(io.LimitReader(f, size))
}

// essence is the state that is continued, wherever it lies.
func (o *origin) essence() map[string]any {
	var sums []any
	for _, s := range o.checkpoint.Sections {
		sums = append(sums, s.SHA256)
	}
	return map[string]any{"step": o.checkpoint.Step, "sections": sums}
}

// manifest names the run that this one continues.
func (o *origin) manifest() map[string]any {
	return map[string]any{"id": filepath.Base(o.run), "dir": o.run, "step": o.checkpoint.Step, "steps": o.steps,
		"weights_sha256": o.checkpoint.Sections[0].SHA256, "exact": o.exact}
}
