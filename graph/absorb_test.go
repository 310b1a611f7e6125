package graph_test

import (
	"slices"
	"testing"

	"ablate/graph"
)

// A scale disappears if all its readers compute it themselves, however often
// they read it; a result that is wanted elsewhere stays.
func TestAbsorb(t *testing.T) {
	for _, c := range []struct {
		name  string
		fused int
		f     func(s *graph.Scope, x, w, w2 *graph.Node) *graph.Node
	}{
		{"one operand", 1, func(s *graph.Scope, x, w, _ *graph.Node) *graph.Node {
			return graph.Apply1(blend{}, x, graph.Apply1(scale{}, x, w))
		}},
		{"both operands", 2, func(s *graph.Scope, x, w, w2 *graph.Node) *graph.Node {
			return graph.Apply1(blend{}, graph.Apply1(scale{}, x, w), graph.Apply1(scale{}, x, w2))
		}},
		{"one result read twice", 1, func(s *graph.Scope, x, w, _ *graph.Node) *graph.Node {
			y := graph.Apply1(scale{}, x, w)
			return graph.Apply1(blend{}, y, y)
		}},
		{"two readers", 1, func(s *graph.Scope, x, w, _ *graph.Node) *graph.Node {
			y := graph.Apply1(scale{}, x, w)
			return graph.Apply1(reverse{}, graph.Apply1(blend{}, x, graph.Apply1(blend{}, y, y)))
		}},
		{"a second scale below", 1, func(s *graph.Scope, x, w, w2 *graph.Node) *graph.Node {
			return graph.Apply1(blend{}, x, graph.Apply1(scale{}, graph.Apply1(scale{}, x, w), w2))
		}},
		{"another kind of reader", 0, func(s *graph.Scope, x, w, _ *graph.Node) *graph.Node {
			y := graph.Apply1(scale{}, x, w)
			return graph.Apply1(blend{}, graph.Apply1(reverse{}, y), y)
		}},
		{"an output", 0, func(s *graph.Scope, x, w, _ *graph.Node) *graph.Node {
			y := graph.Apply1(scale{}, x, w)
			s.Output("scaled", y)
			return graph.Apply1(blend{}, x, y)
		}},
	} {
		g, err := graph.Build(graph.Float64, func(s *graph.Scope) {
			weight := func(name string) *graph.Node {
				return s.Param(graph.ParamSpec{Name: name, Shape: graph.Shape{5}, Init: normal})
			}
			s.Output("y", c.f(s, s.Floats("x", 3, 4, 5), weight("w"), weight("w2")))
		})
		if err != nil {
			t.Fatal(err)
		}
		disappear(t, c.name, g, c.fused)
	}
}

// disappear compares the output y of g with that of the same graph without fusing, and the number of operations
// that others have done the work of.
func disappear(t *testing.T, name string, g *graph.Graph, want int) {
	t.Helper()
	fused, stats := outputOf(t, g)
	apart, _ := outputOf(t, g, graph.WithoutFusion())
	if !slices.Equal(fused, apart) {
		t.Errorf("%s: %v, apart %v", name, fused, apart)
	}
	if stats.Fused != want {
		t.Errorf("%s: %d operations disappear, want %d", name, stats.Fused, want)
	}
}

// outputOf is the output y of a graph with an input x.
func outputOf(t *testing.T, g *graph.Graph, opts ...graph.Option) ([]float64, graph.Stats) {
	t.Helper()
	p := graph.NewParams[float64](g)
	p.Init(1, "")
	team := graph.NewTeam(2)
	defer team.Close()
	prog, err := graph.Compile(g, p, team, opts...)
	if err != nil {
		t.Fatal(err)
	}
	x := graph.Slice[float64](prog.Input("x"))
	for i := range x {
		x[i] = float64(i%7) - 2.5
	}
	prog.Run()
	return slices.Clone(graph.Slice[float64](prog.Output("y"))), prog.Stats()
}
