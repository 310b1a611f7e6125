package nn

import (
	"go/ast"
	"go/token"
	"math"
	"slices"
	"strconv"
)

// machine is what a formula runs on: a graph under construction, the checker,
// or the printer. V is a value of the stream.
type machine[V any] interface {
	Norm(k int, v V) (V, error)
	// Sublayer applies F, A or M.
	Sublayer(name string, v V) (V, error)
	Add(v, w V) V
	Scale(c float64, v V) V
	// Learned multiplies by a learned scalar or vector.
	Learned(name string, v V) V
}

// learnedNames are the learned multipliers: scalars a, vectors g; the numbered
// ones belong to the two sub-layers in the formula of a block.
var learnedNames = []string{"a", "g", "a1", "a2", "g1", "g2"}

// term is a value of an expression: a constant, a learned multiplier or the stream.
type term[V any] struct {
	kind  termKind
	c     float64
	name  string
	v     V
	place int // column
}

type termKind uint8

const (
	constant termKind = iota
	multiplier
	stream
)

func (k termKind) String() string {
	return [...]string{"a constant", "a learned multiplier", "the stream"}[k]
}

// run evaluates f for one block, or one sub-layer, on m.
func run[V any](f *Formula, m machine[V], constants map[string]float64, x V) (V, error) {
	r := evaluator[V]{m: m, names: map[string]term[V]{"x": {kind: stream, v: x}}}
	for name, c := range constants {
		r.names[name] = term[V]{kind: constant, c: c}
	}
	var none V
	for _, l := range f.lets {
		t, err := r.eval(l.value)
		if err != nil {
			return none, err
		}
		if _, taken := r.names[l.name]; taken {
			return none, wrong(int(l.value.Pos()), "%s has a meaning already", l.name)
		}
		r.names[l.name] = t
	}
	t, err := r.eval(f.result)
	if err != nil {
		return none, err
	}
	if t.kind != stream {
		return none, wrong(t.place, "the formula gives %v, not the stream", t.kind)
	}
	return t.v, nil
}

type evaluator[V any] struct {
	m     machine[V]
	names map[string]term[V]
}

func (r *evaluator[V]) eval(e ast.Expr) (term[V], error) {
	t, err := r.evalAt(e)
	t.place = int(e.Pos())
	return t, err
}

func (r *evaluator[V]) evalAt(e ast.Expr) (term[V], error) {
	at := int(e.Pos())
	switch e := e.(type) {
	case *ast.BasicLit:
		c, err := strconv.ParseFloat(e.Value, 64)
		if err != nil || c <= 0 {
			return term[V]{}, wrong(at, "%s is no positive decimal number", e.Value)
		}
		return term[V]{kind: constant, c: c}, nil
	case *ast.Ident:
		if slices.Contains(learnedNames, e.Name) {
			return term[V]{kind: multiplier, name: e.Name}, nil
		}
		if t, ok := r.names[e.Name]; ok {
			return t, nil
		}
		return term[V]{}, wrong(at, "unknown name %s", e.Name)
	case *ast.BinaryExpr:
		return r.binary(e)
	case *ast.CallExpr:
		return r.call(e)
	}
	return term[V]{}, wrong(at, "no part of a formula")
}

func (r *evaluator[V]) binary(e *ast.BinaryExpr) (term[V], error) {
	x, err := r.eval(e.X)
	if err != nil {
		return x, err
	}
	y, err := r.eval(e.Y)
	if err != nil {
		return y, err
	}
	switch {
	case x.kind == constant && y.kind == constant:
		return r.arithmetic(e, x.c, y.c)
	case e.Op == token.ADD && x.kind == stream && y.kind == stream:
		return term[V]{kind: stream, v: r.m.Add(x.v, y.v)}, nil
	case e.Op == token.MUL && x.kind == stream && y.kind != stream:
		x, y = y, x
		fallthrough
	case e.Op == token.MUL && y.kind == stream && x.kind != stream:
		if x.kind == multiplier {
			return term[V]{kind: stream, v: r.m.Learned(x.name, y.v)}, nil
		}
		return term[V]{kind: stream, v: r.m.Scale(x.c, y.v)}, nil
	case e.Op == token.QUO && x.kind == stream && y.kind == constant:
		return term[V]{kind: stream, v: r.m.Scale(1/y.c, x.v)}, nil
	}
	return term[V]{}, wrong(int(e.OpPos), "%s between %v and %v", e.Op, x.kind, y.kind)
}

func (r *evaluator[V]) arithmetic(e *ast.BinaryExpr, x, y float64) (term[V], error) {
	switch e.Op {
	case token.ADD:
		x += y
	case token.MUL:
		x *= y
	default:
		x /= y
	}
	if math.IsInf(x, 0) || x <= 0 {
		return term[V]{}, wrong(int(e.OpPos), "the constant is %g: out of range", x)
	}
	return term[V]{kind: constant, c: x}, nil
}

func (r *evaluator[V]) call(e *ast.CallExpr) (term[V], error) {
	at, name := int(e.Pos()), e.Fun.(*ast.Ident).Name
	arg, err := r.eval(e.Args[0])
	if err != nil {
		return arg, err
	}
	if name == "sqrt" {
		if arg.kind != constant {
			return arg, wrong(at, "sqrt of %v; it takes a constant", arg.kind)
		}
		return term[V]{kind: constant, c: math.Sqrt(arg.c)}, nil
	}
	k, isNorm := normNumber(name)
	if !isNorm && name != "F" && name != "A" && name != "M" {
		return arg, wrong(at, "unknown function %s; known: N1 … N9, F, A, M, sqrt", name)
	}
	if arg.kind != stream {
		return arg, wrong(at, "%s of %v; it takes the stream", name, arg.kind)
	}
	var v V
	if isNorm {
		v, err = r.m.Norm(k, arg.v)
	} else {
		v, err = r.m.Sublayer(name, arg.v)
	}
	if err != nil {
		err = wrong(at, "%v", err)
	}
	return term[V]{kind: stream, v: v}, err
}

// normNumber reads N1 … N9.
func normNumber(name string) (int, bool) {
	if len(name) == 2 && name[0] == 'N' && '1' <= name[1] && name[1] <= '9' {
		return int(name[1] - '0'), true
	}
	return 0, false
}
