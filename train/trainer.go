package train

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"ablate/graph"
	"ablate/ops/kernel"
	"ablate/train/metrics"
)

// trainer is a run under way.
type trainer[T graph.Float] struct {
	job *Job[T]
	log Log // the sink, if it can be cut back

	optimizer Optimizer[T]
	flat      *flat[T]
	gradient  *gradient[T]
	norms     *norms

	step    int   // updates made, skipped ones included
	tokens  int64 // target tokens trained on
	skipped int64 // updates left out

	trainLoss, norm metrics.Value // of the last step
	valLoss         metrics.Value // of the last evaluation
	finalLoss       metrics.Value // of the evaluation at the end
	fault           *NonFinite

	saved int64 // step of the last checkpoint, -1 if there is none
	path  string
	clock clock

	readings *readings
	pause    atomic.Bool // a step is being recorded, and the team has nothing to do
}

// newTrainer checks everything before it changes anything, then puts model,
// records and checkpoints in the state that the job starts from.
func newTrainer[T graph.Float](job *Job[T]) (*trainer[T], error) {
	if err := errors.Join(job.Config.Validate(), job.Probe.Validate()); err != nil {
		return nil, err
	}
	if err := job.Model.check(job.Config, job.Data); err != nil {
		return nil, err
	}
	t := &trainer[T]{job: job, saved: -1, clock: newClock()}
	if t.log, _ = job.Sink.(Log); t.log == nil && job.Sink != nil && job.Checkpoints != nil {
		return nil, errors.New("train: checkpoints need a sink that can be cut back")
	}
	t.optimizer, _ = lookupOptimizer[T](job.Config.Optimizer)
	t.flat = newFlat(job.Model, t.optimizer, job.Config)
	t.gradient = newGradient(job, t.flat)
	t.norms = newNorms(t.flat.specs, job.Model.Layers, job.Probe.Params)
	t.readings = newReadings(len(t.gradient.streamSq), int64(len(t.gradient.tokens))*int64(job.Model.Width), t.norms.groups)
	if job.From != nil {
		if err := t.restore(job.From); err != nil {
			return nil, err
		}
	}
	return t, t.cutBack()
}

// restore takes the state of a checkpoint, or says why it belongs to another
// run.
func (t *trainer[T]) restore(c *Checkpoint) error {
	if err := t.belongs(c); err != nil {
		return err
	}
	p := t.job.Model.Params
	restoreVector(c.vectors[0], p, p.Values())
	for i, v := range t.flat.vec.State {
		restoreVector(c.vectors[1+i], p, v)
	}
	t.step, t.tokens, t.skipped, t.trainLoss, t.norm = int(c.Step), c.Tokens, c.Skipped, c.Loss, c.GradNorm
	t.saved, t.path = c.Step, c.Path
	return nil
}

// belongs compares a checkpoint with the job.
func (t *trainer[T]) belongs(c *Checkpoint) error {
	if err := c.Belongs(t.job.Identity); err != nil {
		return err
	}
	var sections []string
	for _, s := range c.Sections {
		sections = append(sections, s.Name)
	}
	if want := t.sections(); c.Optimizer != t.optimizer.Name || !slices.Equal(sections, want) {
		return c.mismatch([]string{fmt.Sprintf("optimizer: %s with %v in the checkpoint, %s with %v here", c.Optimizer, sections, t.optimizer.Name, want)})
	}
	return c.fits(graph.DtypeOf[T]().String(), paramShapes(t.flat.specs))
}

// sections names the vectors of a checkpoint in order.
func (t *trainer[T]) sections() []string {
	return append([]string{weightsSection}, t.optimizer.State...)
}

// cutBack removes the records and checkpoints beyond the step that the run
// starts from. The records are looked at first: if they are too short to be
// continued, or no row ends there, nothing is removed.
func (t *trainer[T]) cutBack() error {
	var to metrics.Offsets
	if c := t.job.From; c != nil && t.log != nil {
		if c.Records == nil {
			return c.mismatch([]string{"records: it was saved without any, and cannot continue them"})
		}
		to = *c.Records
		if have := t.log.Offsets(); have.Metrics < to.Metrics || have.Layers < to.Layers {
			return c.mismatch([]string{fmt.Sprintf("records: it continues %d bytes of metrics and %d of layers, there are %d and %d here",
				to.Metrics, to.Layers, have.Metrics, have.Layers)})
		}
		if err := t.log.EndRows(to); err != nil {
			return c.mismatch([]string{"records: " + err.Error()})
		}
	}
	if t.job.Checkpoints != nil {
		if err := t.job.Checkpoints.discard(t.saved); err != nil {
			return err
		}
	}
	if t.log == nil {
		return nil
	}
	return t.log.Truncate(to)
}

// save writes a checkpoint of this step, unless there is one already. Numbers
// that are not finite never get there: they are a fault instead. The records
// are on disk before a checkpoint says how long they are.
func (t *trainer[T]) save() error {
	if t.saved == int64(t.step) {
		return nil
	}
	if t.fault = t.nonFiniteState(); t.fault != nil || t.job.Checkpoints == nil {
		return nil
	}
	c := &Checkpoint{
		Step: int64(t.step), Tokens: t.tokens, Skipped: t.skipped, Loss: t.trainLoss, GradNorm: t.norm,
		Identity: t.job.Identity, Kernels: kernel.Path(), Dtype: graph.DtypeOf[T]().String(), Optimizer: t.optimizer.Name, Params: paramShapes(t.flat.specs),
	}
	if t.log != nil {
		if err := t.log.Sync(); err != nil {
			return err
		}
		offsets := t.log.Offsets()
		c.Records = &offsets
	}
	vectors := []vector{vectorOf(weightsSection, t.job.Model.Params, t.flat.vec.Values)}
	for i, v := range t.flat.vec.State {
		vectors = append(vectors, vectorOf(t.optimizer.State[i], t.job.Model.Params, v))
	}
	if err := t.job.Checkpoints.save(c, vectors); err != nil {
		return err
	}
	t.saved, t.path = c.Step, t.job.Checkpoints.path(c.Step)
	return nil
}
