package config

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// value decodes n, which is present, into v; false if it is wrong and v is unchanged.
func (d *decoder) value(n *node, path string, l limits, v reflect.Value) bool {
	if n.kind == invalid {
		return false // the tree knows why
	}
	if _, ok := v.Addr().Interface().(Value); ok {
		return d.own(n, path, l, v)
	}
	switch v.Type() {
	case treeType:
		v.Set(reflect.ValueOf(&Tree{root: n}))
		return true
	case anyType:
		if !d.wholeNumbers(n, path) {
			return false
		}
		v.Set(reflect.ValueOf(n.value()))
		return true
	}
	switch k := v.Kind(); k {
	case reflect.Bool:
		return d.boolean(n, path, v)
	case reflect.String:
		return d.text(n, path, l, v)
	case reflect.Struct:
		before := len(d.problems)
		out := reflect.New(v.Type()).Elem()
		d.structure(n, path, out)
		v.Set(out)
		return len(d.problems) == before
	case reflect.Slice, reflect.Array:
		return d.list(n, path, l, v)
	default:
		return d.number(n, path, l, v)
	}
}

func (d *decoder) boolean(n *node, path string, v reflect.Value) bool {
	switch {
	case n.kind == boolean:
		v.SetBool(n.text == "true")
		return true
	case n.kind == text && otherTrue.MatchString(n.text):
		return d.problem(n, path, "not a boolean; write true")
	case n.kind == text && otherFalse.MatchString(n.text):
		return d.problem(n, path, "not a boolean; write false")
	}
	return d.problem(n, path, "not a boolean; allowed: true, false")
}

func (d *decoder) text(n *node, path string, l limits, v reflect.Value) bool {
	words := l.words(v.Type())
	switch {
	case n.kind == list || n.kind == mapping:
		return d.problem(n, path, "not text%s", allowed(strings.Join(words, ", ")))
	case words == nil && n.kind != text:
		return d.problem(n, path, "not text; if it is meant as text, write %s", strconv.Quote(n.text))
	case words != nil && (n.kind != text || !slices.Contains(words, n.text)):
		hint := ""
		if s := Suggest(n.text, words); s != "" {
			hint = "; did you mean " + s + "?"
		}
		return d.problem(n, path, "unknown%s%s", allowed(strings.Join(words, ", ")), hint)
	}
	v.SetString(n.text)
	return true
}

func allowed(what string) string {
	if what == "" {
		return ""
	}
	return "; allowed: " + what
}

func (d *decoder) number(n *node, path string, l limits, v reflect.Value) bool {
	what := "an integer"
	if k := v.Kind(); k == reflect.Float32 || k == reflect.Float64 {
		what = "a number"
	}
	limit := allowed(l.rng.String())
	if n.kind != number {
		if n.quoted && numberText.MatchString(n.text) {
			return d.problem(n, path, "a number in quotes; write %s", n.text)
		}
		return d.problem(n, path, "not %s%s", what, limit)
	}
	var x float64
	var msg string
	out := reflect.New(v.Type()).Elem()
	switch bits := v.Type().Bits(); {
	case v.CanInt():
		var i int64
		i, msg = parseInt(n.text, bits)
		out.SetInt(i)
		x = float64(i)
	case v.CanUint():
		var u uint64
		u, msg = parseUint(n.text, bits)
		out.SetUint(u)
		x = float64(u)
		if limit == "" {
			limit = allowed(">= 0")
		}
	default:
		x, msg = parseFloat(n.text, bits)
		out.SetFloat(x)
	}
	if msg == "" && !l.rng.holds(x) {
		msg = "out of range"
	}
	if msg != "" {
		return d.problem(n, path, "%s%s", msg, limit)
	}
	v.Set(out)
	return true
}

// list decodes arrays and slices; all elements are tried, so that all wrong ones are reported.
func (d *decoder) list(n *node, path string, l limits, v reflect.Value) bool {
	if n.kind != list {
		return d.problem(n, path, "not a list; write [%s]", strings.Trim(clean(n.show(), 40), "[]"))
	}
	fixed := v.Kind() == reflect.Array
	if fixed && len(n.items) != v.Len() {
		return d.problem(n, path, "%d elements; allowed: %d", len(n.items), v.Len())
	}
	out := reflect.New(v.Type()).Elem()
	if !fixed {
		out.Set(reflect.MakeSlice(v.Type(), len(n.items), len(n.items)))
	}
	ok := true
	for i, item := range n.items {
		ok = d.value(item, path+"["+strconv.Itoa(i)+"]", l, out.Index(i)) && ok
	}
	if ok {
		v.Set(out)
	}
	return ok
}
