package nn

import (
	"errors"
	"fmt"
	"math"
)

// AutoInt is a positive integer, or 0 for auto: Resolve derives it.
type AutoInt int

// FromConfig reads auto or an integer from 1.
func (a *AutoInt) FromConfig(v any) error {
	switch v := v.(type) {
	case string:
		if v == "auto" {
			*a = 0
			return nil
		}
	case int64:
		if v >= 1 && v <= maxSize {
			*a = AutoInt(v)
			return nil
		}
	}
	return fmt.Errorf("allowed: auto, or an integer from 1 to %d", maxSize)
}

// ConfigValue is auto or the integer.
func (a AutoInt) ConfigValue() any {
	if a == 0 {
		return "auto"
	}
	return int64(a)
}

// AutoFloat is a number that is not 0, or 0 for auto: Resolve derives it.
type AutoFloat float64

// FromConfig reads auto or a number other than 0.
func (a *AutoFloat) FromConfig(v any) error {
	if v == "auto" {
		*a = 0
		return nil
	}
	if x, ok := number(v); ok && x != 0 {
		*a = AutoFloat(x)
		return nil
	}
	return errors.New("allowed: auto, or a number other than 0")
}

// ConfigValue is auto or the number.
func (a AutoFloat) ConfigValue() any {
	if a == 0 {
		return "auto"
	}
	return float64(a)
}

// WidthFloat is a number above 0, or a word for a power of d_model, which Resolve
// computes; so it stays true where the width changes.
type WidthFloat float64

// The words of a WidthFloat.
const (
	SqrtD  WidthFloat = -1 // sqrt_d: √d_model
	RSqrtD WidthFloat = -2 // rsqrt_d: 1/√d_model
)

// at is the number for a width.
func (f WidthFloat) at(d int) WidthFloat {
	switch root := math.Sqrt(float64(d)); f {
	case SqrtD:
		return WidthFloat(root)
	case RSqrtD:
		return WidthFloat(1 / root)
	}
	return f
}

// FromConfig reads a number above 0, sqrt_d or rsqrt_d.
func (f *WidthFloat) FromConfig(v any) error {
	switch v {
	case "sqrt_d":
		*f = SqrtD
		return nil
	case "rsqrt_d":
		*f = RSqrtD
		return nil
	}
	if x, ok := number(v); ok && x > 0 {
		*f = WidthFloat(x)
		return nil
	}
	return errors.New("allowed: a number above 0, sqrt_d, rsqrt_d")
}

// ConfigValue is the number or the word.
func (f WidthFloat) ConfigValue() any {
	switch f {
	case SqrtD:
		return "sqrt_d"
	case RSqrtD:
		return "rsqrt_d"
	}
	return float64(f)
}

// ConfigSchema describes the value as JSON Schema.
func (WidthFloat) ConfigSchema() map[string]any {
	return map[string]any{"oneOf": []any{
		map[string]any{"type": "number", "exclusiveMinimum": 0},
		map[string]any{"enum": []any{"sqrt_d", "rsqrt_d"}},
	}}
}

// AutoBool is yes or no, or auto: Resolve derives it.
type AutoBool uint8

// The values of an AutoBool.
const (
	Auto AutoBool = iota
	No
	Yes
)

// YesIf gives Yes for true and No for false.
func YesIf(b bool) AutoBool {
	if b {
		return Yes
	}
	return No
}

// or replaces auto.
func (a AutoBool) or(b bool) AutoBool {
	if a == Auto {
		return YesIf(b)
	}
	return a
}

// FromConfig reads auto, true or false.
func (a *AutoBool) FromConfig(v any) error {
	switch v {
	case "auto":
		*a = Auto
	case true:
		*a = Yes
	case false:
		*a = No
	default:
		return errors.New("allowed: auto, true, false")
	}
	return nil
}

// ConfigValue is auto, true or false.
func (a AutoBool) ConfigValue() any {
	if a == Auto {
		return "auto"
	}
	return a == Yes
}

// number reads an untyped configuration value as a number.
func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}
