package graph_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"ablate/graph"
)

// Enclose takes the sum that is squared, and the gradient, into one operation.
func (total) Enclose(at graph.Spot) (graph.Enclosure, bool) {
	sum, ok := at.In(0).Maker()
	if !ok || sum.Operands() != 2 || sum.Op() != graph.Op(graph.Sum{}) {
		return graph.Enclosure{}, false
	}
	e := graph.Enclosure{
		Op: totalOfSum{}, Calls: []graph.Spot{sum, at}, In: []graph.Wire{sum.In(0), sum.In(1)}, Out: []graph.Wire{at.Out(0)},
		Saved: at.In(0).Shape().TotalSize(),
	}
	for _, r := range at.In(0).Readers() {
		if r.Op() == graph.Op(totalGrad{}) {
			e.Op, e.Calls = totalOfSum{grad: true}, append(e.Calls, r)
			e.In, e.Out = append(e.In, r.In(1)), append(e.Out, r.Out(0))
		}
	}
	return e, true
}

// totalOfSum is total(a + b) and, from a third operand, its gradient. It never holds
// more of the sum than an element.
type totalOfSum struct{ grad bool }

func (totalOfSum) String() string { return "total of sum" }
func (o totalOfSum) Infer(in []graph.Shape) ([]graph.Shape, error) {
	if o.grad {
		return []graph.Shape{{1}, in[0]}, nil
	}
	return []graph.Shape{{1}}, nil
}
func (o totalOfSum) Bind(c *graph.Call) []graph.Task {
	return []graph.Task{{Parts: 1, Run: func(int, *graph.Worker) {
		a, b, s := graph.Slice[float64](c.In(0)), graph.Slice[float64](c.In(1)), 0.0
		for i := range a {
			s += (a[i] + b[i]) * (a[i] + b[i]) / 2
			if o.grad {
				graph.Slice[float64](c.Out(1))[i] = (a[i] + b[i]) * graph.Slice[float64](c.In(2))[0]
			}
		}
		graph.Slice[float64](c.Out(0))[0] = s
	}}}
}

// TestEnclose encloses where nobody else needs what disappears and everything is
// there in time, and computes the same either way.
func TestEnclose(t *testing.T) {
	add := func(x, w *graph.Node) *graph.Node { return graph.Add(graph.Apply1(scale{}, x, w), x) }
	gradients := func(s *graph.Scope, loss, seed *graph.Node, of ...*graph.Node) []*graph.Node {
		s.Output("loss", loss)
		return s.Gradients(loss, seed, of...)
	}
	half := func(x *graph.Node) *graph.Node { return graph.Apply(tanh{}, x)[0] }
	for _, c := range []struct {
		name     string
		enclosed bool
		least    int // bytes that must be saved
		f        func(s *graph.Scope, x, w, seed *graph.Node)
	}{
		{"loss alone", true, 0, func(s *graph.Scope, x, w, _ *graph.Node) {
			s.Output("loss", graph.Apply1(total{}, add(x, w)))
		}},
		{"with gradient", true, 0, func(s *graph.Scope, x, w, seed *graph.Node) {
			gradients(s, graph.Apply1(total{}, add(x, w)), seed)
		}},
		{"just enough", true, 24 * 8, func(s *graph.Scope, x, w, seed *graph.Node) {
			gradients(s, graph.Apply1(total{}, add(x, w)), seed)
		}},
		{"too little", false, 24*8 + 1, func(s *graph.Scope, x, w, seed *graph.Node) {
			gradients(s, graph.Apply1(total{}, add(x, w)), seed)
		}},
		{"of itself twice", true, 0, func(s *graph.Scope, x, w, seed *graph.Node) {
			y := graph.Apply1(scale{}, x, w)
			gradients(s, graph.Apply1(total{}, graph.Add(y, y)), seed)
		}},
		{"an output inside", false, 0, func(s *graph.Scope, x, w, seed *graph.Node) {
			y := add(x, w)
			s.Output("y", y)
			gradients(s, graph.Apply1(total{}, y), seed)
		}},
		{"another reader", false, 0, func(s *graph.Scope, x, w, seed *graph.Node) {
			y := add(x, w)
			s.Output("half", half(y))
			gradients(s, graph.Apply1(total{}, y), seed)
		}},
		{"a gradient that is an output", true, 0, func(s *graph.Scope, x, w, seed *graph.Node) {
			y := graph.Apply1(scale{}, x, w)
			s.Output("dy", gradients(s, graph.Apply1(total{}, graph.Add(y, x)), seed, y)[0])
		}},
		{"an operand that waits for the loss", false, 0, func(s *graph.Scope, x, w, seed *graph.Node) {
			loss := graph.Apply1(total{}, add(x, w))
			gradients(s, loss, half(loss))
			s.Output("seed", seed)
		}},
	} {
		g, err := graph.Build(graph.Float64, func(s *graph.Scope) {
			w := s.Param(graph.ParamSpec{Name: "w", Shape: graph.Shape{4}, Init: normal})
			c.f(s, s.Floats("x", 2, 3, 4), w, s.Floats("seed", 1))
		})
		if err != nil {
			t.Fatal(err)
		}
		plan, err := graph.NewPlan(g, graph.WithEnclosing(c.least))
		if err != nil {
			t.Fatal(err)
		}
		var dump strings.Builder
		plan.Dump(&dump)
		if enclosed := strings.Contains(dump.String(), "total of sum"); enclosed != c.enclosed {
			t.Errorf("%s: enclosed is %v\n%s", c.name, enclosed, dump.String())
		}
		if got, want := enclosedRun(t, g, c.least), enclosedRun(t, g, math.MaxInt); !slices.Equal(got, want) {
			t.Errorf("%s: %v, by themselves %v", c.name, got, want)
		}
	}
}

// enclosedRun gives all gradients and outputs of g.
func enclosedRun(t *testing.T, g *graph.Graph, least int) []float64 {
	t.Helper()
	p := graph.NewParams[float64](g)
	p.Init(1, "")
	team := graph.NewTeam(2)
	defer team.Close()
	prog, err := graph.Compile(g, p, team, graph.WithEnclosing(least))
	if err != nil {
		t.Fatal(err)
	}
	for i := range graph.Slice[float64](prog.Input("x")) {
		graph.Slice[float64](prog.Input("x"))[i] = float64(i) - 7
	}
	if prog.HasInput("seed") {
		graph.Slice[float64](prog.Input("seed"))[0] = 3
	}
	prog.Run()
	all := slices.Clone(p.Grads())
	for _, name := range g.Outputs() {
		all = append(all, graph.Slice[float64](prog.Output(name))...)
	}
	return all
}
