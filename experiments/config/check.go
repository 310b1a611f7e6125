package config

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// check runs a struct's own checks on its decoded value. bad is what already went
// wrong in it.
func (d *decoder) check(n *node, path string, v reflect.Value, bad trouble) {
	if v.Kind() != reflect.Struct {
		return
	}
	if self, ok := v.Addr().Interface().(Validator); ok && !bad.unusable {
		for _, msg := range parts(self.Validate()) {
			if !mentions(msg, bad.keys) {
				d.complain(n, path, msg, v.Type())
			}
		}
	}
	if self, ok := v.Addr().Interface().(Unreader); ok && n != nil && !bad.choice {
		// Unread may depend on what the Validate of an outer struct derives.
		d.last = append(d.last, func() { d.unread(n, path, v, self.Unread()) })
	}
}

// parts takes an errors.Join apart, one behind a path ("[1]: " + joined) too.
func parts(err error) []string {
	if err == nil {
		return nil
	}
	var inner []error
	switch e := err.(type) {
	case interface{ Unwrap() []error }:
		inner = e.Unwrap()
	case interface{ Unwrap() error }:
		inner = []error{e.Unwrap()}
	}
	var all, texts []string
	for _, e := range inner {
		if e != nil {
			all, texts = append(all, parts(e)...), append(texts, e.Error())
		}
	}
	prefix, ok := strings.CutSuffix(err.Error(), strings.Join(texts, "\n"))
	if len(all) == 0 || !ok || leadingPath.FindString(prefix) != prefix { // a sentence of its own around the errors
		return []string{err.Error()}
	}
	for i := range all {
		all[i] = prefix + all[i]
	}
	return all
}

var (
	leadingPath = regexp.MustCompile(`^((?:[a-z][a-z0-9_]*|\[[0-9]+\])(?:\[[0-9]+\]|\.[a-z][a-z0-9_]*)*): `)
	keyWord     = regexp.MustCompile(`[a-z][a-z0-9_]*`)
)

// mentions reports whether a message names one of the keys.
func mentions(msg string, keys []string) bool {
	return len(keys) > 0 && slices.ContainsFunc(keyWord.FindAllString(msg, -1), func(w string) bool { return slices.Contains(keys, w) })
}

// complain records what a value says about itself, at the keys that the message
// starts with. A word before a colon is a key only if the struct has it or the tree
// gives it.
func (d *decoder) complain(n *node, path, msg string, t reflect.Type) {
	p := Problem{Path: path, Msg: msg}
	for {
		m := leadingPath.FindStringSubmatch(p.Msg)
		if m == nil {
			break
		}
		at := join(p.Path, m[1])
		if set, _ := d.tree.locate(at); set == nil && !(p.Path == path && hasKey(t, m[1])) {
			break
		}
		p.Path, p.Msg = at, p.Msg[len(m[0]):]
	}
	p.Pos = d.tree.Problem(p.Path, "").Pos
	if n != nil && n.kind != mapping && p.Path == path && !strings.Contains(p.Msg, n.show()) {
		p.Value = n.show()
	}
	d.problems = append(d.problems, p)
}

// hasKey reports whether a path starts with a key of a struct type.
func hasKey(t reflect.Type, path string) bool {
	return t.Kind() == reflect.Struct && indexOfKey(fieldsOf(t), keyWord.FindString(path)) >= 0
}

// unread reports keys that the user set and the variant ignores, unless something
// is said about them already.
func (d *decoder) unread(n *node, path string, v reflect.Value, keys []string) {
	for _, key := range keys {
		set, pos := n.locate(key, n.pos)
		known := slices.ContainsFunc(d.problems, func(p Problem) bool { return p.Path == join(path, key) })
		if set == nil || !set.explicit() || known {
			continue
		}
		msg := "not read"
		if why := whyUnread(v, key); why != "" {
			msg += ": " + why
		} else if kind := kindAround(v, key); kind != "" {
			msg += " by " + kind
		}
		d.problems = append(d.problems, Problem{Pos: pos, Path: join(path, key), Msg: msg + "; remove it or choose a variant that reads it"})
	}
}

func whyUnread(v reflect.Value, key string) string {
	if self, ok := v.Addr().Interface().(Explainer); ok {
		return self.WhyUnread(key)
	}
	return ""
}

// kindAround gives the kind of the innermost struct that holds the key.
func kindAround(v reflect.Value, key string) string {
	outer := ""
	if i := strings.LastIndexByte(key, '.'); i >= 0 {
		outer = key[:i]
	}
	root := build("", v.Interface()).root
	for _, at := range []string{join(outer, "kind"), outer} {
		if n, _ := root.locate(at, Pos{}); n != nil && n.kind == text {
			return n.text
		}
	}
	return ""
}
