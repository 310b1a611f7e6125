package sweep

import (
	"errors"
	"math"
	"strings"
	"testing"
)

func TestClosest(t *testing.T) {
	linear := func(slope, offset float64) func(int64) (float64, error) {
		return func(x int64) (float64, error) { return slope*float64(x) + offset, nil }
	}
	only := func(multiple, least int64, f func(int64) (float64, error)) func(int64) (float64, error) {
		return func(x int64) (float64, error) {
			if x%multiple > 0 || x < least {
				return 0, errors.New("no model")
			}
			return f(x)
		}
	}
	for _, c := range []struct {
		name   string
		target float64
		f      func(int64) (float64, error)
		want   int64
	}{
		{"exact", 100, linear(10, 0), 10},
		{"below is nearer", 104, linear(10, 0), 10},
		{"above is nearer", 106, linear(10, 0), 11},
		{"tie goes to the smaller", 105, linear(10, 0), 10},
		{"one is enough", 10, linear(10, 0), 1},
		{"one is a little too much", 99.5, linear(90, 10), 1},
		{"two", 24, linear(10, 0), 2},
		{"power of two", 640, linear(10, 0), 64},
		{"just above a power of two", 650, linear(10, 0), 65},
		{"with an offset", 1234567, linear(192, 1000), 6425},
		{"large", 2e6, linear(2, 0), 1e6},
		{"multiples of 12", 1000, only(12, 0, linear(10, 0)), 96},
		{"multiples of 12, above is nearer", 1030, only(12, 0, linear(10, 0)), 108},
		{"from 256 on", 6000, only(1, 256, linear(10, 0)), 600},
		{"the least of them", 2570, only(1, 256, linear(10, 0)), 257},
		{"divisors of 12", 58, func(x int64) (float64, error) {
			if x > 12 || 12%x > 0 {
				return 0, errors.New("no divisor")
			}
			return 10 * float64(x), nil
		}, 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := closest(c.target, c.f)
			if err != nil || got != c.want {
				t.Errorf("closest is %d (%v), want %d", got, err, c.want)
			}
		})
	}
	broken := errors.New("broken")
	for _, c := range []struct {
		name string
		f    func(int64) (float64, error)
		want string
	}{
		{"out of reach from above", linear(50, 80), "even 1 gives 130"},
		{"no influence", linear(0, 50), "cannot be reached"},
		{"out of reach from below", func(x int64) (float64, error) { return 100 - 100/math.Sqrt(float64(x)), nil }, "cannot be reached"},
		{"failing", func(x int64) (float64, error) { return 0, broken }, "broken"},
		{"failing later", func(x int64) (float64, error) {
			if x > 4 {
				return 0, broken
			}
			return float64(x), nil
		}, "broken"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, err := closest(100, c.f); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("closest is %d, error %v; want %q", got, err, c.want)
			}
		})
	}
}

func TestMatch(t *testing.T) {
	text := tiny("axes:", "  model.activation: [gelu, relu, swiglu, geglu]", "  model.d_model: [16, 32]",
		"match: {on: params, solve: model.d_ff, across: [model.activation]}", "seeds: [1, 2]")
	for _, on := range []string{"params", "flops"} {
		p := plan(t, strings.Replace(text, "on: params", "on: "+on, 1), "full")
		target := map[int]float64{}
		for _, c := range p.Cells {
			m, d := c.Match, c.Config.Model.DModel
			value := float64(c.Size.Params)
			if on == "flops" {
				value = c.Size.FLOPs
			}
			if c.Values[0] == "gelu" {
				target[d] = value
				if m.Solved != 0 || m.Mismatch != 0 || int(c.Config.Model.DFF) != 4*d {
					t.Errorf("%s, %s: the reference was changed: %+v", on, c.Label, m)
				}
			}
			if m.Target != target[d] || m.Value != value || m.Mismatch != value/target[d]-1 {
				t.Errorf("%s, %s: %+v, want target %g, value %g", on, c.Label, m, target[d], value)
			}
			if math.Abs(m.Mismatch) > 0.01 {
				t.Errorf("%s, %s: mismatch %.3g", on, c.Label, m.Mismatch)
			}
			if c.Values[0] == "relu" && (m.Solved != int64(4*d) || m.Mismatch != 0) {
				t.Errorf("%s, %s: an arm of the same size: %+v", on, c.Label, m)
			}
			if c.Values[0] == "swiglu" && (int64(c.Config.Model.DFF) != m.Solved || m.Solved >= int64(4*d)) {
				t.Errorf("%s, %s: %+v with d_ff %d", on, c.Label, m, c.Config.Model.DFF)
			}
		}
	}
}
