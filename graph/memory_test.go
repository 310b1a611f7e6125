package graph_test

import (
	"math"
	"slices"
	"testing"

	"ablate/graph"
)

// TestGradientsLendTheirMemory: what is gone before a gradient is written stands
// where it will be, and what was there before a run does not matter.
func TestGradientsLendTheirMemory(t *testing.T) {
	_, p, prog := compile[float64](t, func(s *graph.Scope) {
		const b, d = 2, 401 // no multiple of a cache line
		x, seed := s.Floats("x", b, 1, d), s.Floats("seed", 1)
		x = graph.Apply1(mix{}, graph.Apply1(tanh{}, x)) // between the two is a barrier
		for l := range 4 {
			w := s.Param(graph.ParamSpec{Name: string(rune('a' + l)), Shape: graph.Shape{d}, Init: normal})
			x = graph.Apply1(scale{}, x, w)
		}
		loss := graph.Apply1(total{}, x)
		s.Output("loss", loss)
		s.Gradients(loss, seed)
	}, 2)
	if s := prog.Stats(); s.Lent == 0 || s.Lent > 8*len(p.Grads()) {
		t.Errorf("%d bytes are lent of %d", s.Lent, 8*len(p.Grads()))
	}
	fill[float64](prog)
	prog.Run()
	want := slices.Clone(p.Grads())
	for i := range p.Grads() {
		p.Grads()[i] = math.NaN()
	}
	for _, s := range p.Specs() {
		_, to := p.Span(s.Name)
		for i := to; i%8 != 0; i++ { // to the next cache line
			p.Grads()[i] = 0
		}
	}
	prog.Run()
	if !slices.Equal(p.Grads(), want) {
		t.Error("a run depends on what the gradients were, or leaves something between them")
	}
}

// TestGradientsHoldWhatLaterLayersKeep: where a layer keeps as much for the
// backward pass as its gradient takes, the gradients of the layers before it
// are room enough, and a deeper model needs no larger arena.
func TestGradientsHoldWhatLaterLayersKeep(t *testing.T) {
	arena := func(layers int) int {
		g, err := graph.Build(graph.Float64, func(s *graph.Scope) {
			const d = 64
			x, seed := s.Floats("x", 1, 1, d), s.Floats("seed", 1)
			for l := range layers {
				w := s.Sub("layer", l).Param(graph.ParamSpec{Name: "w", Shape: graph.Shape{d}, Init: normal})
				x = graph.Apply1(scale{}, x, w)
			}
			s.Gradients(graph.Apply1(total{}, x), seed)
		})
		if err != nil {
			t.Fatal(err)
		}
		p, err := graph.NewPlan(g, graph.WithPending(0))
		if err != nil {
			t.Fatal(err)
		}
		return p.Stats.Arena
	}
	if shallow, deep := arena(20), arena(40); deep > shallow {
		t.Errorf("an arena of %d bytes for 20 layers, of %d for 40", shallow, deep)
	}
}

// TestArenaOfAnotherProgram: programs that share an arena give what they give
// alone, each until another one runs; one that needs more has its own, unless
// the arena was made for it.
func TestArenaOfAnotherProgram(t *testing.T) {
	g, p, first := compile[float64](t, chain(5), 2)
	fill[float64](first)
	first.Run()
	want := slices.Clone(p.Grads())
	team := graph.NewTeam(2)
	defer team.Close()
	second, err := graph.Compile(g, p, team, graph.WithArenaOf(first))
	if err != nil {
		t.Fatal(err)
	}
	if !second.Output("dx.0").Same(first.Output("dx.0")) {
		t.Error("a program of the same graph has an arena of its own")
	}
	fill[float64](second)
	for i, prog := range []*graph.Program{second, first, second} {
		clear(p.Grads())
		prog.Run()
		if !slices.Equal(p.Grads(), want) {
			t.Errorf("run %d gives other gradients", i)
		}
	}
	large, err := graph.Build(graph.Float64, chain(50))
	if err != nil {
		t.Fatal(err)
	}
	third, err := graph.Compile(large, graph.NewParams[float64](large), team, graph.WithArenaOf(first))
	if err != nil {
		t.Fatal(err)
	}
	if third.Output("dx.0").Same(first.Output("dx.0")) {
		t.Error("a program shares an arena that is too small for it")
	}
	roomy, err := graph.Compile(g, p, team, graph.WithArena(third.Stats().Arena))
	if err != nil {
		t.Fatal(err)
	}
	fourth, err := graph.Compile(large, graph.NewParams[float64](large), team, graph.WithArenaOf(roomy))
	if err != nil {
		t.Fatal(err)
	}
	fill[float64](roomy)
	roomy.Run()
	left := slices.Clone(graph.Slice[float64](roomy.Output("dx.0")))
	fill[float64](fourth)
	fourth.Run()
	if slices.Equal(left, graph.Slice[float64](roomy.Output("dx.0"))) {
		t.Error("a program does not compute in an arena that was made large enough for it")
	}
}

