package metrics

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// Value is a measured number, or the absence of one. The zero Value is
// unknown (JSON null); NaN and the infinities are known values and are written
// as strings, because divergence is a result and has to survive the file.
type Value struct {
	x     float64
	known bool
}

// Known makes a Value of a measured number, NaN and infinities included.
func Known(x float64) Value { return Value{x: x, known: true} }

// Get returns the number, and whether there is one.
func (v Value) Get() (x float64, known bool) { return v.x, v.known }

// Float returns the number; NaN where it is unknown.
func (v Value) Float() float64 {
	if !v.known {
		return math.NaN()
	}
	return v.x
}

// Finite reports whether the number is known, and neither NaN nor infinite.
func (v Value) Finite() bool {
	return v.known && !math.IsNaN(v.x) && !math.IsInf(v.x, 0)
}

// String returns the value as a reader would write it; unknown is "unknown".
func (v Value) String() string {
	if !v.known {
		return "unknown"
	}
	return strconv.FormatFloat(v.x, 'g', -1, 64)
}

// appendTo appends the JSON form: a number, "NaN", "+Inf", "-Inf" or null.
func (v Value) appendTo(b []byte) []byte {
	switch {
	case !v.known:
		return append(b, "null"...)
	case math.IsNaN(v.x), math.IsInf(v.x, 0):
		b = append(b, '"')
		b = strconv.AppendFloat(b, v.x, 'g', -1, 64)
		return append(b, '"')
	}
	return strconv.AppendFloat(b, v.x, 'g', -1, 64)
}

// MarshalJSON implements json.Marshaler.
func (v Value) MarshalJSON() ([]byte, error) { return v.appendTo(nil), nil }

// UnmarshalJSON accepts what MarshalJSON writes, and the spellings "Inf",
// "Infinity" and "-Infinity" that other programs use.
func (v *Value) UnmarshalJSON(b []byte) error {
	if bytes.Equal(b, []byte("null")) {
		*v = Value{}
		return nil
	}
	if len(b) == 0 || b[0] != '"' {
		x, err := strconv.ParseFloat(string(b), 64)
		if err != nil {
			return fmt.Errorf("metrics: %s is not a number", b)
		}
		*v = Known(x)
		return nil
	}
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	switch s {
	case "NaN":
		*v = Known(math.NaN())
	case "+Inf", "Inf", "Infinity":
		*v = Known(math.Inf(1))
	case "-Inf", "-Infinity":
		*v = Known(math.Inf(-1))
	default:
		return fmt.Errorf(`metrics: %q is not a number; the only strings are "NaN", "+Inf" and "-Inf"`, s)
	}
	return nil
}
