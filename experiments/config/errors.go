package config

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Pos says where something was written.
type Pos struct {
	Source    string // name of the file or layer, or the whole command-line argument
	Line, Col int    // 1-based; 0 where there is none
	Arg       int    // 1-based place among the arguments; 0 if not an argument
}

// String gives file:line:col, or the argument itself.
func (p Pos) String() string {
	s := clean(p.Source, 120)
	if p.Line > 0 {
		s += ":" + strconv.Itoa(p.Line)
		if p.Col > 0 {
			s += ":" + strconv.Itoa(p.Col)
		}
	}
	return s
}

// inLine names the line, for a message about another place of the same source.
func (p Pos) inLine() string {
	if p.Line == 0 {
		return ""
	}
	return "; first in line " + strconv.Itoa(p.Line)
}

// compare orders files and layers by name, then lines; arguments come last.
func (p Pos) compare(q Pos) int {
	return cmp.Or(cmp.Compare(p.Arg, q.Arg), cmp.Compare(p.Source, q.Source), cmp.Compare(p.Line, q.Line), cmp.Compare(p.Col, q.Col))
}

// A Problem is one thing that is wrong.
type Problem struct {
	Pos   Pos
	Path  string // the key, dotted; list elements as betas[1]
	Value string // what was given, as it was written; "" if the problem is not about a value
	Msg   string // what is wrong, and what is allowed
}

// String gives "tiny.yaml:7:12: model.layers: 8.5: not an integer". What an
// argument says already is not repeated: "train.lr=abc: not a number".
func (p Problem) String() string {
	parts := []string{p.Pos.String(), clean(p.Path, 120), clean(p.Value, 60), clean(p.Msg, 1000)}
	if p.Pos.Arg > 0 {
		path, value, _ := strings.Cut(p.Pos.Source, "=")
		if path == p.Path {
			parts[1] = ""
			if strings.TrimSpace(value) == p.Value {
				parts[2] = ""
			}
		}
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	return strings.Join(parts, ": ")
}

// Error is everything that is wrong with a configuration, sorted by position.
type Error struct{ Problems []Problem }

// maxShown bounds the printed lines, for files of another kind given by mistake.
const maxShown = 100

// Error prints one problem per line.
func (e *Error) Error() string {
	var b strings.Builder
	for i, p := range e.Problems {
		if i == maxShown {
			fmt.Fprintf(&b, "\nand %d more problems", len(e.Problems)-i)
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(p.String())
	}
	return b.String()
}

// ErrorOf makes problems, from several readers perhaps, one *Error: sorted by
// position, without repetitions. It is nil if there are none.
func ErrorOf(problems []Problem) error {
	if len(problems) == 0 {
		return nil
	}
	sorted := slices.Clone(problems)
	slices.SortStableFunc(sorted, func(a, b Problem) int { return a.Pos.compare(b.Pos) })
	return &Error{Problems: slices.Compact(sorted)}
}

// clean makes text from outside safe for one line of a terminal: what cannot be
// printed is escaped, and what is long is cut in the middle of nowhere but visibly.
func clean(s string, limit int) string {
	var b strings.Builder
	n := 0
	for i, r := range s {
		if n == limit {
			b.WriteString("…")
			break
		}
		n++
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			_, size := utf8.DecodeRuneInString(s[i:])
			quoted := strconv.Quote(s[i : i+size])
			b.WriteString(quoted[1 : len(quoted)-1])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
