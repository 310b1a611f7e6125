package nn

import (
	"errors"
	"fmt"
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
