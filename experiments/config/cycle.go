package config

import (
	"fmt"
	"reflect"
	"slices"
)

// repeatKey makes a cycle of a list: {repeat: [a, b]} is a, b, a, … as far as needed.
const repeatKey = "repeat"

// maxCycle bounds the lists that cycles are spread to.
const maxCycle = 1 << 16

// cycleSchema is a cycle as JSON Schema.
func cycleSchema() map[string]any {
	return map[string]any{
		"type": "object", "required": []any{repeatKey}, "additionalProperties": false,
		"properties": map[string]any{repeatKey: map[string]any{"type": "array", "minItems": 1}},
	}
}

// cycle decodes a cycle, which n is, into a field with a tag per: the list that it
// would be if written out. Its elements are looked at before they are repeated, so
// that a wrong one is reported once, where it stands.
func (d *decoder) cycle(f field, n *node, path string, v reflect.Value) bool {
	at := join(path, repeatKey)
	e, _ := n.find(repeatKey)
	i := slices.IndexFunc(n.entries, func(o entry) bool { return o.key != repeatKey })
	switch items := e.value; {
	case i >= 0:
		other := n.entries[i]
		d.problems = append(d.problems, Problem{Pos: other.pos, Path: join(path, other.key), Msg: "cannot stand beside repeat; a cycle is {repeat: [a, b]} and nothing else"})
		return false
	case items.kind == invalid:
		return false // the tree knows why
	case items.kind != list || len(items.items) == 0:
		return d.problem(items, at, "not a list of what is repeated; write {repeat: [a, b]}")
	case !d.value(items, at, f.limits, reflect.New(v.Type()).Elem()):
		return false
	}
	count := d.count(f)
	if count > maxCycle {
		return d.problem(n, path, "cannot be repeated to %d elements; at most %d", count, maxCycle)
	}
	whole := *e.value
	whole.items = make([]*node, count)
	for i := range whole.items {
		whole.items[i] = e.value.items[i%len(e.value.items)]
	}
	return d.value(&whole, path, f.limits, v)
}

// count is the integer that a tag per names: a key of the field's struct, or of one
// around it, that is decoded before the field.
func (d *decoder) count(f field) int64 {
	for i := len(d.around) - 1; i >= 0; i-- {
		v := d.around[i]
		for _, other := range fieldsOf(v.Type()) {
			if other.key == f.per {
				return max(v.Field(other.index).Int(), 0)
			}
		}
	}
	panic(fmt.Sprintf("config: key %s: no key %s around it", f.key, f.per))
}
