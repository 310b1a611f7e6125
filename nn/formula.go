package nn

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/scanner"
	"go/token"
	"slices"
	"strings"
)

// Formula is a placement: how the residual stream x passes a sub-layer F, which
// stands for the attention and then for the FFN, or a whole block with its
// attention A and its FFN M:
//
//	x + F(N1(x))                          pre-norm
//	h = N2(x + A(x)); h + M(h)            HybridNorm
//
// The syntax is that of Go's expressions. A formula is assignments and one last
// expression, separated by semicolons, built from
//
//	x, h, …            the stream, and what was assigned before
//	N1(v) … N9(v)      a norm; in a formula of F, each of the two sub-layers has its own
//	F(v) or A(v), M(v) the sub-layers, each applied once
//	v + w, c*v, v/c    sums, and multiples by constants c
//	a*v, g*v           multiples by a learned scalar, from 0, and by a learned vector;
//	                   a1, a2, g1, g2 in a formula of a block
//	c                  numbers, l (the block, from 1), L (the number of blocks), the
//	                   placement's own constants such as alpha, their sums, products,
//	                   quotients and sqrt(c)
//
// Norms within a sub-layer are not part of it; see PlacementConfig.
type Formula struct {
	lets   []let
	result ast.Expr

	block   bool            // of a whole block: A and M instead of F
	uses    map[string]bool // constants and learned multipliers that it reads
	norms   []int           // the numbers of its norms, ascending
	endNorm bool            // its value is a norm's
}

// let is an assignment.
type let struct {
	name  string
	value ast.Expr
}

// The bounds of a formula: far above any that can be read.
const (
	maxFormula    = 500 // bytes
	maxStatements = 8
	maxDepth      = 40
)

// FormulaError is what is wrong with a formula, and where.
type FormulaError struct {
	Formula string
	Column  int // from 1
	Msg     string
}

func (e *FormulaError) Error() string {
	return fmt.Sprintf("formula %q, column %d: %s", e.Formula, e.Column, e.Msg)
}

// ParseFormula reads a formula. constants are names that stand for numbers,
// besides l and L. The error is a *FormulaError.
func ParseFormula(text string, constants ...string) (*Formula, error) {
	if len(text) > maxFormula {
		return nil, &FormulaError{text[:20] + "…", maxFormula + 1, fmt.Sprintf("longer than %d bytes", maxFormula)}
	}
	p := &formulaParser{text: strings.Map(spaceForControl, text)}
	f, err := p.parse()
	if err == nil {
		err = check(f, constants)
	}
	var at *exprError
	if errors.As(err, &at) {
		return nil, &FormulaError{text, at.column, at.msg}
	}
	return f, err
}

// spaceForControl keeps positions while a formula folded over lines is one.
func spaceForControl(r rune) rune {
	if r == '\n' || r == '\r' || r == '\t' {
		return ' '
	}
	return r
}

// exprError is an error at a column of the formula.
type exprError struct {
	column int
	msg    string
}

func (e *exprError) Error() string { return e.msg }

func wrong(column int, format string, args ...any) error {
	return &exprError{column, fmt.Sprintf(format, args...)}
}

type formulaParser struct{ text string }

func (p *formulaParser) parse() (*Formula, error) {
	f := &Formula{}
	parts := strings.Split(p.text, ";")
	if len(parts) > maxStatements {
		return nil, wrong(1, "more than %d parts", maxStatements)
	}
	offset := 0
	for i, part := range parts {
		last := i == len(parts)-1
		name, body, at, err := splitAssignment(part, offset, last)
		if err != nil {
			return nil, err
		}
		e, err := parseExpr(body, at)
		if err != nil {
			return nil, err
		}
		if last {
			f.result = e
			break
		}
		if slices.ContainsFunc(f.lets, func(l let) bool { return l.name == name }) {
			return nil, wrong(offset+1, "%s is assigned twice", name)
		}
		f.lets = append(f.lets, let{name, e})
		offset += len(part) + 1
	}
	return f, nil
}

// splitAssignment takes "h = N2(x)" apart; at is the offset of the expression.
// The last part is an expression, or an assignment to x.
func splitAssignment(part string, offset int, last bool) (name, body string, at int, err error) {
	left, right, ok := strings.Cut(part, "=")
	if !ok {
		if !last {
			return "", "", 0, wrong(offset+1, "an assignment such as h = x + A(x) is wanted before a semicolon")
		}
		return "", part, offset, nil
	}
	name = strings.TrimSpace(left)
	at = offset + len(left) + 1
	switch {
	case last && name != "x":
		return "", "", 0, wrong(offset+1, "the last part is the new x: an expression is wanted, not an assignment to %q", name)
	case last:
	case !token.IsIdentifier(name) || reserved(name):
		return "", "", 0, wrong(offset+1, "%q is no free name", name)
	}
	return name, right, at, nil
}

