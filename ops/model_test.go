package ops_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ablate/graph"
	"ablate/ops"
)

// size is that of a small language model, built here from operations alone to
// see them work together.
type size struct {
	layers, d, heads, kv, ff, vocab, time, batch int
	llama                                        bool // RMSNorm, SwiGLU, RoPE, untied; otherwise LayerNorm, GELU, learned, tied
	post                                         bool // norms after the residual sums
}

// build declares the model, its loss and its gradients.
func (z size) build(s *graph.Scope) {
	wte := param(s, "wte", 0.1, z.vocab, z.d)
	x, head := ops.Embedding(wte, s.Ints("tokens", z.batch, z.time)), wte
	if z.llama {
		head = param(s, "head", 0.1, z.vocab, z.d)
	} else {
		x = ops.AddPositions(x, param(s, "wpe", 0.1, z.time, z.d))
	}
	var cos, sin *graph.Node
	if z.llama {
		w, mult := ops.RoPEFrequencies(z.d/z.heads, 10000, nil)
		c, n := ops.RoPETables(w, mult, 0, z.time)
		cos, sin = s.Table("cos", c, z.time, len(w)), s.Table("sin", n, z.time, len(w))
	}
	for l := range z.layers {
		b := s.Sub("block", l)
		x = z.residual(b.Sub("attn"), x, func(s *graph.Scope, h *graph.Node) *graph.Node { return z.attention(s, h, cos, sin) })
		x = z.residual(b.Sub("ffn"), x, z.ffn)
	}
	loss, _ := ops.CrossEntropy(ops.Linear(z.norm(s.Sub("final"), x), head, nil), s.Ints("targets", z.batch, z.time))
	s.Output("loss", loss)
	s.Gradients(loss, s.Floats("seed", 1))
}

func (z size) residual(s *graph.Scope, x *graph.Node, f func(*graph.Scope, *graph.Node) *graph.Node) *graph.Node {
	if z.post {
		return z.norm(s, graph.Add(x, f(s, x)))
	}
	return graph.Add(x, f(s, z.norm(s, x)))
}

func (z size) norm(s *graph.Scope, x *graph.Node) *graph.Node {
	w := s.Param(graph.ParamSpec{Name: "norm.w", Shape: graph.Shape{z.d}, Init: around(1)})
	if z.llama {
		return ops.RMSNorm(x, w, 1e-5, false)
	}
	return ops.LayerNorm(x, w, s.Param(graph.ParamSpec{Name: "norm.b", Shape: graph.Shape{z.d}, Init: around(0)}), 1e-5)
}

func (z size) linear(s *graph.Scope, name string, x *graph.Node, out int) *graph.Node {
	in := x.Shape()[2]
	w := param(s, name, 1/math.Sqrt(float64(in)), out, in)
	if z.llama {
		return ops.Linear(x, w, nil)
	}
	return ops.Linear(x, w, s.Param(graph.ParamSpec{Name: name + ".b", Shape: graph.Shape{out}, Init: around(0)}))
}

func (z size) attention(s *graph.Scope, h, cos, sin *graph.Node) *graph.Node {
	hd := z.d / z.heads
	q, k, v := z.linear(s, "wq", h, z.d), z.linear(s, "wk", h, z.kv*hd), z.linear(s, "wv", h, z.kv*hd)
	if z.llama {
		q, k = ops.RoPE(q, cos, sin, z.heads, false), ops.RoPE(k, cos, sin, z.kv, false)
	}
	o := ops.Attention(q, k, v, ops.AttentionOptions{Heads: z.heads, KVHeads: z.kv, Causal: true})
	return z.linear(s, "wo", o, z.d)
}

func (z size) ffn(s *graph.Scope, h *graph.Node) *graph.Node {
	if z.llama {
		return z.linear(s, "down", ops.Gate(z.linear(s, "gate", h, z.ff), z.linear(s, "up", h, z.ff), ops.SiLU), z.d)
	}
	return z.linear(s, "down", ops.Activate(z.linear(s, "up", h, z.ff), ops.GELU), z.d)
}

func param(s *graph.Scope, name string, std float64, shape ...int) *graph.Node {
	return s.Param(graph.ParamSpec{Name: name, Shape: shape, Init: func(r *rand.Rand, x []float64) {
		for i := range x {
			x[i] = std * r.NormFloat64()
		}
	}})
}

// around draws near c.
func around(c float64) graph.Init {
	return func(r *rand.Rand, x []float64) {
		for i := range x {
			x[i] = c + 0.1*r.NormFloat64()
		}
	}
}

// compileModel compiles a training step on a fixed batch.
func compileModel[T graph.Float](t testing.TB, z size, workers int, opts ...graph.Option) (*graph.Params[T], *graph.Program) {
	t.Helper()
	g, err := graph.Build(graph.DtypeOf[T](), z.build)
	if err != nil {
		t.Fatal(err)
	}
	p := graph.NewParams[T](g)
	p.Init(1, "")
	team := graph.NewTeam(workers)
	t.Cleanup(team.Close)
	prog, err := graph.Compile(g, p, team, opts...)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"tokens", "targets"} {
		copy(graph.Slice[int32](prog.Input(name)), z.tokens(name))
	}
	graph.Slice[T](prog.Input("seed"))[0] = 1 / T(z.batch*z.time)
	return p, prog
}