// norm is a measurement: Σx, of shape (1), in parts.
type norm struct{ scale }

func (norm) String() string                             { return "norm" }
func (norm) Infer([]graph.Shape) ([]graph.Shape, error) { return []graph.Shape{{1}}, nil }
func (norm) Bind(c *graph.Call) []graph.Task {
	n := c.In(0).Shape()[0]
	partial := c.Scratch(n)
	rows := graph.Task{Parts: n, Rows: true, Writes: []*graph.Buffer{partial}, Run: func(i int, _ *graph.Worker) {
		sum := 0.0
		for _, x := range graph.Part[float64](c.In(0), i, n) {
			sum += x
		}
		graph.Slice[float64](partial)[i] = sum
	}}
	all := graph.Task{Parts: 1, Reads: []*graph.Buffer{partial}, Writes: []*graph.Buffer{c.Out(0)}, Run: func(int, *graph.Worker) {
		graph.Slice[float64](c.Out(0))[0] = 0
		for _, x := range graph.Slice[float64](partial) {
			graph.Slice[float64](c.Out(0))[0] += x
		}
	}}
	return []graph.Task{rows, all}
}

// TestMeasurementsKeepNothing: to measure hidden gradients costs next to no
// memory, although the graph names all measurements at its end.
func TestMeasurementsKeepNothing(t *testing.T) {
	arena := func(measured bool) int {
		g, err := graph.Build(graph.Float64, func(s *graph.Scope) {
			const d = 64
			x, seed := s.Floats("x", 2, 8, d), s.Floats("seed", 1)
			var taps []*graph.Node
			for l := range 20 {
				taps = append(taps, x)
				w := s.Param(graph.ParamSpec{Name: string(rune('a' + l)), Shape: graph.Shape{d}, Init: normal})
				x = graph.Add(x, graph.Apply1(tanh{}, graph.Apply1(scale{}, x, w)))
			}
			loss := graph.Apply1(total{}, x)
			s.Output("loss", loss)
			dx := s.Gradients(loss, seed, taps[1:]...)
			if measured {
				for l := range dx {
					s.Sub("dx").Output(string(rune('a'+l)), graph.Apply1(norm{}, dx[l]))
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		p, err := graph.NewPlan(g)
		if err != nil {
			t.Fatal(err)
		}
		return p.Stats.Arena
	}
	if bare, measured := arena(false), arena(true); measured > bare+bare/20 {
		t.Errorf("an arena of %d bytes, of %d without measurements", measured, bare)
	}
}

// packed is y = x + w, for which w is copied once a run, as products do that
// pack weights.
type packed struct{}

func (packed) String() string                                { return "packed" }
func (packed) Infer(in []graph.Shape) ([]graph.Shape, error) { return in[:1], nil }
func (packed) Bind(c *graph.Call) []graph.Task {
	copied := c.Scratch(c.In(1).Len())
	pack := graph.Task{Parts: 1, Reads: []*graph.Buffer{c.In(1)}, Writes: []*graph.Buffer{copied}, Run: func(int, *graph.Worker) {
		copy(graph.Slice[float64](copied), graph.Slice[float64](c.In(1)))
	}}
	add := c.Rows(func(i, n int, _ *graph.Worker) {
		w := graph.Slice[float64](copied)
		for k, x := range graph.Part[float64](c.In(0), i, n) {
			graph.Part[float64](c.Out(0), i, n)[k] = x + w[k%len(w)]
		}
	})
	add.Reads, add.Whole = []*graph.Buffer{c.In(0), copied}, []*graph.Buffer{copied}
	return []graph.Task{pack, add}
}

// TestPackedWeightsAreGivenBack: a chain ends when what all of its workers read
// whole exceeds the budget, so the memory for it does not grow with the layers.
func TestPackedWeightsAreGivenBack(t *testing.T) {
	const d = 64
	arena := func(layers int) int {
		g, err := graph.Build(graph.Float64, func(s *graph.Scope) {
			x := s.Floats("x", 2, 1, d)
			for l := range layers {
				x = graph.Apply1(packed{}, x, s.Sub("layer", l).Param(graph.ParamSpec{Name: "w", Shape: graph.Shape{d}, Init: normal}))
			}
			s.Output("y", x)
		})
		if err != nil {
			t.Fatal(err)
		}
		p, err := graph.NewPlan(g, graph.WithPending(3*8*d))
		if err != nil {
			t.Fatal(err)
		}
		return p.Stats.Arena
	}
	if shallow, deep := arena(20), arena(40); deep > shallow {
		t.Errorf("an arena of %d bytes for 20 layers, of %d for 40", shallow, deep)
	}
}
