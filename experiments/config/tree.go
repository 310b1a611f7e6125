package config

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// kind is what a node holds.
type kind uint8

const (
	invalid kind = iota // a value with a problem of its own, already recorded in the tree
	boolean
	number
	text
	list
	mapping
)

// A node is a value with its position. Nodes never change once they are built, so
// trees share them.
type node struct {
	kind     kind
	pos      Pos
	text     string // of a scalar, as it was written, without quotes
	quoted   bool   // the scalar stood in quotes
	implicit bool   // stated by a default or a preset, not by the user
	items    []*node
	entries  []entry // in the order written
}

// An entry is a key of a mapping.
type entry struct {
	key   string
	pos   Pos
	value *node
	short bool // key "kind" made from a scalar that was given for the mapping
}

func (n *node) find(key string) (entry, bool) {
	if n != nil {
		if i := indexOf(n.entries, key); i >= 0 {
			return n.entries[i], true
		}
	}
	return entry{}, false
}

// scalar gives the scalar that n was made from by laying keys over it, or nil.
func (n *node) scalar() *node {
	if e, _ := n.find("kind"); e.short {
		return e.value
	}
	return nil
}

// explicit reports whether the user stated any part of n.
func (n *node) explicit() bool {
	for _, e := range n.entries {
		if e.value.explicit() {
			return true
		}
	}
	return len(n.entries) == 0 && !n.implicit
}

// show is the value as it was written, on one line.
func (n *node) show() string {
	if n.kind == number || n.kind == boolean || n.kind == invalid || n.kind == text && !n.quoted {
		return n.text
	}
	return flow(n)
}

// value gives bool, int64, float64, string, []any or map[string]any. An integer
// beyond int64 becomes a float64; decoding refuses it before it comes so far.
func (n *node) value() any {
	switch n.kind {
	case boolean:
		return n.text == "true"
	case number:
		if i, msg := parseInt(n.text, 64); msg == "" {
			return i
		}
		f, _ := parseFloat(n.text, 64)
		return f
	case text:
		return n.text
	case list:
		items := make([]any, len(n.items))
		for i, item := range n.items {
			items[i] = item.value()
		}
		return items
	case mapping:
		m := make(map[string]any, len(n.entries))
		for _, e := range n.entries {
			m[e.key] = e.value.value()
		}
		return m
	}
	return nil
}

// A Tree is a configuration as it was written: values, their order and positions,
// and the problems met so far, which Decode reports along with its own. The zero
// Tree is an empty configuration.
type Tree struct {
	root     *node // nil if empty
	problems []Problem
}

// An Entry is a key of a mapping.
type Entry struct {
	Key   string
	Pos   Pos
	Value *Tree
}

// Err reports the problems met while reading, for a tree that is not to be decoded.
func (t *Tree) Err() error { return ErrorOf(t.problems) }

// Pos is where the value was written; the zero Pos for an empty tree.
func (t *Tree) Pos() Pos {
	if t.root == nil {
		return Pos{}
	}
	return t.root.pos
}

// Value gives the tree as nil (empty), bool, int64, float64, string, []any or map[string]any.
func (t *Tree) Value() any {
	if t.root == nil {
		return nil
	}
	return t.root.value()
}

// Entries gives the keys of a mapping in the order written; nil for anything else.
func (t *Tree) Entries() []Entry {
	if t.root == nil {
		return nil
	}
	var out []Entry
	for _, e := range t.root.entries {
		out = append(out, Entry{e.key, e.pos, &Tree{root: e.value}})
	}
	return out
}

// Items gives the elements of a list and whether the tree is one.
func (t *Tree) Items() ([]*Tree, bool) {
	if t.root == nil || t.root.kind != list {
		return nil, false
	}
	out := make([]*Tree, len(t.root.items))
	for i, item := range t.root.items {
		out[i] = &Tree{root: item}
	}
	return out, true
}

// Get gives the part of the tree at a path such as model.norm.eps or
// train.betas[1], with the problems inside it, or nil if the path is not there.
func (t *Tree) Get(path string) *Tree {
	n, _ := t.locate(path)
	if n == nil {
		return nil
	}
	sub := &Tree{root: n}
	for _, p := range t.problems {
		if rest, ok := below(p.Path, path); ok {
			p.Path = rest
			sub.problems = append(sub.problems, p)
		}
	}
	return sub
}

// Set states a value at a dotted path: a *Tree, which keeps its positions, or
// any value that Encode takes. It is the same as merging a layer with that one key.
func (t *Tree) Set(path string, value any) {
	v := build("", value)
	layer := &Tree{root: wrap(path, v.root)}
	for _, p := range v.problems {
		p.Path = join(path, p.Path)
		layer.problems = append(layer.problems, p)
	}
	*t = *Merge(t, layer)
}

// Delete removes the key at a dotted path and reports whether it was there.
func (t *Tree) Delete(path string) bool {
	root, ok := without(t.root, path)
	if ok {
		t.root = root
	}
	return ok
}

// Problem gives a problem at a path of the tree: its position is that of the value
// there, or of what stands nearest above it.
func (t *Tree) Problem(path, format string, args ...any) Problem {
	n, pos := t.locate(path)
	if n != nil && n.kind != mapping { // a mapping is shown by its own key, not by its first one
		pos = cmp.Or(n.pos, pos)
	}
	return Problem{Pos: pos, Path: path, Msg: fmt.Sprintf(format, args...)}
}

// Errorf is Problem as an error.
func (t *Tree) Errorf(path, format string, args ...any) *Error {
	return &Error{[]Problem{t.Problem(path, format, args...)}}
}

// locate finds the node at a path (nil if there is none) and the position of its
// key, or of what stands nearest above it. Keys may contain dots themselves, as under axes.
func (t *Tree) locate(path string) (*node, Pos) {
	if t.root == nil {
		return nil, Pos{}
	}
	return t.root.locate(path, t.root.pos)
}

func (n *node) locate(path string, best Pos) (*node, Pos) {
	if path == "" {
		return n, best
	}
	for i, item := range n.items {
		if rest, ok := below(path, "["+strconv.Itoa(i)+"]"); ok {
			return item.locate(rest, cmp.Or(item.pos, best))
		}
	}
	for _, e := range n.entries {
		if rest, ok := below(path, e.key); ok {
			return e.value.locate(rest, cmp.Or(e.pos, best))
		}
	}
	if n.kind != mapping { // a scalar that stands for the mapping
		best = cmp.Or(n.pos, best)
	}
	return nil, best
}

// below cuts the prefix key off a path; false if path is not key or under it.
func below(path, key string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(path, key)
	switch {
	case !ok:
		return "", false
	case rest == "" || rest[0] == '[' || key == "":
		return rest, true
	case rest[0] == '.':
		return rest[1:], true
	}
	return "", false
}

// join puts two paths together.
func join(path, key string) string {
	if path == "" || key == "" || key[0] == '[' {
		return path + key
	}
	return path + "." + key
}
