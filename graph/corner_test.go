package graph_test

import (
	"strings"
	"testing"

	"ablate/graph"
)

// What users of a graph may ask for at its corners.

func paramsOf(t *testing.T, f func(s *graph.Scope), inputs map[string][]float64) (*graph.Params[float64], *graph.Program) {
	t.Helper()
	_, p, prog := compile[float64](t, f, 2)
	for name, x := range inputs {
		copy(graph.Slice[float64](prog.Input(name)), x)
	}
	prog.Run()
	return p, prog
}

func TestGradientsThatAreOneNode(t *testing.T) {
	two := func(s *graph.Scope) *graph.Node {
		param := func(name string) *graph.Node {
			return s.Param(graph.ParamSpec{Name: name, Shape: graph.Shape{1}, Init: graph.Constant(3)})
		}
		return graph.Add(param("a"), param("b"))
	}
	for name, f := range map[string]func(s *graph.Scope){
		"the seed itself": func(s *graph.Scope) { s.Gradients(two(s), s.Floats("seed", 1)) },
		"one node for both": func(s *graph.Scope) {
			s.Gradients(graph.Apply1(total{}, two(s)), s.Floats("seed", 1))
		},
		"an output too": func(s *graph.Scope) {
			sum := two(s)
			s.Output("d", s.Gradients(graph.Apply1(total{}, sum), s.Floats("seed", 1), sum)[0])
		},
	} {
		want := 12.0 // 2·(3 + 3)
		if name == "the seed itself" {
			want = 2
		}
		p, prog := paramsOf(t, f, map[string][]float64{"seed": {2}})
		if a, b := p.Grad("a")[0], p.Grad("b")[0]; a != want || b != want {
			t.Errorf("%s: gradients %v and %v, want %v", name, a, b, want)
		}
		if prog.HasOutput("d") && graph.Slice[float64](prog.Output("d"))[0] != want {
			t.Errorf("%s: output %v, want %v", name, graph.Slice[float64](prog.Output("d"))[0], want)
		}
	}
}

func TestLossUsedTwice(t *testing.T) {
	p, _ := paramsOf(t, func(s *graph.Scope) {
		w := s.Param(graph.ParamSpec{Name: "w", Shape: graph.Shape{1}, Init: graph.Constant(3)})
		loss := graph.Apply1(total{}, w)
		s.Output("loss", loss)
		s.Output("loss again", loss)
		twice := graph.Add(loss, loss)
		s.Output("double", twice)
		s.Gradients(twice, s.Floats("seed", 1))
	}, map[string][]float64{"seed": {1}})
	if d := p.Grad("w")[0]; d != 6 {
		t.Errorf("gradient %v, want 6", d)
	}
}

func TestOutputThatIsAnInput(t *testing.T) {
	_, prog := paramsOf(t, func(s *graph.Scope) { s.Output("y", s.Floats("x", 2)) }, map[string][]float64{"x": {1, 2}})
	if y := graph.Slice[float64](prog.Output("y")); y[1] != 2 {
		t.Errorf("the output is %v", y)
	}
}

func TestGradientsOnce(t *testing.T) {
	_, err := graph.Build(graph.Float64, func(s *graph.Scope) {
		loss := graph.Apply1(total{}, s.Param(graph.ParamSpec{Name: "w", Shape: graph.Shape{1}, Init: normal}))
		for _, name := range []string{"seed", "second"} {
			s.Gradients(loss, s.Floats(name, 1))
		}
	})
	if err == nil || !strings.Contains(err.Error(), "asked for twice") {
		t.Errorf("got %v", err)
	}
}

func TestParametersOfAnotherShape(t *testing.T) {
	build := func(shape ...int) *graph.Graph {
		g, err := graph.Build(graph.Float64, func(s *graph.Scope) {
			s.Output("w", s.Param(graph.ParamSpec{Name: "w", Shape: shape, Init: normal}))
		})
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	team := graph.NewTeam(1)
	defer team.Close()
	_, err := graph.Compile(build(2, 3), graph.NewParams[float64](build(3, 2)), team)
	if err == nil || !strings.Contains(err.Error(), "shape") {
		t.Errorf("got %v", err)
	}
}

// forgetful asks for memory that none of its tasks lists.
type forgetful struct{ negate }

func (o forgetful) Bind(c *graph.Call) []graph.Task {
	c.Scratch(7)
	return o.negate.Bind(c)
}

func TestMemoryThatNoTaskLists(t *testing.T) {
	g, err := graph.Build(graph.Float64, func(s *graph.Scope) {
		s.Output("y", graph.Apply1(forgetful{negate{1, true}}, s.Floats("x", 2)))
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := graph.NewPlan(g); err == nil || !strings.Contains(err.Error(), "no task of negate writes its memory of shape (7)") {
		t.Errorf("got %v", err)
	}
}

func TestSeedOfAnotherShape(t *testing.T) {
	_, err := graph.Build(graph.Float64, func(s *graph.Scope) {
		w := s.Param(graph.ParamSpec{Name: "w", Shape: graph.Shape{2}, Init: normal})
		s.Gradients(graph.Apply1(total{}, w), s.Floats("seed", 2))
	})
	if err == nil || !strings.Contains(err.Error(), "loss and seed must have one shape") {
		t.Errorf("got %v", err)
	}
}

// TestGradientsWantTheirPlaces: the planner lends the memory of gradients, so they must be where the graph says.
func TestGradientsWantTheirPlaces(t *testing.T) {
	param := func(s *graph.Scope, name string) *graph.Node {
		return s.Param(graph.ParamSpec{Name: name, Shape: graph.Shape{1}, Init: normal})
	}
	build := func(gradients bool, names ...string) *graph.Graph {
		g, err := graph.Build(graph.Float64, func(s *graph.Scope) {
			x := s.Floats("x", 1)
			for _, name := range names {
				x = graph.Add(x, param(s, name))
			}
			loss := graph.Apply1(total{}, x)
			s.Output("loss", loss)
			if gradients {
				s.Gradients(loss, s.Floats("seed", 1))
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	team := graph.NewTeam(1)
	defer team.Close()
	for _, names := range [][]string{{"a", "b", "c"}, {"b", "a"}} {
		others := graph.NewParams[float64](build(false, names...))
		if _, err := graph.Compile(build(true, "a", "b"), others, team); err == nil || !strings.Contains(err.Error(), "another order") {
			t.Errorf("gradients of a and b among %v: %v", names, err)
		}
		if _, err := graph.Compile(build(false, "a", "b"), others, team); err != nil {
			t.Errorf("without gradients, a and b among %v: %v", names, err)
		}
	}
	_, err := graph.Build(graph.Float64, func(s *graph.Scope) {
		s.Gradients(graph.Apply1(total{}, param(s, "a")), s.Floats("seed", 1))
		param(s, "b")
	})
	if err == nil || !strings.Contains(err.Error(), "too late") {
		t.Errorf("a parameter behind the gradients: %v", err)
	}
}
