package config

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
)

// Encode gives the complete configuration that a struct holds, keys in the order of
// its fields, without the keys that its variants do not read. Decoding it gives the
// same struct. Maps, which have no order, come sorted by key.
func Encode(from any) *Tree { return build("", from) }

// FromMap makes a layer of Go values (what JSON knows, and structs); name is what
// positions call it.
func FromMap(name string, m map[string]any) *Tree { return build(name, m) }

// build makes a tree of any value; a value that no configuration can hold is a problem in it.
func build(name string, from any) *Tree {
	if t, ok := from.(*Tree); ok && t != nil {
		return t
	}
	b := &builder{pos: Pos{Source: name}}
	t := &Tree{}
	if from != nil {
		t.root = b.node(reflect.ValueOf(from), "")
	}
	t.problems = b.problems
	return t
}

type builder struct {
	pos      Pos
	problems []Problem
}

// node gives nil for a value that is not there.
func (b *builder) node(v reflect.Value, path string) *node {
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if !v.IsValid() {
		return nil
	}
	if t, ok := v.Interface().(*Tree); ok {
		if t == nil {
			return nil
		}
		return t.root
	}
	if v.Kind() == reflect.Pointer {
		return b.node(v.Elem(), path)
	}
	if !v.CanAddr() { // methods may be those of the pointer
		copied := reflect.New(v.Type()).Elem()
		copied.Set(v)
		v = copied
	}
	if own, ok := v.Addr().Interface().(Value); ok {
		return b.node(reflect.ValueOf(own.ConfigValue()), path)
	}
	n := &node{pos: b.pos}
	switch k := v.Kind(); {
	case k == reflect.Bool:
		n.kind, n.text = boolean, fmt.Sprint(v.Bool())
	case k == reflect.String:
		n.kind, n.text, n.quoted = text, v.String(), true
	case v.CanInt():
		n.kind, n.text = number, fmt.Sprint(v.Int())
	case v.CanUint():
		n.kind, n.text = number, fmt.Sprint(v.Uint())
	case v.CanFloat():
		b.float(n, v.Float(), v.Type().Bits())
	case k == reflect.Slice, k == reflect.Array:
		b.list(n, v, path)
	case k == reflect.Map && v.Type().Key().Kind() == reflect.String:
		b.mapping(n, v, path)
	case k == reflect.Struct:
		return b.structure(n, v, path)
	default:
		b.missing(n, path, fmt.Sprintf("a %s; not a value of a configuration", v.Type()))
	}
	return n
}

// float writes what is not finite as text: it can be looked at, and is refused where a number is wanted.
func (b *builder) float(n *node, f float64, bits int) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		n.kind, n.text, n.quoted = text, fmt.Sprint(f), true
		return
	}
	n.kind, n.text = number, formatFloat(f, bits)
}

func (b *builder) missing(n *node, path, msg string) *node {
	b.problems = append(b.problems, Problem{Pos: b.pos, Path: path, Msg: msg})
	n.kind, n.text = invalid, "null"
	return n
}

func (b *builder) list(n *node, v reflect.Value, path string) {
	n.kind = list
	for i := range v.Len() {
		at := fmt.Sprintf("%s[%d]", path, i)
		item := b.node(v.Index(i), at)
		if item == nil {
			item = b.missing(&node{pos: b.pos}, at, "no value")
		}
		n.items = append(n.items, item)
	}
}

func (b *builder) mapping(n *node, v reflect.Value, path string) {
	n.kind = mapping
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	for _, k := range keys {
		at := join(path, k.String())
		value := b.node(v.MapIndex(k), at)
		if value == nil {
			value = b.missing(&node{pos: b.pos}, at, "no value")
		}
		n.entries = append(n.entries, entry{key: k.String(), pos: b.pos, value: value})
	}
}

func (b *builder) structure(n *node, v reflect.Value, path string) *node {
	n.kind = mapping
	for _, f := range fieldsOf(v.Type()) {
		if value := b.node(v.Field(f.index), join(path, f.key)); value != nil {
			n.entries = append(n.entries, entry{key: f.key, pos: b.pos, value: value})
		}
	}
	if self, ok := v.Addr().Interface().(Unreader); ok {
		for _, key := range self.Unread() {
			n, _ = without(n, key)
		}
	}
	return n
}
