package cmd

import (
	"context"
	"iter"
	"math/rand/v2"
	"time"

	"ablate/train"
	"ablate/train/metrics"
)

// fixedBatch is the same uniform tokens at every step.
type fixedBatch struct{ tokens, targets []int32 }

func newFixedBatch(n, vocab int) *fixedBatch {
	r := rand.New(rand.NewPCG(1, 1))
	b := &fixedBatch{make([]int32, n), make([]int32, n)}
	for i := range n {
		b.tokens[i], b.targets[i] = r.Int32N(int32(vocab)), r.Int32N(int32(vocab))
	}
	return b
}

func (b *fixedBatch) Batch(tokens, targets []int32, _, _ int) {
	copy(tokens, b.tokens)
	copy(targets, b.targets)
}

// stepper is a training run that stands still between its steps.
type stepper struct {
	next func() (time.Duration, bool) // takes a step and gives its time; false if the run has ended
	stop func()                       // ends the run
	err  error                        // of the run, once it has ended
}

// newStepper begins to train a shape; probes says whether every layer is looked
// at in every step.
func newStepper(ctx context.Context, m *train.Model[float32], s benchShape, sink metrics.Sink, probes bool) *stepper {
	vocab := m.Params.Specs()[0].Shape[0] // of embed.wte
	job := train.Job[float32]{
		Config: train.Config{
			Steps: 1e9, Batch: s.sequences, Accumulate: 1, Optimizer: "adamw", LR: 3e-4, Betas: [2]float64{0.9, 0.95},
			Eps: 1e-8, WeightDecay: 0.1, Clip: 1, Schedule: "constant",
		},
		Model: m, Data: train.Data{Train: newFixedBatch(m.Step.Input("tokens").Len(), vocab)}, Sink: sink,
	}
	if probes {
		job.Probe.Every = 1
	}
	r := &stepper{}
	r.next, r.stop = iter.Pull(func(yield func(time.Duration) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		begun := time.Now()
		job.Progress = func(train.Progress) {
			if !yield(time.Since(begun)) {
				cancel()
			}
			begun = time.Now()
		}
		_, r.err = train.Train(ctx, job)
	})
	return r
}

// take takes n steps and gives their time.
func (r *stepper) take(n int) (sum time.Duration, ok bool) {
	for range n {
		t, ok := r.next()
		if !ok {
			return sum, false
		}
		sum += t
	}
	return sum, true
}

// warmSteps are not counted: caches, page faults, the processor's clock.
const warmSteps = 3

// stepTimes trains for some seconds, recording a row a step, and gives the time
// of every step and the allocations that one makes.
func stepTimes(ctx context.Context, m *train.Model[float32], s benchShape, seconds float64) (times []time.Duration, allocs float64, err error) {
	r := newStepper(ctx, m, s, discard{}, false)
	_, ok := r.take(warmSteps)
	times = make([]time.Duration, 0, 1<<20)
	before := mallocs()
	for begun := time.Now(); ok && len(times) < cap(times) && (len(times) < 4 || time.Since(begun).Seconds() < seconds); {
		var t time.Duration
		if t, ok = r.next(); ok {
			times = append(times, t)
		}
	}
	allocs = float64(mallocs()-before) / float64(max(1, len(times)))
	r.stop()
	if r.err == nil && len(times) == 0 {
		return nil, 0, ctx.Err()
	}
	return times, allocs, r.err
}

// discard drops all records.
type discard struct{}

func (discard) Step(metrics.Step) error                             { return nil }
func (discard) Layers(int64, *metrics.Table, []metrics.Value) error { return nil }
func (discard) Timing(metrics.Timing) error                         { return nil }
func (discard) Flush() error                                        { return nil }
func (discard) Close() error                                        { return nil }
