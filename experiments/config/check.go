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
				d.complain(n, path, msg)
			}
		}
	}
	if self, ok := v.Addr().Interface().(Unreader); ok && n != nil && !bad.choice {
		// Unread may depend on what the Validate of an outer struct derives.
		d.last = append(d.last, func() { d.unread(n, path, v, self.Unread()) })
	}
}

// parts takes an errors.Join apart.
func parts(err error) []string {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []string
		for _, e := range joined.Unwrap() {
			all = append(all, parts(e)...)
		}
		if strings.Join(all, "\n") == err.Error() { // not a sentence of its own around the errors
			return all
		}
	}
	return []string{err.Error()}
}

var (
	leadingPath = regexp.MustCompile(`^([a-z][a-z0-9_]*(?:\[[0-9]+\]|\.[a-z][a-z0-9_]*)*|(?:\[[0-9]+\])(?:\[[0-9]+\]|\.[a-z][a-z0-9_]*)*): `)
	keyWord     = regexp.MustCompile(`[a-z][a-z0-9_]*`)
)

// mentions reports whether a message names one of the keys.
func mentions(msg string, keys []string) bool {
	return len(keys) > 0 && slices.ContainsFunc(keyWord.FindAllString(msg, -1), func(w string) bool { return slices.Contains(keys, w) })
}

// complain records what a struct or value says about itself, at the key that the
// message starts with.
func (d *decoder) complain(n *node, path, msg string) {
	if m := leadingPath.FindStringSubmatch(msg); m != nil {
		path, msg = join(path, m[1]), msg[len(m[0]):]
	}
	p := d.tree.Problem(path, "%s", msg)
	if p.Pos == (Pos{}) && n != nil {
		p.Pos = n.pos
	}
	d.problems = append(d.problems, p)
}

// unread reports keys that the user set and the variant ignores.
func (d *decoder) unread(n *node, path string, v reflect.Value, keys []string) {
	for _, key := range keys {
		set, pos := n.locate(key, n.pos)
		if set == nil || !set.explicit() {
			continue
		}
		msg := "not read"
		if kind := kindAround(v, key); kind != "" {
			msg += " by " + kind
		}
		d.problems = append(d.problems, Problem{Pos: pos, Path: join(path, key), Msg: msg + "; remove it or choose a variant that reads it"})
	}
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
