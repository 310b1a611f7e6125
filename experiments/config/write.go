package config

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// YAML writes the tree as a file that ParseFile reads back: mappings in blocks,
// lists on one line.
func (t *Tree) YAML() []byte {
	if t.root == nil {
		return []byte("{}\n")
	}
	if t.root.kind != mapping || len(t.root.entries) == 0 {
		return []byte(flow(t.root) + "\n")
	}
	var b bytes.Buffer
	block(&b, t.root, "")
	return b.Bytes()
}

func block(b *bytes.Buffer, n *node, indent string) {
	for _, e := range n.entries {
		b.WriteString(indent + quote(e.key) + ":")
		if e.value.kind == mapping && len(e.value.entries) > 0 {
			b.WriteByte('\n')
			block(b, e.value, indent+"  ")
			continue
		}
		b.WriteString(" " + flow(e.value) + "\n")
	}
}

// flow writes a value on one line.
func flow(n *node) string {
	switch n.kind {
	case text:
		return quote(n.text)
	case list:
		items := make([]string, len(n.items))
		for i, item := range n.items {
			items[i] = flow(item)
		}
		return "[" + strings.Join(items, ", ") + "]"
	case mapping:
		fields := make([]string, len(n.entries))
		for i, e := range n.entries {
			fields[i] = quote(e.key) + ": " + flow(e.value)
		}
		return "{" + strings.Join(fields, ", ") + "}"
	}
	return n.text
}

// bareText needs no quotes for any reader of YAML, unless it means something else.
var bareText = regexp.MustCompile(`^[A-Za-z_/][A-Za-z0-9_./+*()-]*( [A-Za-z0-9_/+*(][A-Za-z0-9_./+*()-]*)*$`)

// quote writes text so that it stays text. Go's escapes are all YAML's too.
func quote(s string) string {
	kind, _ := classify(s)
	if kind == text && bareText.MatchString(s) && !otherTrue.MatchString(s) && !otherFalse.MatchString(s) {
		return s
	}
	return strconv.Quote(s)
}

// Canonical gives one byte sequence for one meaning, to be hashed: JSON without
// spaces, keys sorted by their bytes, integers in full and floats in the shortest form that
// parses to the same value. from is a struct, a map or a *Tree.
func Canonical(from any) []byte {
	var b bytes.Buffer
	if root := build("", from).root; root != nil {
		canonical(&b, root)
	} else {
		b.WriteString("null")
	}
	return b.Bytes()
}

func canonical(b *bytes.Buffer, n *node) {
	switch n.kind {
	case number:
		b.WriteString(canonicalNumber(n.text))
	case text:
		jsonText(b, n.text)
	case list:
		b.WriteByte('[')
		for i, item := range n.items {
			if i > 0 {
				b.WriteByte(',')
			}
			canonical(b, item)
		}
		b.WriteByte(']')
	case mapping:
		b.WriteByte('{')
		sorted := slices.SortedFunc(slices.Values(n.entries), func(a, b entry) int { return strings.Compare(a.key, b.key) })
		for i, e := range sorted {
			if i > 0 {
				b.WriteByte(',')
			}
			jsonText(b, e.key)
			b.WriteByte(':')
			canonical(b, e.value)
		}
		b.WriteByte('}')
	default:
		b.WriteString(n.text)
	}
}

func canonicalNumber(s string) string {
	if s == "-0" {
		return "0"
	}
	if integerText.MatchString(s) {
		return s
	}
	f, _ := parseFloat(s, 64)
	return formatFloat(f, 64)
}

// jsonText is written here because encoding/json has changed its escapes between
// versions of Go, and hashes must not.
func jsonText(b *bytes.Buffer, s string) {
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ':
			fmt.Fprintf(b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
}
