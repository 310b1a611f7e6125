package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// An interval holds the numbers that a range tag allows.
type interval struct {
	lo, hi         float64
	loOpen, hiOpen bool // the end itself is not allowed
}

var everything = interval{lo: math.Inf(-1), hi: math.Inf(1)}

// parseInterval reads a range tag: ">=1", ">0", "<=1", "<1", or "[0,1)" with an empty
// end for infinity.
func parseInterval(s string) (interval, error) {
	r := everything
	var err error
	bound := func(s string, into *float64) {
		s = strings.TrimSpace(s)
		if !numberText.MatchString(s) {
			err = fmt.Errorf("range: %q is not a number", s)
			return
		}
		*into, _ = strconv.ParseFloat(s, 64)
	}
	switch {
	case strings.HasPrefix(s, ">="):
		bound(s[2:], &r.lo)
	case strings.HasPrefix(s, ">"):
		r.loOpen = true
		bound(s[1:], &r.lo)
	case strings.HasPrefix(s, "<="):
		bound(s[2:], &r.hi)
	case strings.HasPrefix(s, "<"):
		r.hiOpen = true
		bound(s[1:], &r.hi)
	default:
		lo, hi, ok := strings.Cut(s, ",")
		if !ok || len(lo) < 1 || len(hi) < 1 || !strings.Contains("[(", lo[:1]) || !strings.Contains("])", hi[len(hi)-1:]) {
			return r, fmt.Errorf("range %q: want >=1, >0, <=1, <1 or an interval such as [0,1)", s)
		}
		r.loOpen, r.hiOpen = lo[0] == '(', hi[len(hi)-1] == ')'
		if lo = lo[1:]; lo != "" {
			bound(lo, &r.lo)
		}
		if hi = hi[:len(hi)-1]; hi != "" {
			bound(hi, &r.hi)
		}
	}
	if err == nil && r.lo > r.hi {
		err = fmt.Errorf("range %q is empty", s)
	}
	return r, err
}

func (r interval) holds(x float64) bool {
	return (x > r.lo || x == r.lo && !r.loOpen) && (x < r.hi || x == r.hi && !r.hiOpen)
}

// String gives ">= 1", "< 1", "in [0, 1)", or "" where everything is allowed.
func (r interval) String() string {
	below, above := !math.IsInf(r.lo, -1), !math.IsInf(r.hi, 1)
	pick := func(open bool, yes, no string) string {
		if open {
			return yes
		}
		return no
	}
	switch {
	case below && above:
		return "in " + pick(r.loOpen, "(", "[") + formatFloat(r.lo, 64) + ", " + formatFloat(r.hi, 64) + pick(r.hiOpen, ")", "]")
	case below:
		return pick(r.loOpen, "> ", ">= ") + formatFloat(r.lo, 64)
	case above:
		return pick(r.hiOpen, "< ", "<= ") + formatFloat(r.hi, 64)
	}
	return ""
}

// schema adds the interval to a fragment of JSON Schema.
func (r interval) schema(s map[string]any) {
	if !math.IsInf(r.lo, -1) {
		s[map[bool]string{false: "minimum", true: "exclusiveMinimum"}[r.loOpen]] = r.lo
	}
	if !math.IsInf(r.hi, 1) {
		s[map[bool]string{false: "maximum", true: "exclusiveMaximum"}[r.hiOpen]] = r.hi
	}
}
