package graph_test

import (
	"testing"

	"ablate/graph"
)

// remember adds its operand to a state, an input that it writes, and gives the
// state.
type remember struct{}

func (remember) String() string                                { return "remember" }
func (remember) Infer(in []graph.Shape) ([]graph.Shape, error) { return in[:1], nil }
func (remember) Bind(c *graph.Call) []graph.Task {
	return []graph.Task{{
		Parts:  1,
		Writes: []*graph.Buffer{c.Out(0), c.In(1)},
		Run: func(int, *graph.Worker) {
			x, y, state := graph.Slice[float64](c.In(0)), graph.Slice[float64](c.Out(0)), graph.Slice[float64](c.In(1))
			for i := range x {
				state[i] += x[i]
				y[i] = state[i]
			}
		},
	}}
}

// TestInputsOfAnotherProgram: a state outlives a run, and another program that
// shares it goes on from there; an input of another shape is its own.
func TestInputsOfAnotherProgram(t *testing.T) {
	build := func(rows int) (*graph.Graph, error) {
		return graph.Build(graph.Float64, func(s *graph.Scope) {
			x, state := s.Floats("x", 2), s.Floats("state", 2)
			s.Output("y", graph.Apply1(remember{}, x, state))
			s.Output("own", graph.Add(s.Floats("own", rows), s.Floats("other", rows)))
		})
	}
	team := graph.NewTeam(2)
	defer team.Close()
	var programs []*graph.Program
	var opts []graph.Option
	for _, rows := range []int{3, 4} {
		g, err := build(rows)
		if err != nil {
			t.Fatal(err)
		}
		p, err := graph.Compile(g, graph.NewParams[float64](g), team, opts...)
		if err != nil {
			t.Fatal(err)
		}
		programs = append(programs, p)
		opts = append(opts, graph.WithInputsOf(p))
	}
	for i, p := range []*graph.Program{programs[0], programs[0], programs[1], programs[0]} {
		x := graph.Slice[float64](p.Input("x"))
		x[0], x[1] = 1, 10
		p.Run()
		if y := graph.Slice[float64](p.Output("y")); y[0] != float64(i+1) || y[1] != 10*float64(i+1) {
			t.Errorf("run %d gives %v", i, y)
		}
	}
	if programs[0].Input("own").Same(programs[1].Input("own")) || !programs[0].Input("state").Same(programs[1].Input("state")) {
		t.Error("inputs of one shape are shared, those of different shapes are not")
	}
}