// tokens are a batch of random tokens.
func (z size) tokens(name string) []int32 {
	r, x := graph.Stream(2, "", name), make([]int32, z.batch*z.time)
	for i := range x {
		x[i] = r.Int32N(int32(z.vocab))
	}
	return x
}

var models = map[string]size{
	"gpt":      {layers: 2, d: 16, heads: 4, kv: 4, ff: 40, vocab: 19, time: 9, batch: 3},
	"post gpt": {layers: 2, d: 16, heads: 4, kv: 4, ff: 40, vocab: 19, time: 9, batch: 3, post: true},
	"llama":    {layers: 2, d: 16, heads: 4, kv: 2, ff: 24, vocab: 19, time: 9, batch: 3, llama: true},
}

// TestModelGradients compares the gradient of every parameter with the slope of
// the loss along a random direction of that parameter.
func TestModelGradients(t *testing.T) {
	for name, z := range models {
		p, prog := compileModel[float64](t, z, 2)
		prog.Run()
		grads := slices.Clone(p.Grads())
		loss := func() float64 {
			prog.Run()
			return graph.Slice[float64](prog.Output("loss"))[0] / float64(z.batch*z.time)
		}
		for _, s := range p.Specs() {
			from, to := p.Span(s.Name)
			x, r := p.Value(s.Name), graph.Stream(5, "direction", s.Name)
			old, dir, slope := slices.Clone(x), make([]float64, to-from), 0.0
			for i := range dir {
				dir[i] = r.NormFloat64()
				slope += dir[i] * grads[from+i]
			}
			const h = 1e-5
			move := func(h float64) float64 {
				for i := range x {
					x[i] = old[i] + h*dir[i]
				}
				return loss()
			}
			d := (move(h) - move(-h)) / (2 * h)
			copy(x, old)
			if math.Abs(d-slope) > 1e-7*(1+math.Abs(d)) {
				t.Errorf("%s: slope along %s is %v, by differences %v", name, s.Name, slope, d)
			}
			if slope == 0 {
				t.Errorf("%s: no gradient reaches %s", name, s.Name)
			}
		}
	}
}

// TestModelEqualsTapeMachine compares programs, planned in several ways, with
// Gorgonia's own machine on the same graph.
func TestModelEqualsTapeMachine(t *testing.T) {
	for name, z := range models {
		want := z.tapeGradients(t)
		for i, opts := range [][]graph.Option{nil, {graph.WithoutFusion()}, {graph.WithPending(0)}, {graph.WithEnclosing(0)}} {
			p, prog := compileModel[float64](t, z, 2, opts...)
			prog.Run()
			for param, w := range want {
				near(t, fmt.Sprintf("%s, plan %d: gradient of %s", name, i, param), p.Grad(param), w, 1e-9, 1e-12)
			}
		}
	}
}

// tapeGradients runs Gorgonia's tape machine.
func (z size) tapeGradients(t *testing.T) map[string][]float64 {
	t.Helper()
	g, err := graph.Build(graph.Float64, z.build)
	if err != nil {
		t.Fatal(err)
	}
	p := graph.NewParams[float64](g)
	p.Init(1, "")
	w, mult := ops.RoPEFrequencies(z.d/z.heads, 10000, nil)
	cos, sin := ops.RoPETables(w, mult, 0, z.time)
	known := map[string]any{
		"tokens": z.tokens("tokens"), "targets": z.tokens("targets"),
		"seed": []float64{1 / float64(z.batch*z.time)}, "cos": cos, "sin": sin,
	}
	for _, n := range g.Expr().Inputs() {
		x, ok := known[n.Name()]
		if !ok {
			x = slices.Clone(p.Value(n.Name()))
		}
		if err := gorgonia.Let(n, tensor.New(tensor.WithShape(n.Shape()...), tensor.WithBacking(x))); err != nil {
			t.Fatal(err)
		}
	}
	read := map[string]*gorgonia.Value{}
	for name, n := range g.GradNodes() {
		read[name] = new(gorgonia.Value)
		gorgonia.Read(n, read[name])
	}
	m := gorgonia.NewTapeMachine(g.Expr())
	defer m.Close()
	if err := m.RunAll(); err != nil {
		t.Fatal(err)
	}
	grads := map[string][]float64{}
	for name, v := range read {
		grads[name] = (*v).Data().([]float64)
	}
	return grads
}

func TestModelSameBytesForAnyNumberOfWorkers(t *testing.T) {
	for name, z := range models {
		var want []float32
		for _, workers := range []int{1, 2, 4} {
			p, prog := compileModel[float32](t, z, workers)
			for range 10 {
				prog.Run()
				if want == nil {
					want = slices.Clone(p.Grads())
				}
				if !slices.Equal(p.Grads(), want) {
					t.Fatalf("%s: %d workers give other bytes", name, workers)
				}
			}
			if n := steadyAllocs(prog.Run); n != 0 && !raced {
				t.Errorf("%s: a step makes %v allocations with %d workers", name, n, workers)
			}
		}
	}
}
