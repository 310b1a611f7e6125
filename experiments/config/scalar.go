package config

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Numbers are parsed here and nowhere else: JSON's grammar (RFC 8259, section 6),
// because YAML readers disagree about everything beyond it.
var (
	integerText = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)
	numberText  = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)

	// What some YAML reader takes for a number and JSON does not.
	nonFinite   = regexp.MustCompile(`^([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$`)
	otherNumber = regexp.MustCompile(`^[-+]?(0[xob][0-9a-fA-F_]+|(\.[0-9][0-9_]*|[0-9][0-9_]*(\.[0-9_]*)?)([eE][-+]?[0-9]+)?)$`)

	yamlNull = regexp.MustCompile(`^(|~|null|Null|NULL)$`)

	// Booleans of YAML 1.1 only.
	otherTrue  = regexp.MustCompile(`^(?i:true|yes|on|y)$`)
	otherFalse = regexp.MustCompile(`^(?i:false|no|off|n)$`)
)

// classify says what a scalar without quotes is; the message is not empty where
// the scalar has no agreed meaning.
func classify(s string) (kind, string) {
	switch {
	case s == "true" || s == "false":
		return boolean, ""
	case numberText.MatchString(s):
		return number, ""
	case yamlNull.MatchString(s):
		return invalid, "no value; give one or remove the key"
	case nonFinite.MatchString(s):
		return invalid, "not a finite number"
	case otherNumber.MatchString(s):
		return invalid, "not a number as in JSON (decimal, no leading zero, plus, underscore or bare point); quote it if it is text"
	}
	return text, ""
}

// parseInt reads a number as an integer of the given size.
func parseInt(s string, bits int) (int64, string) {
	if msg := notInteger(s); msg != "" {
		return 0, msg
	}
	i, err := strconv.ParseInt(s, 10, bits)
	if err != nil {
		return 0, "beyond a " + strconv.Itoa(bits) + "-bit integer"
	}
	return i, ""
}

// parseUint is parseInt without sign.
func parseUint(s string, bits int) (uint64, string) {
	if msg := notInteger(s); msg != "" {
		return 0, msg
	}
	if s == "-0" {
		return 0, ""
	}
	if s[0] == '-' {
		return 0, "negative"
	}
	u, err := strconv.ParseUint(s, 10, bits)
	if err != nil {
		return 0, "beyond an unsigned " + strconv.Itoa(bits) + "-bit integer"
	}
	return u, ""
}

func notInteger(s string) string {
	if integerText.MatchString(s) {
		return ""
	}
	// 8.0 and 1e3 are refused as well, so that a value does not change its type with
	// its spelling, but the message knows what was meant.
	if f, err := strconv.ParseFloat(s, 64); err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return "not an integer; write " + strconv.FormatInt(int64(f), 10)
	}
	return "not an integer"
}

// parseFloat reads a number; one that rounds to infinity, or to zero without being
// zero, is an error.
func parseFloat(s string, bits int) (float64, string) {
	f, err := strconv.ParseFloat(s, bits)
	if err != nil {
		return 0, "beyond a " + strconv.Itoa(bits) + "-bit float"
	}
	if f != 0 {
		return f, ""
	}
	mantissa, _, _ := strings.Cut(strings.ToLower(s), "e")
	if strings.ContainsAny(mantissa, "123456789") {
		return 0, "too small for a " + strconv.Itoa(bits) + "-bit float"
	}
	return 0, "" // without the sign of -0, which no reader of a configuration means
}

// formatFloat gives the shortest text that parses to the same finite float.
// Exponents start at 1e15: a longer integer could not be told from one that does not fit int64.
func formatFloat(f float64, bits int) string {
	if f == 0 {
		return "0"
	}
	if a := math.Abs(f); a >= 1e-4 && a < 1e15 {
		return strconv.FormatFloat(f, 'f', -1, bits)
	}
	s := strconv.FormatFloat(f, 'e', -1, bits)
	s = strings.Replace(s, "e-0", "e-", 1)
	return strings.Replace(s, "e+", "e", 1)
}
