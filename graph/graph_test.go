package graph_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"ablate/graph"
)

func normal(r *rand.Rand, x []float64) {
	for i := range x {
		x[i] = r.NormFloat64()
	}
}

// chain is a small residual network: x ← x + tanh(x⊙w_l), loss ½Σx².
func chain(layers int) func(s *graph.Scope) {
	return func(s *graph.Scope) {
		const b, t, d = 3, 4, 5
		x := s.Floats("x", b, t, d)
		seed := s.Floats("seed", 1)
		in := s.Param(graph.ParamSpec{Name: "in", Shape: graph.Shape{d}, Init: normal})
		x = graph.Apply1(scale{}, x, in)
		var taps []*graph.Node
		for l := range layers {
			taps = append(taps, x)
			b := s.Sub("block", l)
			w := b.Param(graph.ParamSpec{Name: "w", Shape: graph.Shape{d}, Init: normal})
			v := b.Param(graph.ParamSpec{Name: "v", Shape: graph.Shape{d}, Init: normal})
			h := graph.Apply(tanh{}, graph.Apply1(scale{}, x, w))[0]
			x = graph.Add(x, graph.Apply1(scale{}, h, v))
		}
		loss := graph.Apply1(total{}, x)
		s.Output("loss", loss)
		for l, d := range s.Gradients(loss, seed, taps...) {
			s.Sub("dx").Output(string(rune('0'+l)), d)
		}
	}
}

func compile[T graph.Float](t *testing.T, f func(*graph.Scope), workers int) (*graph.Graph, *graph.Params[T], *graph.Program) {
	t.Helper()
	g, err := graph.Build(graph.DtypeOf[T](), f)
	if err != nil {
		t.Fatal(err)
	}
	p := graph.NewParams[T](g)
	p.Init(1, "")
	team := graph.NewTeam(workers)
	t.Cleanup(team.Close)
	prog, err := graph.Compile(g, p, team)
	if err != nil {
		t.Fatal(err)
	}
	return g, p, prog
}

func fill[T graph.Float](prog *graph.Program) {
	r := graph.Stream(7, "", "x")
	for i := range graph.Slice[T](prog.Input("x")) {
		graph.Slice[T](prog.Input("x"))[i] = T(r.NormFloat64())
	}
	graph.Slice[T](prog.Input("seed"))[0] = 1
}

func TestProgramEqualsTapeMachine(t *testing.T) {
	for _, layers := range []int{0, 1, 2, 7} {
		g, p, prog := compile[float64](t, chain(layers), 2)
		want := tapeGradients(t, g, p)
		fill[float64](prog)
		prog.Run()
		for name, w := range want {
			for i, got := range p.Grad(name) {
				if math.Abs(got-w[i]) > 1e-12*(1+math.Abs(w[i])) {
					t.Errorf("%d layers: d %s[%d] = %v, tape machine %v", layers, name, i, got, w[i])
				}
			}
		}
	}
}

func TestSameBytesForAnyNumberOfWorkers(t *testing.T) {
	var want []float32
	for _, workers := range []int{1, 2, 3, 8} {
		_, p, prog := compile[float32](t, chain(9), workers)
		fill[float32](prog)
		for range 20 {
			prog.Run()
			got := append([]float32(nil), p.Grads()...)
			if want == nil {
				want = got
			}
			for i := range got {
				if got[i] != want[i] {
					t.Fatalf("%d workers: gradient %d is %v, not %v", workers, i, got[i], want[i])
				}
			}
		}
	}
}

func TestRunAllocatesNothing(t *testing.T) {
	_, _, prog := compile[float32](t, chain(5), 2)
	fill[float32](prog)
	if n := testing.AllocsPerRun(50, prog.Run); n != 0 {
		t.Errorf("a run makes %v allocations", n)
	}
}

func TestDoRunsEveryPartOnceAndAllocatesNothing(t *testing.T) {
	for _, workers := range []int{1, 2, 5} {
		team := graph.NewTeam(workers)
		for _, parts := range []int{0, 1, 7, 1000} {
			ran := make([]atomic.Int32, parts)
			f := func(i int) { ran[i].Add(1) }
			if n := testing.AllocsPerRun(3, func() { team.Do(parts, f) }); n != 0 {
				t.Errorf("%d workers, %d parts: %v allocations", workers, parts, n)
			}
			for i := range ran {
				if n := ran[i].Load(); n != 4 { // AllocsPerRun warms up once
					t.Errorf("%d workers: part %d of %d ran %d times in 4 calls", workers, i, parts, n)
				}
			}
		}
		team.Close()
	}
}

