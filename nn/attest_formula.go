package nn

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
)

// step is one operation on the residual stream within a block. Blocks that are
// read off a graph and blocks that a formula asks for come to the same form,
// are printed by the same code, and can be compared.
type step struct {
	kind stepKind
	name string // of a norm, a learned multiplier, a sub-layer or another operation; "" of a norm that has no parameters
	op   string // of a norm: the operation
	c    float64
	args []*step
}

type stepKind uint8

const (
	stepStream   stepKind = iota // what enters the block
	stepNorm                     // name: norm1, norm1_post, …
	stepSublayer                 // name: A or M
	stepSum
	stepScale   // by c
	stepLearned // name: resid1.alpha, …
	stepOther   // name: the operation
)

// expected is block l as the configuration asks for it.
func (m *Model) expected(l int) *builtBlock {
	p := &m.blocks[l]
	in := &step{kind: stepStream}
	e := &expectation{silent: string(m.cfg.Norm.Kind) == noNorm.Name, norms: map[int]*step{}}
	out := in
	parts := []int{1, 2}
	if p.formula.block {
		parts = []int{0}
	}
	for _, part := range parts {
		e.part = part
		clear(e.norms)
		var err error
		if out, err = run(p.formula, e, p.constants, out); err != nil {
			panic(err) // the formula has built a graph
		}
	}
	return &builtBlock{in: in, out: out, inner: m.innerNorms(l)}
}

// expectation is the machine that makes steps from a formula.
type expectation struct {
	part   int
	silent bool // norms are no operations
	norms  map[int]*step
}

func (e *expectation) Norm(k int, v *step) (*step, error) {
	if e.silent {
		return v, nil
	}
	if e.norms[k] == nil {
		e.norms[k] = &step{kind: stepNorm, name: normName(e.part, k), args: []*step{v}}
	}
	return e.norms[k], nil
}

func (e *expectation) Sublayer(name string, v *step) (*step, error) {
	if name == "F" {
		name = []string{"A", "M"}[e.part-1]
	}
	return &step{kind: stepSublayer, name: name, args: []*step{v}}, nil
}

func (e *expectation) Add(v, w *step) *step { return &step{kind: stepSum, args: []*step{v, w}} }

func (e *expectation) Scale(c float64, v *step) *step {
	if c == 1 {
		return v
	}
	return &step{kind: stepScale, c: c, args: []*step{v}}
}

func (e *expectation) Learned(name string, v *step) *step {
	part := e.part
	if len(name) == 2 {
		part = int(name[1] - '0')
	}
	kind := map[byte]string{'a': "alpha", 'g': "gamma"}[name[0]]
	return &step{kind: stepLearned, name: fmt.Sprintf("resid%d.%s", part, kind), args: []*step{v}}
}

// describe prints a block as a formula: of F if attention and FFN are wired in
// the same way one after the other, of A and M otherwise.
func describe(in, out *step) string {
	for _, h := range descendants(out) {
		if h == in || h == out {
			continue
		}
		first, ok1 := write(in, h, 1)
		second, ok2 := write(h, out, 2)
		if ok1 && ok2 && first == second {
			return first
		}
	}
	text, _ := write(in, out, 0)
	return text
}

// descendants lists s and everything below it, once.
func descendants(s *step) []*step {
	var all []*step
	seen := map[*step]bool{}
	var visit func(s *step)
	visit = func(s *step) {
		if seen[s] {
			return
		}
		seen[s] = true
		for _, a := range s.args {
			visit(a)
		}
		all = append(all, s)
	}
	visit(s)
	return all
}

// write prints the way from in to out. part is 1 or 2 for the one sub-layer
// that it should be about: attention or FFN, called F; 0 for a whole block. It
// fails if there is something else on the way.
func write(in, out *step, part int) (text string, ok bool) {
	w := &writer{in: in, part: part, ok: true, uses: map[*step]int{}, names: map[*step]string{}}
	w.count(out)
	e := w.expr(out)
	return w.lets.String() + show(e), w.ok
}

type writer struct {
	in    *step
	part  int
	ok    bool
	uses  map[*step]int
	names map[*step]string // of values that are used more than once
	lets  strings.Builder
}

func (w *writer) count(s *step) {
	w.uses[s]++
	if w.uses[s] > 1 || s == w.in {
		return
	}
	for _, a := range s.args {
		w.count(a)
	}
}

func (w *writer) expr(s *step) ast.Expr {
	if s == w.in {
		return ast.NewIdent("x")
	}
	if name := w.names[s]; name != "" {
		return ast.NewIdent(name)
	}
	e := w.plain(s)
	if w.uses[s] < 2 {
		return e
	}
	name := "h"
	if n := len(w.names); n > 0 {
		name += strconv.Itoa(n + 1)
	}
	w.names[s] = name
	w.lets.WriteString(name + " = " + show(e) + "; ")
	return ast.NewIdent(name)
}

func (w *writer) plain(s *step) ast.Expr {
	args := make([]ast.Expr, len(s.args))
	for i, a := range s.args {
		args[i] = w.expr(a)
	}
	switch s.kind {
	case stepSum:
		return &ast.BinaryExpr{X: args[0], Op: token.ADD, Y: args[1]}
	case stepScale:
		c := &ast.BasicLit{Kind: token.FLOAT, Value: strconv.FormatFloat(s.c, 'g', 6, 64)}
		return &ast.BinaryExpr{X: c, Op: token.MUL, Y: args[0]}
	case stepLearned:
		return &ast.BinaryExpr{X: ast.NewIdent(w.learned(s.name)), Op: token.MUL, Y: args[0]}
	case stepStream: // the block's own input within a part that should not see it
		w.ok = false
		return ast.NewIdent("x")
	}
	e := ast.Expr(&ast.CallExpr{Fun: ast.NewIdent(w.function(s)), Args: args[:1]})
	for _, more := range args[1:] { // an operation, or a sub-layer, that reads several values
		e = &ast.BinaryExpr{X: e, Op: token.COMMA, Y: more}
	}
	return e
}

var normParam = regexp.MustCompile(`^norm(\d)(?:_(post|\d))?$`)

// function is the name of a norm or a sub-layer in the formula.
func (w *writer) function(s *step) string {
	switch s.kind {
	case stepSublayer:
		if w.part == 0 {
			return s.name
		}
		w.ok = w.ok && s.name == []string{"A", "M"}[w.part-1]
		return "F"
	case stepNorm:
		m := normParam.FindStringSubmatch(s.name)
		switch {
		case s.name == "":
			return "N"
		case m == nil:
			return s.name
		case w.part == 0 && m[2] == "":
			return "N" + m[1]
		case w.part == 0:
			return s.name
		}
		w.ok = w.ok && m[1] == strconv.Itoa(w.part)
		return "N" + map[string]string{"": "1", "post": "2"}[m[2]] + strings.TrimPrefix(m[2], "post")
	}
	return s.name
}

// learned is the name of a learned multiplier in the formula.
func (w *writer) learned(param string) string {
	name, part := "g", strings.TrimPrefix(param[:strings.IndexByte(param, '.')], "resid")
	if strings.HasSuffix(param, ".alpha") {
		name = "a"
	}
	if w.part == 0 {
		return name + part
	}
	w.ok = w.ok && part == strconv.Itoa(w.part)
	return name
}
