package train

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Config is the section "train" of a configuration: the mathematics of
// training, and the cadence of evaluations and checkpoints. The tags are read
// by the configuration reader.
type Config struct {
	Steps      int `key:"steps" default:"300" range:"[1,1000000000]" doc:"number of updates"`
	Batch      int `key:"batch" default:"8" range:"[1,65536]" doc:"sequences in a micro-batch"`
	Accumulate int `key:"accumulate" default:"1" range:"[1,65536]" doc:"micro-batches in a step"`

	Optimizer   OptimizerName `key:"optimizer" default:"adamw" doc:"rule that turns a gradient into an update"`
	LR          float64       `key:"lr" default:"1e-3" range:">0" doc:"the highest learning rate of the schedule"`
	Betas       [2]float64    `key:"betas" default:"[0.9, 0.95]" range:"[0,1)" doc:"AdamW: decay of the first and the second moment"`
	Eps         float64       `key:"eps" default:"1e-8" range:">0" doc:"AdamW: added to the root of the second moment"`
	Momentum    float64       `key:"momentum" default:"0.9" range:"[0,1)" doc:"SGD: decay of the velocity"`
	WeightDecay float64       `key:"weight_decay" default:"0.1" range:">=0" doc:"decoupled decay of matrices and embeddings; multiplied by the learning rate"`
	Multipliers Multipliers   `key:"multipliers" doc:"factors of learning rate and weight decay by the role of a parameter"`
	Clip        Clip          `key:"clip" default:"1.0" doc:"largest norm of the whole gradient, or none"`

	OnNonFinite string `key:"on_nonfinite" default:"stop" enum:"stop,skip" doc:"what a loss or gradient that is not finite does: end the run as diverged, or leave out that update and count it"`

	Schedule ScheduleName `key:"schedule" default:"cosine" doc:"course of the learning rate after warm-up"`
	Warmup   Warmup       `key:"warmup" default:"0.1" doc:"steps of linear warm-up, or a share of all steps below 1"`
	MinLR    float64      `key:"min_lr" default:"0.1" range:"[0,1]" doc:"learning rate of the last step, as a share of lr"`

	EvalEvery       int `key:"eval_every" default:"100" range:">=0" doc:"steps between evaluations; 0: only at the end"`
	EvalTokens      int `key:"eval_tokens" default:"65536" range:">=0" doc:"targets that an evaluation during training looks at; 0: all. The last evaluation takes all"`
	CheckpointEvery int `key:"checkpoint_every" default:"100" range:">=0" doc:"steps between checkpoints; 0: only at the end"`

	Recompute string `key:"recompute" default:"auto" enum:"auto,none,block" doc:"what the backward pass computes again instead of keeping: what is cheap, nothing, or whole blocks"`
}

// NeutralKeys are the keys of Config that say when to look and to save, and
// how to spend memory. They change no weight, so they are no part of a run's
// identity.
var NeutralKeys = []string{"eval_every", "eval_tokens", "checkpoint_every", "recompute"}

// Probe is the section "probe" of a configuration: when the norms of layers
// are recorded, which is always done at step 0, after warm-up and at the last
// step.
type Probe struct {
	Every  int  `key:"every" default:"10" range:">=0" doc:"steps between records of every layer; 0: only the first, after warm-up, and the last"`
	Params bool `key:"params" default:"false" doc:"a row for every parameter too"`
}

// optionalKeys are the keys that only some optimizers or schedules read.
var optionalKeys = []string{"betas", "eps", "momentum", "min_lr"}

// Validate reports everything that is wrong with the values that the chosen
// optimizer and schedule read, all at once; each error starts with its key.
func (c Config) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	unread := c.Unread()
	reads := func(key string) bool { return !slices.Contains(unread, key) }

	check(c.Steps >= 1, "steps: %d is below 1", c.Steps)
	check(c.Batch >= 1, "batch: %d is below 1", c.Batch)
	check(c.Accumulate >= 1, "accumulate: %d is below 1", c.Accumulate)
	check(c.LR > 0 && finite(c.LR), "lr: %g is no positive number", c.LR)
	if reads("betas") {
		for i, b := range c.Betas {
			check(b >= 0 && b < 1, "betas: number %d, %g, is not in [0, 1)", i+1, b)
		}
	}
	check(!reads("eps") || c.Eps > 0 && finite(c.Eps), "eps: %g is no positive number", c.Eps)
	check(!reads("momentum") || c.Momentum >= 0 && c.Momentum < 1, "momentum: %g is not in [0, 1)", c.Momentum)
	check(c.WeightDecay >= 0 && finite(c.WeightDecay), "weight_decay: %g is not a number of at least 0", c.WeightDecay)
	factor := c.Multipliers.largest()
	check(!(c.LR*c.WeightDecay*factor >= 1), "weight_decay: %g times lr %g%s is not below 1: a step would turn the weights over", c.WeightDecay, c.LR, times(factor))
	if err := c.Multipliers.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("multipliers.%w", err))
	}
	check(c.Clip >= 0 && finite(float64(c.Clip)), "clip: %g is neither a positive number nor none", float64(c.Clip))
	check(c.Warmup.valid(), "warmup: %v is neither a number of steps nor a share below 1", c.Warmup.ConfigValue())
	check(!reads("min_lr") || c.MinLR >= 0 && c.MinLR <= 1, "min_lr: %g is not in [0, 1]", c.MinLR)
	check(c.EvalEvery >= 0, "eval_every: %d is below 0", c.EvalEvery)
	check(c.EvalTokens >= 0, "eval_tokens: %d is below 0", c.EvalTokens)
	check(c.CheckpointEvery >= 0, "checkpoint_every: %d is below 0", c.CheckpointEvery)
	_, ok := lookupSchedule(c.Schedule)
	check(ok, "schedule: %q is unknown; known are %s", c.Schedule, strings.Join(c.Schedule.ConfigEnum(), ", "))
	_, ok = lookupOptimizer[float32](c.Optimizer)
	check(ok, "optimizer: %q is unknown; known are %s", c.Optimizer, strings.Join(c.Optimizer.ConfigEnum(), ", "))
	return errors.Join(errs...)
}

// Unread returns the keys that the chosen optimizer and schedule do not read:
// to set one of them would silently do nothing.
func (c Config) Unread() []string {
	o, okO := lookupOptimizer[float32](c.Optimizer)
	s, okS := lookupSchedule(c.Schedule)
	if !okO || !okS {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(optionalKeys), func(key string) bool {
		return slices.Contains(o.Keys, key) || slices.Contains(s.Keys, key)
	})
}

// Validate reports a cadence below 0.
func (p Probe) Validate() error {
	if p.Every < 0 {
		return fmt.Errorf("every: %d is below 0", p.Every)
	}
	return nil
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
