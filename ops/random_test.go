package ops_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"ablate/graph"
	"ablate/ops"
)

// randomModel is a feed-forward model whose activations and gates are read once or more often, by products, norms,
// sums and each other, and may be results of the program: what fuses, joins and is computed again differs from one
// to the next.
type randomModel struct {
	seed uint64
	r    *rand.Rand
	s    *graph.Scope
	n    int // names so far
}

const (
	randomBatch, randomTime, randomVocab = 3, 7, 11
	randomWidth                          = 12
)

func (m *randomModel) build(s *graph.Scope) {
	m.r, m.s, m.n = rand.New(rand.NewPCG(m.seed, 3)), s, 0
	x := ops.Embedding(m.param(1, randomVocab, randomWidth), s.Ints("tokens", randomBatch, randomTime))
	for range 1 + m.r.IntN(3) {
		h := x
		if m.r.IntN(2) == 0 {
			h = m.norm(h)
		}
		h = m.hidden(h)
		if m.r.IntN(3) == 0 {
			h = m.norm(h)
		}
		if y := m.linear(h, randomWidth); m.r.IntN(4) > 0 {
			x = graph.Add(x, y)
		} else {
			x = m.norm(y)
		}
		s.Boundary(x)
	}
	loss, _ := ops.CrossEntropy(m.linear(x, randomVocab), s.Ints("targets", randomBatch, randomTime))
	s.Output("loss", loss)
	s.Gradients(loss, s.Floats("seed", 1))
}

// hidden is a hidden layer.
func (m *randomModel) hidden(x *graph.Node) *graph.Node {
	width := 1 + m.r.IntN(600) // one block of columns or two
	g := m.linear(x, width)
	if m.r.IntN(2) == 0 {
		a := m.tap(ops.Activate(g, m.unary()))
		switch m.r.IntN(4) {
		case 0:
			return graph.Add(a, g)
		case 1:
			return graph.Add(a, ops.Activate(g, m.unary()))
		case 2:
			return ops.Gate(g, a, m.unary())
		}
		return a
	}
	v, u := g, m.unary()
	if m.r.IntN(5) > 0 {
		v = m.linear(x, width)
	}
	y := m.tap(ops.Gate(g, v, u))
	if m.r.IntN(4) == 0 {
		return graph.Add(y, ops.Gate(v, g, u))
	}
	return y
}

func (m *randomModel) unary() ops.Unary {
	all := []ops.Unary{ops.GELU, ops.GELUTanh, ops.GELUSigmoid, ops.SiLU, ops.ReLU2, ops.Tanh, ops.Identity, {Name: "sine", F: math.Sin, D: math.Cos}}
	return all[m.r.IntN(len(all))]
}

func (m *randomModel) norm(x *graph.Node) *graph.Node {
	return m.tap(ops.RMSNorm(x, m.param(1, x.Shape()[2]), 1e-5, false))
}

func (m *randomModel) linear(x *graph.Node, out int) *graph.Node {
	in := x.Shape()[2]
	return m.tap(ops.Linear(x, m.param(1/math.Sqrt(float64(in)), out, in), nil))
}

func (m *randomModel) param(std float64, shape ...int) *graph.Node {
	return param(m.s, m.name("p"), std, shape...)
}

func (m *randomModel) name(of string) string {
	m.n++
	return fmt.Sprint(of, m.n)
}

// tap may make x a result of the program.
func (m *randomModel) tap(x *graph.Node) *graph.Node {
	if m.r.IntN(8) == 0 {
		m.s.Output(m.name("tap"), x)
	}
	return x
}

// TestRandomModels: whatever the planner fuses, joins or computes again, gradients and results stay what they are
// without any of that, and the same bytes for any number of workers.
func TestRandomModels(t *testing.T) {
	models := 60
	if testing.Short() {
		models = 10
	}
	for seed := range models {
		m := &randomModel{seed: uint64(seed)}
		want := runRandom[float64](t, m, 1, graph.WithoutFusion(), graph.WithRecompute(graph.RecomputeNothing))
		for i, opts := range [][]graph.Option{nil, {graph.WithRecompute(graph.RecomputeNothing)}, {graph.WithRecompute(graph.RecomputeBlocks)}, {graph.WithPending(0), graph.WithEnclosing(0)}} {
			near(t, fmt.Sprintf("model %d, plan %d", seed, i), runRandom[float64](t, m, 2, opts...), want, 1e-9, 1e-11)
		}
		one := runRandom[float32](t, m, 1)
		near(t, fmt.Sprintf("model %d in float32", seed), one, want, 1e-3, 1e-4)
		if !slices.Equal(runRandom[float32](t, m, 3), one) {
			t.Errorf("model %d: three workers give other bytes than one", seed)
		}
	}
}

// runRandom gives the gradient of every parameter, then every result.
func runRandom[T graph.Float](t *testing.T, m *randomModel, workers int, opts ...graph.Option) (all []T) {
	t.Helper()
	g, err := graph.Build(graph.DtypeOf[T](), m.build)
	if err != nil {
		t.Fatal(err)
	}
	p, team := graph.NewParams[T](g), graph.NewTeam(workers)
	defer team.Close()
	p.Init(1, "")
	prog, err := graph.Compile(g, p, team, opts...)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"tokens", "targets"} {
		r := graph.Stream(2, "", name)
		for i := range graph.Slice[int32](prog.Input(name)) {
			graph.Slice[int32](prog.Input(name))[i] = r.Int32N(randomVocab)
		}
	}
	graph.Slice[T](prog.Input("seed"))[0] = 1. / (randomBatch * randomTime)
	for range 2 { // the second run must not depend on the first
		prog.Run()
	}
	for _, s := range p.Specs() {
		all = append(all, p.Grad(s.Name)...)
	}
	for n := range m.n {
		if name := fmt.Sprint("tap", n+1); prog.HasOutput(name) {
			all = append(all, graph.Slice[T](prog.Output(name))...)
		}
	}
	return append(all, graph.Slice[T](prog.Output("loss"))...)
}
