package train

import (
	"errors"
	"fmt"
	"math"
)

// Clip is the largest L2 norm of the whole gradient; longer ones are scaled
// down to it. 0 is none: no clipping. In a configuration it is a positive
// number or the word none.
type Clip float64

var errClip = errors.New("allowed: a number > 0, or none")

// FromConfig reads a positive number or none.
func (c *Clip) FromConfig(v any) error {
	switch x := v.(type) {
	case int64:
		return c.set(float64(x))
	case float64:
		return c.set(x)
	case string:
		if x == "none" {
			*c = 0
			return nil
		}
	}
	return errClip
}

func (c *Clip) set(x float64) error {
	if !(x > 0) || !finite(x) {
		return errClip
	}
	*c = Clip(x)
	return nil
}

// ConfigValue gives the number, or "none".
func (c Clip) ConfigValue() any {
	if c == 0 {
		return "none"
	}
	return float64(c)
}

// ConfigSchema describes the value as JSON Schema.
func (Clip) ConfigSchema() map[string]any {
	return map[string]any{"oneOf": []any{
		map[string]any{"type": "number", "exclusiveMinimum": 0},
		map[string]any{"const": "none"},
	}}
}

// Coefficient is the factor that brings a gradient of the given norm below the
// limit: min(1, clip/(norm + 1e-6)), as PyTorch's clip_grad_norm_ computes it;
// 1 without a limit.
func (c Clip) Coefficient(norm float64) float64 {
	if c == 0 {
		return 1
	}
	return min(1, float64(c)/(norm+1e-6))
}

// Warmup is the length of the linear warm-up: a number of steps, or, where
// Share is not 0, a share of all steps.
type Warmup struct {
	Steps int
	Share float64
}

var errWarmup = errors.New("allowed: an integer >= 0 (steps), or a share of the steps between 0 and 1")

// FromConfig reads an integer as steps, a fraction below 1 as a share.
func (w *Warmup) FromConfig(v any) error {
	var got Warmup
	switch x := v.(type) {
	case int64:
		if x > math.MaxInt32 {
			return errWarmup
		}
		got.Steps = int(x)
	case float64:
		if x == 0 {
			return errWarmup
		}
		got.Share = x
	default:
		return errWarmup
	}
	if !got.valid() {
		return errWarmup
	}
	*w = got
	return nil
}

func (w Warmup) valid() bool {
	return w.Share == 0 && w.Steps >= 0 || w.Steps == 0 && w.Share > 0 && w.Share < 1
}

// ConfigValue gives the integer or the share.
func (w Warmup) ConfigValue() any {
	if w.Share != 0 {
		return w.Share
	}
	return int64(w.Steps)
}

// ConfigSchema describes the value as JSON Schema.
func (Warmup) ConfigSchema() map[string]any {
	return map[string]any{"oneOf": []any{
		map[string]any{"type": "integer", "minimum": 0},
		map[string]any{"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
	}}
}

// Of is the number of warm-up steps of a run of that length; a share is
// rounded to the nearest step.
func (w Warmup) Of(steps int) int {
	if w.Share != 0 {
		return int(math.Round(w.Share * float64(steps)))
	}
	return w.Steps
}

// String gives the value as it is written in a configuration.
func (w Warmup) String() string { return fmt.Sprint(w.ConfigValue()) }