// reserved says whether a name has a meaning of its own in formulas.
func reserved(name string) bool {
	_, isNorm := normNumber(name)
	return isNorm || slices.Contains([]string{"x", "l", "L", "F", "A", "M", "sqrt"}, name) || slices.Contains(learnedNames, name)
}

// parseExpr parses one expression that starts at the offset, moves its
// positions there and drops its parentheses, which printing restores.
func parseExpr(body string, offset int) (ast.Expr, error) {
	e, err := parser.ParseExprFrom(token.NewFileSet(), "", body, parser.SkipObjectResolution)
	if err != nil {
		column, msg := 1, err.Error()
		var list scanner.ErrorList
		if errors.As(err, &list) && len(list) > 0 {
			column, msg = list[0].Pos.Column, list[0].Msg
		}
		if strings.Contains(msg, "before newline") { // Go's view of where a formula ends
			msg = "a closing parenthesis is missing"
		}
		return nil, wrong(offset+min(column, len(body)+1), "%s", msg)
	}
	return simplify(e, offset, 0)
}

// simplify rebuilds an expression from the few kinds of nodes that a formula
// has, and refuses the others.
func simplify(e ast.Expr, offset, depth int) (ast.Expr, error) {
	at := offset + int(e.Pos())
	if depth > maxDepth {
		return nil, wrong(at, "nested more than %d deep", maxDepth)
	}
	switch e := e.(type) {
	case *ast.ParenExpr:
		return simplify(e.X, offset, depth+1)
	case *ast.Ident:
		return &ast.Ident{Name: e.Name, NamePos: token.Pos(at)}, nil
	case *ast.BasicLit:
		if e.Kind == token.INT || e.Kind == token.FLOAT {
			return &ast.BasicLit{Kind: e.Kind, Value: e.Value, ValuePos: token.Pos(at)}, nil
		}
	case *ast.BinaryExpr:
		if e.Op != token.ADD && e.Op != token.MUL && e.Op != token.QUO {
			return nil, wrong(offset+int(e.OpPos), "%s is no operator of formulas; allowed: + * /", e.Op)
		}
		x, err := simplify(e.X, offset, depth+1)
		if err != nil {
			return nil, err
		}
		y, err := simplify(e.Y, offset, depth+1)
		if err != nil {
			return nil, err
		}
		return &ast.BinaryExpr{X: x, OpPos: token.Pos(offset + int(e.OpPos)), Op: e.Op, Y: y}, nil
	case *ast.CallExpr:
		return simplifyCall(e, offset, depth)
	}
	return nil, wrong(at, "no part of a formula; see the syntax of placements")
}

func simplifyCall(e *ast.CallExpr, offset, depth int) (ast.Expr, error) {
	at := offset + int(e.Pos())
	fn, ok := e.Fun.(*ast.Ident)
	if !ok || len(e.Args) != 1 || e.Ellipsis.IsValid() {
		return nil, wrong(at, "a call of one name with one argument is wanted, as in F(x)")
	}
	arg, err := simplify(e.Args[0], offset, depth+1)
	if err != nil {
		return nil, err
	}
	return &ast.CallExpr{Fun: &ast.Ident{Name: fn.Name, NamePos: token.Pos(at)}, Args: []ast.Expr{arg}}, nil
}

// String prints the formula in canonical form: one spelling for all formulas
// that differ in spaces and needless parentheses.
func (f *Formula) String() string {
	var b strings.Builder
	for _, l := range f.lets {
		b.WriteString(l.name + " = " + show(l.value) + "; ")
	}
	return b.String() + show(f.result)
}

// show prints an expression as gofmt does. Positions are left out, so that no
// line of the input breaks the output.
func show(e ast.Expr) string {
	var b strings.Builder
	if err := printer.Fprint(&b, token.NewFileSet(), unplaced(e)); err != nil {
		panic(err) // a strings.Builder does not fail
	}
	return b.String()
}

func unplaced(e ast.Expr) ast.Expr {
	switch e := e.(type) {
	case *ast.Ident:
		return ast.NewIdent(e.Name)
	case *ast.BasicLit:
		return &ast.BasicLit{Kind: e.Kind, Value: e.Value}
	case *ast.BinaryExpr:
		return &ast.BinaryExpr{X: unplaced(e.X), Op: e.Op, Y: unplaced(e.Y)}
	case *ast.CallExpr:
		return &ast.CallExpr{Fun: unplaced(e.Fun), Args: []ast.Expr{unplaced(e.Args[0])}}
	}
	panic(fmt.Sprintf("nn: a formula with a %T", e))
}
