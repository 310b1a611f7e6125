package results

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Label is an axis value as text for a table or a figure: a scalar as it is,
// {kind: k} as k, {kind: k, a: 1} as k(a=1), a list in brackets. Text that cannot
// be shown as it is, or looks as if it had been quoted, is quoted as in Go, so that
// two texts never look alike.
func Label(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		if v == "" || Printable(v) != v || strings.TrimSpace(v) != v || strings.HasPrefix(v, `"`) {
			return strconv.Quote(v)
		}
		return v
	case json.Number:
		return Printable(v.String())
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case []any:
		parts := make([]string, len(v))
		for i, x := range v {
			parts[i] = Label(x)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		return objectLabel(v)
	}
	return Printable(fmt.Sprint(v))
}

func objectLabel(m map[string]any) string {
	var keys []string
	for k := range m {
		if k != "kind" {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	parts := make([]string, len(keys))
	for i, k := range keys {
		parts[i] = Printable(k) + "=" + Label(m[k])
	}
	args := strings.Join(parts, ", ")
	kind, ok := m["kind"]
	switch {
	case !ok:
		return "{" + args + "}"
	case args == "":
		return Label(kind)
	}
	return Label(kind) + "(" + args + ")"
}

// nameOf is the label of an axis' value where no heading says what it is: names of
// variants speak for themselves, numbers and the like get the name of the axis.
func nameOf(axis string, v any) string {
	switch v := v.(type) {
	case string:
		if v != "" && v != "none" && v != "auto" {
			return Label(v)
		}
	case map[string]any:
		if v["kind"] != nil {
			return Label(v)
		}
	}
	if axis == DepthAxis {
		return Layers(Label(v))
	}
	return shortAxis(axis) + " " + Label(v)
}

// Layers is a number of layers in words.
func Layers(n string) string {
	if n == "1" {
		return "1 layer"
	}
	return n + " layers"
}

// Printable replaces what a terminal or a figure would act upon instead of
// showing: control characters, line breaks, and the marks that turn the
// direction of writing.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t', r == '\r':
			return ' '
		case unicode.Is(unicode.C, r):
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(s, string(unicode.ReplacementChar)))
}
