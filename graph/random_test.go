package graph_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ablate/graph"
)

// randomNet applies n random operations to random earlier values, so that
// fan-out, fusion, take-over of memory and the order of sums all vary, on
// sizes that often coincide only once they are rounded to cache lines.
func randomNet(seed uint64, n int) func(s *graph.Scope) {
	return func(s *graph.Scope) {
		r := rand.New(rand.NewPCG(seed, 0))
		b, t, d := 2+r.IntN(2), 1+r.IntN(3), 1+r.IntN(9)
		seedNode := s.Floats("seed", 1)
		first := s.Param(graph.ParamSpec{Name: "w", Shape: graph.Shape{d}, Init: normal})
		ws := []*graph.Node{first}
		xs := []*graph.Node{graph.Apply1(scale{}, s.Floats("x", b, t, d), first)}
		pick := func() *graph.Node { return xs[max(0, len(xs)-1-r.IntN(min(len(xs), 4)))] }
		for i := range n {
			var y *graph.Node
			switch r.IntN(8) {
			case 0:
				y = graph.Add(pick(), pick())
			case 1:
				y = graph.Apply(tanh{}, pick())[0]
			case 2:
				y = graph.Apply(spread{}, graph.Apply(tanh{}, pick())[0])[0]
			case 3, 4:
				y = hard(r.IntN(hardKinds), 1+r.IntN(4), pick(), pick())
			default:
				w := ws[r.IntN(len(ws))]
				if r.IntN(3) > 0 {
					w = s.Sub("op", i).Param(graph.ParamSpec{Name: "w", Shape: graph.Shape{d}, Init: normal})
					ws = append(ws, w)
				}
				if r.IntN(4) == 0 { // whose terms have one gradient
					w = graph.Add(w, ws[r.IntN(len(ws))])
				}
				y = graph.Apply1(scale{}, pick(), w)
			}
			xs = append(xs, y)
			if r.IntN(4) == 0 {
				s.Boundary(y)
			}
		}
		// everything reaches the loss, most values twice
		y := graph.Apply(tanh{}, xs[0])[0]
		for _, x := range xs[1:] {
			y = graph.Add(graph.Apply(tanh{}, x)[0], y)
		}
		loss := graph.Apply1(total{}, y)
		s.Output("loss", loss)
		for i, g := range s.Gradients(loss, seedNode, xs[len(xs)/2]) {
			s.Output(fmt.Sprint("tap", i), g)
		}
	}
}

// Whatever the planner does, the program computes what Gorgonia's tape
// machine computes from the same graph.
func TestRandomGraphsEqualTapeMachine(t *testing.T) {
	for seed := range uint64(200) {
		f := randomNet(seed, 3+int(seed)%25)
		g, err := graph.Build(graph.Float64, f)
		if err != nil {
			t.Fatal(err)
		}
		p := graph.NewParams[float64](g)
		p.Init(seed, "random")
		team := graph.NewTeam(1 + int(seed)%3)
		want := tapeGradients(t, g, p)
		for _, opts := range [][]graph.Option{nil, {graph.WithoutFusion()}, {graph.WithPending(0)}, {graph.WithPending(100)},
			{graph.WithRecompute(graph.RecomputeNothing)}, {graph.WithRecompute(graph.RecomputeBlocks)},
			{graph.WithEnclosing(0)}, {graph.WithEnclosing(0), graph.WithRecompute(graph.RecomputeBlocks)}} {
			prog, err := graph.Compile(g, p, team, opts...)
			if err != nil {
				t.Fatal(err)
			}
			fill[float64](prog)
			prog.Run()
			prog.Run()
			for name, w := range want {
				for i, got := range p.Grad(name) {
					if math.Abs(got-w[i]) > 1e-12*(1+math.Abs(w[i])) {
						t.Fatalf("seed %d, %d options: d %s[%d] = %v, tape machine %v", seed, len(opts), name, i, got, w[i])
					}
				}
			}
		}
		team.Close()
	}
}

// tapeGradients runs Gorgonia's tape machine on g with the inputs of fill.
func tapeGradients(t *testing.T, g *graph.Graph, p *graph.Params[float64]) map[string][]float64 {
	t.Helper()
	r := graph.Stream(7, "", "x")
	for _, n := range g.Expr().Inputs() {
		x := make([]float64, n.Shape().TotalSize())
		switch n.Name() {
		case "x":
			for i := range x {
				x[i] = r.NormFloat64()
			}
		case "seed":
			x[0] = 1
		default:
			copy(x, p.Value(n.Name()))
		}
		if err := gorgonia.Let(n, tensor.New(tensor.WithShape(n.Shape()...), tensor.WithBacking(x))); err != nil {
			t.Fatal(err)
		}
	}
	reads := map[string]*gorgonia.Value{}
	for name, n := range g.GradNodes() {
		reads[name] = new(gorgonia.Value)
		gorgonia.Read(n, reads[name])
	}
	m := gorgonia.NewTapeMachine(g.Expr())
	defer m.Close()
	if err := m.RunAll(); err != nil {
		t.Fatal(err)
	}
	out := map[string][]float64{}
	for name, v := range reads {
		out[name] = (*v).Data().([]float64)
	}
	return out
}