func TestGradientAgainstDifferences(t *testing.T) {
	_, p, prog := compile[float64](t, chain(3), 2)
	fill[float64](prog)
	prog.Run()
	grads := append([]float64(nil), p.Grads()...)
	loss := func() float64 { prog.Run(); return graph.Slice[float64](prog.Output("loss"))[0] }
	for _, s := range p.Specs() {
		from, to := p.Span(s.Name)
		for i := from; i < to; i++ {
			const h = 1e-5
			x := p.Values()[i]
			p.Values()[i] = x + h
			a := loss()
			p.Values()[i] = x - h
			b := loss()
			p.Values()[i] = x
			if d := (a - b) / (2 * h); math.Abs(d-grads[i]) > 1e-7*(1+math.Abs(d)) {
				t.Errorf("d %s[%d] = %v, by differences %v", s.Name, i-from, grads[i], d)
			}
		}
	}
}

func TestFusionAndReuse(t *testing.T) {
	_, _, prog := compile[float32](t, chain(6), 1)
	s := prog.Stats()
	if s.Fused < 6 {
		t.Errorf("%d operations fused, want the 6 residual sums at least", s.Fused)
	}
	if s.Arena >= s.Values {
		t.Errorf("an arena of %d bytes for values of %d: nothing is reused", s.Arena, s.Values)
	}
}

func TestOpOf(t *testing.T) {
	want := map[*graph.Node]graph.Op{}
	g, err := graph.Build(graph.Float64, func(s *graph.Scope) {
		x, w, seed := s.Floats("x", 3, 5), s.Param(graph.ParamSpec{Name: "w", Shape: graph.Shape{5}, Init: normal}), s.Floats("seed", 1)
		scaled := graph.Apply1(scale{}, x, w)
		both := graph.Apply(tanh{}, scaled)
		sum := graph.Add(scaled, both[0])
		loss := graph.Apply1(total{}, sum)
		s.Output("loss", loss)
		dx := s.Gradients(loss, seed, scaled)[0] // reached on two paths
		clear(want)
		want[x], want[w], want[scaled], want[sum], want[loss], want[dx] = nil, nil, scale{}, graph.Sum{}, total{}, graph.Sum{}
		for _, n := range both {
			want[n] = tanh{}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for n, op := range want {
		if got := g.OpOf(n); got != op {
			t.Errorf("%v is the result of %v, want %v", n, got, op)
		}
	}
}

func TestErrors(t *testing.T) {
	param := func(s *graph.Scope, name string) *graph.Node {
		return s.Param(graph.ParamSpec{Name: name, Shape: graph.Shape{3}, Init: normal})
	}
	for _, c := range []struct {
		name, want string
		f          func(s *graph.Scope)
	}{
		{"duplicate", `w: an input of this name exists`, func(s *graph.Scope) { param(s, "w"); param(s, "w") }},
		{"duplicate kind", `a.w: an input of this name exists`, func(s *graph.Scope) { param(s.Sub("a"), "w"); s.Floats("a.w", 2) }},
		{"shape", `scale{addend=false} of [(2, 4) (3)]: a vector of 4 is wanted`, func(s *graph.Scope) {
			graph.Apply(scale{}, s.Floats("x", 2, 4), param(s, "w"))
		}},
		{"unreached", `gradients: some parameter`, func(s *graph.Scope) {
			param(s, "lonely")
			x := graph.Apply1(scale{}, s.Floats("x", 2, 3), param(s, "w"))
			s.Gradients(graph.Apply1(total{}, x), s.Floats("seed", 1))
		}},
		{"no output", `y: an output needs a node`, func(s *graph.Scope) { s.Output("y", nil) }},
		{"empty", `x of [(2, 0)]: every size must be at least 1`, func(s *graph.Scope) { s.Floats("x", 2, 0) }},
	} {
		_, err := graph.Build(graph.Float32, c.f)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}
