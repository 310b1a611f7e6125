package train

import "ablate/train/metrics"

// gradNorm measures the gradient of every parameter and gives the norm of the
// whole.
func (t *trainer[T]) gradNorm() float64 {
	t.flat.gradSquares(t.norms.grad)
	return t.norms.total.of(t.norms.grad)
}

// measureValues measures the weights of every parameter, where no update does
// so on its way.
func (t *trainer[T]) measureValues() {
	t.flat.do(t.flat.tasks.valueNorms)
	byParam(t.norms.value, t.flat.all, t.flat.valueSq)
}

// record writes the rows of a step, counts it unless it ends the run, and tells
// how things stand. updated says that the weights were changed.
func (t *trainer[T]) record(row *metrics.Step, probe, updated bool) error {
	t.pause.Store(true)
	defer t.pause.Store(false)
	if probe && updated {
		byParam(t.norms.value, t.flat.all, t.flat.valueSq)
		byParam(t.norms.delta, t.flat.all, t.flat.deltaSq)
		row.UpdateRatio = updateRatio(t.norms.total.of(t.norms.delta), t.norms.total.of(t.norms.value))
	}
	if t.job.Sink != nil {
		if probe {
			table, values := t.measured(updated)
			if err := t.job.Sink.Layers(row.Step, table, values); err != nil {
				return err
			}
		}
		if err := t.job.Sink.Step(*row); err != nil {
			return err
		}
	}
	t.trainLoss, t.norm = row.Loss, row.GradNorm
	ended := t.fault != nil
	if !ended {
		t.step++
		t.tokens += int64(t.gradient.count)
	}
	t.progress(0)
	return t.timing(ended)
}

// timing records a reading of the clock, at most one a second unless it must
// be, and lets everybody see what has been recorded so far.
func (t *trainer[T]) timing(must bool) error {
	row, due := t.clock.timing(t.step, must)
	if !due || t.job.Sink == nil {
		return nil
	}
	if err := t.job.Sink.Timing(row); err != nil {
		return err
	}
	return t.job.Sink.Flush()
}

// end records the row that carries the last evaluation.
func (t *trainer[T]) end(row metrics.Step) error {
	if t.job.Sink == nil {
		return nil
	}
	if err := t.job.Sink.Step(row); err != nil {
		return err
	}
	return t.timing(true)
}

// progress tells how things stand; evaluated is the share of an evaluation
// under way.
func (t *trainer[T]) progress(evaluated float64) {
	if t.job.Progress == nil {
		return
	}
	t.job.Progress(Progress{
		Step: t.step, Steps: t.job.Config.Steps,
		Loss: t.trainLoss.Float(), GradNorm: t.norm.Float(), ValLoss: t.valLoss,
		TokensPerS: t.clock.tokensPerS(), Elapsed: t.clock.now(), ETA: t.clock.eta(t.job.Config.Steps - t.step),
		Evaluated: evaluated,
	})
}

func (t *trainer[T]) result(status metrics.Status) *Result {
	r := &Result{
		Status: status, Steps: int64(t.step), Tokens: t.tokens,
		Skipped: t.skipped, TrainLoss: t.trainLoss, GradNorm: t.norm,
		WeightsSHA256: WeightsSHA256(t.job.Model.Params),
		NonFinite:     t.fault, Checkpoint: t.path,
	}
	if r.ValLoss = t.finalLoss; r.ValLoss != (metrics.Value{}) {
		r.ValTargets = t.validation(0).Targets()
	}
	if t.clock.steps > 0 {
		r.TokensPerS = metrics.Known(t.clock.tokensPerS())
	}
	return r
}
