package sweep

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"ablate/experiments/config"
	"ablate/experiments/results"
	"ablate/train"
	"ablate/train/metrics"
)

// Resume says where a run that was begun continues: "auto" (or "") from its newest
// good checkpoint, "never" anew, or from the checkpoint at a path.
type Resume string

// The words of Resume; anything else is a path.
const (
	ResumeAuto  Resume = "auto"
	ResumeNever Resume = "never"
)

// path is the checkpoint that is named, if one is.
func (r Resume) path() (path string, named bool) {
	return string(r), r != "" && r != ResumeAuto && r != ResumeNever
}

// RunCell runs one cell into its directory below dir, with all of o.Threads. It is
// idempotent: a finished cell is not run again unless forced, one that was killed
// continues, and the bytes of its results are those of a run that never stopped.
// One that another process is running is refused with a *Locked; one that does not
// fit the machine with a *Resources.
func RunCell(ctx context.Context, c *Cell, dir string, o Options) Outcome {
	o = o.complete(1)
	out := Outcome{Cell: c}
	run := filepath.Join(dir, filepath.FromSlash(results.CellDir(c.ID)))
	out.Summary, out.Reused, out.Err = runLocked(ctx, c, run, o)
	if out.Err != nil {
		out.Summary = metrics.Summary{ID: c.ID, Dir: run, Status: metrics.Failed, Params: c.Size.Params, ConfigHash: c.Hash}
		if held := (*Locked)(nil); errors.As(out.Err, &held) {
			out.Summary.Status = results.Pending
		}
	}
	return out
}

// runLocked looks for a summary, and runs the cell if there is none, in a directory
// that is locked meanwhile.
func runLocked(ctx context.Context, c *Cell, run string, o Options) (s metrics.Summary, reused bool, err error) {
	if err := os.MkdirAll(run, 0o777); err != nil {
		return s, false, err
	}
	l, err := lockDir(run, o.Force)
	if err != nil {
		return s, false, err
	}
	defer func() { err = errors.Join(err, l.release()) }()
	old, err := readSummary(run)
	unreadable := err != nil && !errors.Is(err, fs.ErrNotExist)
	finished := err == nil && old.ConfigHash == c.Hash && (old.Status == metrics.Done || old.Status == metrics.Diverged)
	switch {
	case finished && !o.Force:
		old.Dir = run
		return old, true, nil
	case unreadable && !o.Force:
		return s, false, err
	}
	o.Force = o.Force && (finished || unreadable) // what is unfinished continues all the same
	s, err = execute(ctx, c, run, o)
	return s, false, err
}

// readSummary reads the summary in the directory of a run.
func readSummary(run string) (s metrics.Summary, err error) {
	path := filepath.Join(run, results.SummaryFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return s, fmt.Errorf("%s: %w; --force runs the cell again", path, err)
	}
	return s, nil
}

// execute trains the cell.
func execute(ctx context.Context, c *Cell, run string, o Options) (s metrics.Summary, err error) {
	if err := cmp.Or(leastMemory(c.Config, c.Size.Params, c.corpus).fits(o.sharing), fitsDisk(c.Config, c.Size.Params, run)); err != nil {
		return s, err
	}
	d, err := newDesign(c.Config, c.corpus, o.Threads)
	if err != nil {
		return s, err
	}
	if err := d.memory.fits(o.sharing); err != nil {
		return s, err
	}
	if ctx.Err() != nil { // a deep model takes its time to plan
		return metrics.Summary{ID: c.ID, Status: results.Pending}, nil
	}
	m, err := d.build(o.Threads)
	if err != nil {
		return s, err
	}
	defer m.close()
	if err := os.Remove(filepath.Join(run, results.SummaryFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	checkpoints, err := train.OpenCheckpoints(filepath.Join(run, results.CheckpointsDir))
	if err != nil {
		return s, err
	}
	b, err := o.beginning(c, run, checkpoints)
	if err != nil {
		return s, err
	}
	manifest := c.manifest(m, b, o.Threads)
	err = errors.Join(
		results.WriteFile(run, results.ConfigFile, config.Encode(c.Config).YAML()),
		results.WriteJSON(run, results.ManifestFile, manifest))
	if err != nil {
		return s, err
	}
	r, err := m.train(ctx, c, run, checkpoints, b.from, o.Progress)
	if err != nil {
		return s, err
	}
	if r.NonFinite != nil {
		manifest["nonfinite"] = r.NonFinite
		err = results.WriteJSON(run, results.ManifestFile, manifest)
	}
	s = c.summary(run, r)
	return s, errors.Join(err, results.WriteJSON(run, results.SummaryFile, s))
}

// train runs the job of a built model.
func (m *machine) train(ctx context.Context, c *Cell, run string, checkpoints *train.Checkpoints, from *train.Checkpoint, p Progress) (r *train.Result, err error) {
	log, err := metrics.OpenFiles(run)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	m.params.Init(c.Config.Seed.Init, c.Config.Salt)
	step := int64(0)
	if from != nil {
		step = from.Step
	}
	p.Started(c, step)
	return train.Train(ctx, train.Job[float32]{
		Config: c.Config.Train, Probe: c.Config.Probe, Seed: c.Config.Seed.Data, Salt: c.Config.Salt,
		Model: &train.Model[float32]{Params: m.params, Step: m.step, Eval: m.test, Team: m.team,
			Layers: c.Config.Model.Layers, Width: c.Config.Model.DModel},
		Data: train.Data{Train: c.corpus.Sampler(c.Config.Seed.Data, c.Config.Salt), Validation: c.corpus.Validation, Whole: !c.Config.Model.Attention.Causal},
		From: from, Identity: c.identityKeys(), Checkpoints: checkpoints, Sink: log,
		Progress: func(s train.Progress) { p.Step(c, s) },
	})
}

// summary is what a run came to. Bits per byte count every byte of the validation
// part, which tokens of several bytes cover with fewer targets:
//
//	val_bpb = val_loss / ln 2 · tokens / bytes
func (c *Cell) summary(run string, r *train.Result) metrics.Summary {
	s := metrics.Summary{
		ID: c.ID, Dir: run, Status: r.Status, Steps: r.Steps, Tokens: r.Tokens, Skipped: r.Skipped, Params: c.Size.Params,
		TrainLoss: r.TrainLoss, ValLoss: r.ValLoss, GradNorm: r.GradNorm, TokensPerS: r.TokensPerS, PeakRSSBytes: PeakRSS(),
		ConfigHash: c.Hash, DataHash: c.corpus.Hash, WeightsSHA256: r.WeightsSHA256,
	}
	if loss, known := r.ValLoss.Get(); known {
		s.ValPPL = metrics.Known(math.Exp(loss))
		if n := c.corpus.ValidationBytes; n > 0 {
			s.ValBPB = metrics.Known(loss / math.Ln2 * float64(c.corpus.Validation.Len()) / float64(n))
		}
	}
	return s
}
