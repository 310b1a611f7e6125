package config

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// ParseArgs reads command-line arguments key=value as one layer: key is a dotted
// path, value has YAML's flow syntax (model.norm={kind: rmsnorm, eps: 1e-6}). The order of the arguments has
// no meaning; a key given twice is a problem. The error lists the arguments that
// cannot be read at all; other problems are kept in the tree, as ParseFile does.
func ParseArgs(args []string) (*Tree, error) {
	out := &Tree{}
	var unreadable []Problem
	for i, arg := range args {
		pos := Pos{Source: arg, Arg: i + 1}
		path, value, ok := strings.Cut(arg, "=")
		if !ok {
			unreadable = append(unreadable, Problem{Pos: pos, Msg: "not an argument of the form key=value"})
			continue
		}
		n, problems := parseValue(path, value, pos)
		if n == nil {
			unreadable = append(unreadable, problems...)
			continue
		}
		out.problems = append(out.problems, problems...)
		out.add(path, pos, n)
	}
	if err := ErrorOf(unreadable); err != nil {
		return nil, err
	}
	return out, nil
}

// parseValue reads a value on one line; nil if it is no value.
func parseValue(path, value string, pos Pos) (*node, []Problem) {
	fail := func(msg string) (*node, []Problem) { return nil, []Problem{{Pos: pos, Path: path, Msg: msg}} }
	value = strings.TrimSpace(value)
	if value == "" {
		return fail(`no value; for empty text write ""`)
	}
	if strings.ContainsAny(value, "\r\n") {
		return fail(`several lines; for text with line breaks write "a\nb"`)
	}
	doc, err := readYAML([]byte(value), pos)
	if err != nil {
		return nil, err.(*Error).Problems
	}
	plain := doc != nil && doc.Style == 0 && doc.Kind == yaml.ScalarNode && doc.Value == value
	bracketed := doc != nil && doc.Style != 0 && strings.ContainsRune("\"'[{!&", rune(value[0]))
	if !plain && !bracketed || comments(doc) {
		// A comment, a marker of a document or a block mapping: nothing of it may vanish in silence.
		return fail("not a single value; quote it if it is text")
	}
	r := &reader{at: func(*yaml.Node) Pos { return pos }}
	return r.node(doc, path, strings.Count(path, ".")), r.problems
}

func comments(n *yaml.Node) bool {
	if n.HeadComment+n.LineComment+n.FootComment != "" {
		return true
	}
	for _, c := range n.Content {
		if comments(c) {
			return true
		}
	}
	return false
}
