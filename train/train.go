package train

import (
	"context"
	"fmt"

	"ablate/graph"
	"ablate/train/metrics"
)

// Job is one training run.
type Job[T graph.Float] struct {
	Config Config
	Probe  Probe
	Model  *Model[T]
	Data   Data
	Seed   uint64 // of the random numbers of dropout
	Salt   string // other random numbers for the same seed

	// From is the checkpoint to continue, nil to start with the values that
	// the parameters have. A run that starts anew empties its Log and removes
	// all Checkpoints; one that continues cuts both back to its step.
	From *Checkpoint
	// Identity is stored in checkpoints; all of its entries must be equal in
	// From. It names what decides the weights, such as "model.layers": "4".
	Identity map[string]string
	// Checkpoints are saved at Config.CheckpointEvery, when the run is
	// interrupted, and at its end; nil for none.
	Checkpoints *Checkpoints

	Sink     metrics.Sink   // of the records; nil for none. With Checkpoints it must be a Log
	Progress func(Progress) // called after every step and during evaluations; nil for none
}

// Log is a sink that can be cut back, so that a run that continues writes the
// bytes of one that never stopped. *metrics.Files is one.
type Log interface {
	metrics.Sink
	Sync() error
	Offsets() metrics.Offsets
	EndRows(metrics.Offsets) error
	Truncate(metrics.Offsets) error
}

// Result is how a run ended.
type Result struct {
	Status        metrics.Status // Done, Diverged or Interrupted
	Steps         int64          // updates made, those before From included
	Tokens        int64          // target tokens trained on
	Skipped       int64          // steps without an update, because their numbers were not finite
	TrainLoss     metrics.Value  // of the last step
	GradNorm      metrics.Value  // of the last step, before clipping
	ValLoss       metrics.Value  // over the whole validation split, at the end
	ValTargets    int            // targets that ValLoss is the mean over
	TokensPerS    metrics.Value  // target tokens a second in this session's steps
	WeightsSHA256 string         // see WeightsSHA256
	NonFinite     *NonFinite     // where, if Diverged
	Checkpoint    string         // the last one saved or continued; "" if none
}

// Train runs a job to its end: until its steps are done, until a number is no
// longer finite, or until ctx is done. In the last case the step under way is
// finished, a checkpoint is saved, and the status is Interrupted. The
// parameters hold the weights then reached.
//
// An error is a fault of the surroundings, never of the numbers: a
// *SaveError, a *MismatchError of From, or one of the sink.
func Train[T graph.Float](ctx context.Context, job Job[T]) (*Result, error) {
	t, err := newTrainer(&job)
	if err != nil {
		return nil, err
	}
	if s, ok := job.Sink.(metrics.Idler); ok {
		job.Model.Team.OnIdle(func(stop func() bool) bool { return s.Idle(stop, t.pause.Load()) })
		defer job.Model.Team.OnIdle(nil)
	}
	status, err := t.loop(ctx)
	if err != nil {
		return nil, fmt.Errorf("step %d: %w", t.step, err)
	}
	if t.fault != nil {
		status = metrics.Diverged
	}
	return t.result(status), nil
}

// loop is the run. Between turns, step is the number of updates made, and
// everything that a row of records holds belongs to the weights they led to. A
// fault ends it.
func (t *trainer[T]) loop(ctx context.Context) (metrics.Status, error) {
	c := &t.job.Config
	for t.step < c.Steps {
		if ctx.Err() != nil {
			return metrics.Interrupted, t.save()
		}
		row := metrics.Step{Step: int64(t.step), Tokens: t.tokens, LR: metrics.Known(c.LearningRate(t.step))}
		if c.EvalEvery > 0 && t.step > 0 && t.step%c.EvalEvery == 0 {
			loss, whole := t.evaluate(ctx, c.EvalTokens)
			if !whole {
				continue // to the check for interruption
			}
			setValidation(&row, loss)
		}
		if err := t.turn(&row); err != nil || t.fault != nil {
			return metrics.Diverged, err
		}
		if c.CheckpointEvery > 0 && t.step%c.CheckpointEvery == 0 {
			if err := t.save(); err != nil || t.fault != nil {
				return metrics.Diverged, err
			}
		}
	}
	return t.finish(ctx)
}

// turn computes a gradient, takes the step that follows from it if all numbers
// are finite, and records both. If they are not, the run is at fault, unless
// its configuration says to go on without the update.
func (t *trainer[T]) turn(row *metrics.Step) error {
	c := &t.job.Config
	start := t.clock.now()
	probe := t.job.Probe.Due(t.step, *c)
	if err := t.gradient.compute(t.step, probe); err != nil {
		return err
	}
	norm := t.gradNorm()
	clip := c.Clip.Coefficient(norm)
	fault := t.nonFinite(norm, clip)
	if fault != nil {
		if !probe { // the stream says where it began
			if err := t.gradient.compute(t.step, true); err != nil {
				return err
			}
			probe, fault = true, t.nonFinite(norm, clip)
		}
		t.measureValues()
	}
	if fault == nil {
		t.flat.update(t.step+1, c.LearningRate(t.step), clip, probe)
		row.ClipCoef = metrics.Known(clip)
	} else if c.OnNonFinite == skipNonFinite && fault.What != faultInWeight { // spoilt weights spoil every step
		t.skipped++
	} else {
		t.fault = fault
	}
	t.clock.stepped(start, t.gradient.count)
	row.Loss, row.GradNorm = metrics.Known(t.gradient.loss), metrics.Known(norm)
	return t.record(row, probe, fault == nil)
}

// finish evaluates on the whole validation split. The checkpoint of the last
// step comes before, so that an interruption loses nothing.
func (t *trainer[T]) finish(ctx context.Context) (metrics.Status, error) {
	if err := t.save(); err != nil || t.fault != nil {
		return metrics.Diverged, err
	}
	loss, whole := t.evaluate(ctx, 0)
	if !whole {
		return metrics.Interrupted, nil
	}
	t.finalLoss = loss
	if x, known := loss.Get(); known && !finite(x) {
		t.fault = &NonFinite{Step: int64(t.step), What: "val_loss", Layer: metrics.NoLayer, Where: "the loss on the validation split"}
	}
	row := metrics.Step{Step: int64(t.step), Tokens: t.tokens}
	setValidation(&row, loss)
	return metrics.Done, t.end(row)
}
