package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	maxBytes = 4 << 20 // far beyond any configuration; bounds time and memory
	maxDepth = 64      // likewise; also bounds every recursion over trees
	maxKeys  = 4096    // of one mapping; bounds the quadratic searches in it
	tooDeep  = "nested deeper than 64 levels"
)

// ParseFile reads a YAML file; name is what positions call it. The error is for text
// that is no tree at all: too large, no YAML, no mapping, several documents. All
// else that is wrong is kept in the tree, and Decode reports it along with what it
// finds itself.
func ParseFile(name string, data []byte) (*Tree, error) {
	pos := Pos{Source: name}
	doc, err := readYAML(data, pos)
	if err != nil {
		return nil, err
	}
	if doc == nil {
		return nil, &Error{[]Problem{{Pos: pos, Msg: "empty; want keys and values"}}}
	}
	r := &reader{at: func(n *yaml.Node) Pos { return Pos{Source: name, Line: n.Line, Col: n.Column} }}
	root := r.node(doc, "", 0)
	if root.kind != mapping {
		if len(r.problems) == 0 {
			r.problem(doc, "", root.show(), "not a mapping from keys to values")
		}
		return nil, ErrorOf(r.problems)
	}
	return &Tree{root: root, problems: r.problems}, nil
}

var (
	yamlLine      = regexp.MustCompile(`^yaml: (?:line ([0-9]+): )?`)
	unknownAnchor = regexp.MustCompile(`unknown anchor '(.*)' referenced`)
)

// readYAML gives the root of the only document, or nil if there is nothing in it.
func readYAML(data []byte, pos Pos) (root *yaml.Node, err error) {
	fail := func(line int, msg string) error {
		if pos.Arg == 0 && pos.Source != "" {
			pos.Line = line
		}
		return &Error{[]Problem{{Pos: pos, Msg: msg}}}
	}
	if len(data) > maxBytes {
		return nil, fail(0, fmt.Sprintf("%d bytes; at most %d are read", len(data), maxBytes))
	}
	// The library reports syntax errors by panicking inside; what it might let through
	// must not take the process down.
	defer func() {
		if p := recover(); p != nil {
			root, err = nil, fail(0, fmt.Sprintf("not readable as YAML: %v", p))
		}
	}()
	var docs [2]yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for i := range docs {
		err := decoder.Decode(&docs[i])
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fail(lineOf(err.Error(), data), "not YAML: "+yamlLine.ReplaceAllString(err.Error(), ""))
		}
	}
	if docs[1].Kind != 0 {
		return nil, fail(docs[1].Line, "a second document; one is allowed")
	}
	if len(docs[0].Content) == 0 {
		return nil, nil
	}
	root = docs[0].Content[0]
	if root.Kind == yaml.ScalarNode && root.Style == 0 && root.Value == "" && root.Anchor == "" {
		return nil, nil
	}
	return root, nil
}

// lineOf finds the line that an error of the library is about; 0 if unknown.
func lineOf(msg string, data []byte) int {
	if m := yamlLine.FindStringSubmatch(msg); m != nil && m[1] != "" {
		line, _ := strconv.Atoi(m[1])
		return line
	}
	if m := unknownAnchor.FindStringSubmatch(msg); m != nil {
		before, _, _ := bytes.Cut(data, []byte("*"+m[1]))
		return 1 + bytes.Count(before, []byte("\n"))
	}
	return 0
}

// A reader turns YAML's nodes into ours and refuses what a configuration has no use for.
type reader struct {
	at       func(*yaml.Node) Pos
	problems []Problem
}

func (r *reader) problem(n *yaml.Node, path, value, msg string) {
	r.problems = append(r.problems, Problem{Pos: r.at(n), Path: path, Value: value, Msg: msg})
}

func (r *reader) node(n *yaml.Node, path string, depth int) *node {
	out := &node{pos: r.at(n)}
	switch {
	case depth > maxDepth:
		r.problem(n, path, "", tooDeep)
	case n.Kind == yaml.AliasNode:
		r.problem(n, path, "*"+n.Value, "an alias; write the value itself, or quote it if it is text")
	case n.Anchor != "":
		r.problem(n, path, "&"+n.Anchor, "an anchor; not allowed, quote it if it is text")
	case n.Style&yaml.TaggedStyle != 0:
		r.problem(n, path, n.Tag, "a tag; not allowed, quote it if it is text")
	case n.Kind == yaml.SequenceNode:
		out.kind = list
		for i, item := range n.Content {
			out.items = append(out.items, r.node(item, path+"["+strconv.Itoa(i)+"]", depth+1))
		}
	case n.Kind == yaml.MappingNode:
		out.kind = mapping
		r.entries(out, n, path, depth)
	default:
		r.scalar(out, n, path)
	}
	return out
}

func (r *reader) scalar(out *node, n *yaml.Node, path string) {
	out.kind, out.text, out.quoted = text, n.Value, true
	if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return
	}
	var msg string
	out.quoted = false
	if out.kind, msg = classify(n.Value); msg != "" {
		r.problem(n, path, n.Value, msg)
	}
}

func (r *reader) entries(out *node, n *yaml.Node, path string, depth int) {
	if len(n.Content) > 2*maxKeys {
		r.problem(n, path, "", fmt.Sprintf("%d keys; at most %d are read", len(n.Content)/2, maxKeys))
		return
	}
	first := make(map[string]Pos)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		at := join(path, k.Value)
		before, twice := first[k.Value]
		switch {
		case k.Kind != yaml.ScalarNode || k.Anchor != "" || k.Style&yaml.TaggedStyle != 0 || strings.TrimSpace(k.Value) == "":
			r.problem(k, path, "", "a key must be a plain word")
		case k.Value == "<<" && k.Style == 0:
			r.problem(k, at, "", "a merge key; write the keys themselves")
		case twice:
			r.problem(k, at, "", "duplicate key"+before.inLine())
		default:
			first[k.Value] = r.at(k)
			out.entries = append(out.entries, entry{key: k.Value, pos: r.at(k), value: r.node(v, at, depth+1)})
		}
	}
}
