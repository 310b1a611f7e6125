package config

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// own hands n to a type that reads itself, then applies range and enum to what it
// made of it.
func (d *decoder) own(n *node, path string, l limits, v reflect.Value) bool {
	if holed(n) || !d.wholeNumbers(n, path) {
		return false
	}
	out := reflect.New(v.Type())
	self := out.Interface().(Value)
	if err := self.FromConfig(unfold(n, v.Type())); err != nil {
		for _, msg := range parts(err) {
			d.complain(n, path, msg, v.Type())
		}
		return false
	}
	made := build("", self.ConfigValue()).root
	switch {
	case made == nil:
	case made.kind == number:
		if x, _ := parseFloat(made.text, 64); !l.rng.holds(x) {
			return d.problem(n, path, "out of range%s", allowed(l.rng.String()))
		}
	case made.kind == text && l.enum != nil && !slices.Contains(l.enum, made.text):
		return d.problem(n, path, "unknown%s", allowed(strings.Join(l.enum, ", ")))
	}
	v.Set(out.Elem())
	d.check(n, path, v, trouble{})
	return true
}

// unfold gives what FromConfig reads. Where a later layer put keys over a scalar, the
// scalar's own mapping is what they change, if the type has one, else {kind: scalar}.
func unfold(n *node, t reflect.Type) any {
	whole := n.value()
	short := n.scalar()
	if short == nil {
		return whole
	}
	self, _ := as[Value](t)
	if self.FromConfig(short.value()) != nil {
		return whole
	}
	fields, ok := self.ConfigValue().(map[string]any)
	if !ok {
		return whole
	}
	changed := whole.(map[string]any)
	delete(changed, "kind")
	fields = maps.Clone(fields)
	maps.Copy(fields, changed)
	return fields
}

// holed reports whether a value inside n is invalid; the tree knows why.
func holed(n *node) bool {
	return n.kind == invalid || slices.ContainsFunc(n.items, holed) ||
		slices.ContainsFunc(n.entries, func(e entry) bool { return holed(e.value) })
}

// wholeNumbers refuses numbers that an untyped reader cannot be given exactly.
func (d *decoder) wholeNumbers(n *node, path string) bool {
	ok := true
	if n.kind == number {
		msg := ""
		if integerText.MatchString(n.text) {
			_, msg = parseInt(n.text, 64)
		} else {
			_, msg = parseFloat(n.text, 64)
		}
		if msg != "" {
			return d.problem(n, path, "%s", msg)
		}
	}
	for i, item := range n.items {
		ok = d.wholeNumbers(item, path+"["+strconv.Itoa(i)+"]") && ok
	}
	for _, e := range n.entries {
		ok = d.wholeNumbers(e.value, join(path, e.key)) && ok
	}
	return ok
}
