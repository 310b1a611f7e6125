package config

import (
	"slices"
	"strings"
)

// Merge lays trees over each other, the last on top; nil ones are skipped. Mappings
// merge key by key; scalars and lists replace. A mapping with a key "kind" or "repeat",
// or a scalar, states a whole variant or list and replaces what lies below; a mapping
// without them over a scalar s changes fields of {kind: s}. The trees are not changed.
func Merge(trees ...*Tree) *Tree {
	out := &Tree{}
	for _, t := range trees {
		if t != nil {
			out.root = merge(out.root, t.root)
			out.problems = append(out.problems, t.problems...)
		}
	}
	return out
}

func merge(low, high *node) *node {
	switch {
	case high == nil:
		return low
	case low == nil || high.kind != mapping:
		return high
	}
	for _, key := range []string{"kind", repeatKey} {
		if _, whole := high.find(key); whole {
			return high
		}
	}
	low = low.asVariant()
	if low.kind != mapping {
		return high
	}
	out := *low // keeps the lower position: a problem of the mapping is rather in the file than in an argument
	if low.implicit {
		out.pos, out.implicit = high.pos, high.implicit
	}
	out.entries = slices.Clone(low.entries)
	for _, e := range high.entries {
		i := indexOf(out.entries, e.key)
		if i < 0 {
			out.entries = append(out.entries, e)
			continue
		}
		old := out.entries[i]
		e.value = merge(old.value, e.value)
		if e.value.pos == old.value.pos && !old.value.implicit {
			e.pos = old.pos
		}
		out.entries[i] = e
	}
	return &out
}

func indexOf(entries []entry, key string) int {
	return slices.IndexFunc(entries, func(e entry) bool { return e.key == key })
}

// asVariant turns a scalar s into {kind: s}.
func (n *node) asVariant() *node {
	if n.kind == list || n.kind == mapping {
		return n
	}
	return &node{kind: mapping, pos: n.pos, implicit: n.implicit, entries: []entry{{key: "kind", pos: n.pos, value: n, short: true}}}
}

// Implicit gives the same tree as defaults, such as a preset: Decode does not mind
// keys in it that the chosen variant does not read.
func (t *Tree) Implicit() *Tree {
	return &Tree{root: t.root.asImplicit(), problems: t.problems}
}

func (n *node) asImplicit() *node {
	if n == nil {
		return nil
	}
	out := *n
	out.implicit = true
	out.items = make([]*node, len(n.items))
	for i, item := range n.items {
		out.items[i] = item.asImplicit()
	}
	out.entries = slices.Clone(n.entries)
	for i := range out.entries {
		out.entries[i].value = out.entries[i].value.asImplicit()
	}
	return &out
}

// wrap puts n under a dotted path.
func wrap(path string, n *node) *node {
	if path == "" || n == nil {
		return n
	}
	keys := strings.Split(path, ".")
	for i := len(keys) - 1; i >= 0; i-- {
		n = &node{kind: mapping, pos: n.pos, implicit: n.implicit, entries: []entry{{key: keys[i], pos: n.pos, value: n}}}
	}
	return n
}

// without gives n with the key at path removed, and whether it was there.
func without(n *node, path string) (*node, bool) {
	if n == nil {
		return n, false
	}
	for i, e := range n.entries {
		rest, ok := below(path, e.key)
		if !ok {
			continue
		}
		out := *n
		out.entries = slices.Clone(n.entries)
		if rest == "" {
			out.entries = slices.Delete(out.entries, i, i+1)
			return &out, true
		}
		out.entries[i].value, ok = without(e.value, rest)
		return &out, ok
	}
	return n, false
}

// Overrides reads a mapping whose keys are dotted paths, such as
// {seeds: [1, 2], train.steps: 200}, as the layer that they describe. Keys must not overlap.
func Overrides(t *Tree) *Tree {
	out := &Tree{problems: t.problems}
	if t.root == nil {
		return out
	}
	if t.root.kind != mapping {
		out.problems = append(out.problems, Problem{Pos: t.root.pos, Value: t.root.show(), Msg: "not a mapping from keys to values"})
		return out
	}
	for _, e := range t.root.entries {
		out.add(e.key, e.pos, e.value)
	}
	return out
}

// add unites one dotted key with a layer in which order has no meaning.
func (t *Tree) add(path string, pos Pos, value *node) {
	for _, key := range strings.Split(path, ".") {
		if key == "" {
			t.problems = append(t.problems, Problem{Pos: pos, Path: path, Msg: "empty key in the path"})
			return
		}
	}
	if strings.Count(path, ".") > maxDepth {
		t.problems = append(t.problems, Problem{Pos: pos, Path: path, Msg: tooDeep})
		return
	}
	t.root = t.unite(t.root, wrap(path, value), "")
}

// unite joins two parts of the same layer; a key given in both is a problem.
func (t *Tree) unite(a, b *node, path string) *node {
	if a == nil {
		return b
	}
	if a.kind == mapping || b.kind == mapping {
		a, b = a.asVariant(), b.asVariant()
	}
	if a.kind != mapping || b.kind != mapping {
		t.problems = append(t.problems, Problem{Pos: b.pos, Path: path, Msg: "given twice, first in " + a.pos.String()})
		return a
	}
	out := *a
	out.entries = slices.Clone(a.entries)
	for _, e := range b.entries {
		if i := indexOf(out.entries, e.key); i >= 0 {
			out.entries[i].value = t.unite(out.entries[i].value, e.value, join(path, e.key))
		} else {
			out.entries = append(out.entries, e)
		}
	}
	return &out
}
