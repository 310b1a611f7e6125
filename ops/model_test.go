package ops_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

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
func compileModel[T graph.Float](t testing.TB, z size, workers int) (*graph.Params[T], *graph.Program) {
	t.Helper()
	g, err := graph.Build(graph.DtypeOf[T](), z.build)
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
	r := graph.Stream(2, "", "tokens")
	for _, name := range []string{"tokens", "targets"} {
		for i := range graph.Slice[int32](prog.Input(name)) {
			graph.Slice[int32](prog.Input(name))[i] = r.Int32N(int32(z.vocab))
		}
	}
	graph.Slice[T](prog.Input("seed"))[0] = 1 / T(z.batch*z.time)
	return p, prog
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
			if n := testing.AllocsPerRun(10, prog.Run); n != 0 && !raced {
				t.Errorf("%s: a step makes %v allocations with %d workers", name, n, workers)
			}
		}
	}
}

// BenchmarkModel is forward and backward of the shapes of `ablate bench`, with
// GFLOP/s by its formula: 6 a weight and token, 6·T·D a layer for attention.
func BenchmarkModel(b *testing.B) {
	for _, c := range []struct {
		name string
		size
	}{
		{"ci-tiny", size{layers: 2, d: 64, heads: 4, kv: 4, ff: 256, vocab: 256, time: 64, batch: 8}},
		{"nano", size{layers: 4, d: 128, heads: 4, kv: 4, ff: 512, vocab: 256, time: 128, batch: 8}},
		{"small", size{layers: 6, d: 384, heads: 6, kv: 6, ff: 1536, vocab: 256, time: 256, batch: 8}},
		{"llama-small", size{layers: 8, d: 512, heads: 8, kv: 2, ff: 1408, vocab: 8192, time: 256, batch: 4, llama: true}},
		{"deep-narrow-pre", size{layers: 48, d: 64, heads: 4, kv: 4, ff: 256, vocab: 256, time: 64, batch: 4}},
		{"deep-narrow-post", size{layers: 48, d: 64, heads: 4, kv: 4, ff: 256, vocab: 256, time: 64, batch: 4, post: true}},
	} {
		for _, workers := range []int{1, 2} {
			b.Run(c.name+"/"+string(rune('0'+workers)), func(b *testing.B) {
				p, prog := compileModel[float32](b, c.size, workers)
				weights := 0
				for _, s := range p.Specs() {
					if len(s.Shape) == 2 && s.Name != "wpe" && !(c.llama && s.Name == "wte") {
						weights += s.Size()
					}
				}
				prog.Run()
				b.ResetTimer()
				for b.Loop() {
					prog.Run()
				}
				tokens := float64(c.batch * c.time)
				flops := tokens * 6 * float64(weights+c.layers*c.time*c.d)
				b.ReportMetric(flops*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
				b.ReportMetric(tokens*float64(b.N)/b.Elapsed().Seconds(), "tokens/s")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
