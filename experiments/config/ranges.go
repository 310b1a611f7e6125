package config

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// An interval holds the numbers that a range tag allows.
type interval struct {
	lo, hi         float64
	loOpen, hiOpen bool // the end itself is not allowed
}

var everything = interval{lo: math.Inf(-1), hi: math.Inf(1)}

// parseInterval reads a range tag: comparisons joined by commas (">=1", ">0,<1"), or
// an interval with an empty end for infinity ("[0,1)", "(0,]").
func parseInterval(s string) (interval, error) {
	parts := strings.Split(s, ",")
	if n := len(s); n > 1 && len(parts) == 2 && strings.ContainsAny(s[:1], "[(") && strings.ContainsAny(s[n-1:], "])") {
		comparisons := map[byte]string{'[': ">=", '(': ">", ']': "<=", ')': "<"}
		lo, hi := parts[0], parts[1]
		parts = nil
		if lo = strings.TrimSpace(lo[1:]); lo != "" {
			parts = append(parts, comparisons[s[0]]+lo)
		}
		if hi = strings.TrimSpace(hi[:len(hi)-1]); hi != "" {
			parts = append(parts, comparisons[s[n-1]]+hi)
		}
	}
	r := everything
	for _, part := range parts {
		if err := r.narrow(strings.TrimSpace(part)); err != nil {
			return r, fmt.Errorf("range %q: %w", s, err)
		}
	}
	if r.lo > r.hi {
		return r, fmt.Errorf("range %q is empty", s)
	}
	return r, nil
}

var comparison = regexp.MustCompile(`^([<>])(=?) *([-0-9.eE+]+)$`)

// narrow applies one comparison.
func (r *interval) narrow(s string) error {
	m := comparison.FindStringSubmatch(s)
	if m == nil || !numberText.MatchString(m[3]) {
		return fmt.Errorf("%q; want >=1, >0, <=1 or <1, joined by commas, or an interval such as [0,1)", s)
	}
	x, _ := strconv.ParseFloat(m[3], 64)
	if m[1] == ">" {
		r.lo, r.loOpen = x, m[2] == ""
	} else {
		r.hi, r.hiOpen = x, m[2] == ""
	}
	return nil
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
