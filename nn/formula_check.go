package nn

import (
	"errors"
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"strings"
)

// check makes sure that f means something, and notes what it uses.
func check(f *Formula, constants []string) error {
	f.uses = map[string]bool{}
	used := map[string]bool{}
	for _, l := range f.lets {
		names(l.value, used)
	}
	names(f.result, used)
	for _, l := range f.lets {
		if !used[l.name] {
			return wrong(int(l.value.Pos()), "%s is assigned and not used", l.name)
		}
	}
	if !used["x"] {
		return wrong(int(f.result.Pos()), "the stream x is not used")
	}
	ones := map[string]float64{"l": 1, "L": 1}
	for _, c := range constants {
		ones[c] = 1
	}
	c := &checker{next: 1, norms: map[int]flow{}, argOf: map[int]int{}, calls: map[string]int{}}
	out, err := run(f, c, ones, flow{})
	if err != nil {
		return err
	}
	for name := range used {
		if _, ok := ones[name]; ok || slices.Contains(learnedNames, name) {
			f.uses[name] = true
		}
	}
	f.norms = slices.Sorted(maps.Keys(c.norms))
	f.endNorm = out.norm
	return f.sublayers(c.calls)
}

// sublayers makes sure that every sub-layer is there once, and that learned
// multipliers are those of the kind of formula.
func (f *Formula) sublayers(calls map[string]int) error {
	at := int(f.result.Pos())
	switch {
	case calls["F"] == 1 && calls["A"]+calls["M"] == 0:
	case calls["F"] == 0 && calls["A"] == 1 && calls["M"] == 1:
		f.block = true
	default:
		return wrong(at, "F must be applied once, or A and M once each; found F %d, A %d, M %d times", calls["F"], calls["A"], calls["M"])
	}
	for _, name := range learnedNames {
		if numbered := len(name) == 2; f.uses[name] && numbered != f.block {
			return wrong(at, "%s in a formula of %s; learned multipliers are a, g with F, and a1, a2, g1, g2 with A and M", name, strings.Join(slices.Sorted(maps.Keys(calls)), " and "))
		}
	}
	return nil
}

// names collects the identifiers of an expression, called ones aside.
func names(e ast.Expr, into map[string]bool) {
	switch e := e.(type) {
	case *ast.Ident:
		into[e.Name] = true
	case *ast.BinaryExpr:
		names(e.X, into)
		names(e.Y, into)
	case *ast.CallExpr:
		names(e.Args[0], into)
	}
}

// flow is a value of the stream to the checker: values with one id are equal.
type flow struct {
	id   int
	norm bool // it is what a norm gave
}

// checker is the machine that numbers values, so that one norm is not applied
// to two.
type checker struct {
	next  int
	norms map[int]flow // by the norm's number, what it gave
	argOf map[int]int  // by the norm's number, the value that it was applied to
	calls map[string]int
}

func (c *checker) fresh() flow {
	c.next++
	return flow{id: c.next}
}

func (c *checker) Norm(k int, v flow) (flow, error) {
	if out, ok := c.norms[k]; ok {
		if c.argOf[k] != v.id {
			return flow{}, fmt.Errorf("norm N%d is applied to two different values; give the other norm another number", k)
		}
		return out, nil
	}
	out := c.fresh()
	out.norm = true
	c.norms[k], c.argOf[k] = out, v.id
	return out, nil
}

func (c *checker) Sublayer(name string, _ flow) (flow, error) {
	c.calls[name]++
	if c.calls[name] > 1 {
		return flow{}, errors.New(name + " is applied twice; its weights exist once")
	}
	return c.fresh(), nil
}

func (c *checker) Add(flow, flow) flow           { return c.fresh() }
func (c *checker) Scale(float64, flow) flow      { return c.fresh() }
func (c *checker) Learned(_ string, _ flow) flow { return c.fresh() }
