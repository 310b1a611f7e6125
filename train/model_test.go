package train

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"ablate/data"
	"ablate/graph"
	"ablate/train/metrics"
)

// The model of these tests predicts the next token from the last one:
//
//	x_0 = E[token],  x_l+1 = x_l + u_l ⊙ tanh(w_l ⊙ x_l),  logits = x_L Hᵀ
//
// small enough to train in milliseconds, with everything that the trainer
// looks at: blocks, modules, a residual stream, parameters without decay. The
// input "fault" (2,L) adds its first row to the branches and its second to the
// gradients that leave them.

const (
	testVocab  = 7
	testWidth  = 5
	testBlocks = 3
	testTime   = 6
)

// op is an operation of these tests.
type op struct {
	name  string
	infer func(in []graph.Shape) []graph.Shape
	grad  func(in, dout []*graph.Node) []*graph.Node
	f32   func(c *graph.Call)
	f64   func(c *graph.Call)
	fixed int // operands from here on have no gradient; 0: all have one
	sums  int // the result whose squares it adds up, in two parts; 0: none
}

func (o *op) String() string                                { return o.name }
func (o *op) Infer(in []graph.Shape) ([]graph.Shape, error) { return o.infer(in), nil }
func (o *op) Grad(in, _, dout []*graph.Node) []*graph.Node  { return o.grad(in, dout) }
func (o *op) Fixed(operand int) bool                        { return o.fixed > 0 && operand >= o.fixed }
func (o *op) Bind(c *graph.Call) []graph.Task {
	run := graph.Typed(c, o.f32, o.f64)
	if o.sums > 0 {
		compute, measure := run, graph.Typed(c, halves[float32], halves[float64])(c, o.sums)
		run = func(c *graph.Call) { compute(c); measure() }
	}
	return []graph.Task{{Parts: 1, Run: func(int, *graph.Worker) { run(c) }}}
}

// halves leaves the squares of both halves of a result.
func halves[T graph.Float](c *graph.Call, result int) func() {
	squares := c.Squares(result, 2)
	return func() {
		clear(squares)
		x := graph.Slice[T](c.Out(result))
		for i, v := range x {
			squares[2*i/len(x)] += float64(v) * float64(v)
		}
	}
}

func sameAs(operands ...int) func([]graph.Shape) []graph.Shape {
	return func(in []graph.Shape) []graph.Shape {
		var out []graph.Shape
		for _, i := range operands {
			out = append(out, in[i])
		}
		return out
	}
}

func noGrad([]*graph.Node, []*graph.Node) []*graph.Node { panic("no second derivatives") }

// lookup is y[b,t,:] = E[tokens[b,t],:].
var lookup = &op{
	name: "lookup",
	infer: func(in []graph.Shape) []graph.Shape {
		return []graph.Shape{{in[1][0], in[1][1], in[0][1]}}
	},
	grad: func(in, dout []*graph.Node) []*graph.Node {
		d := &op{name: "scatter", infer: sameAs(0), grad: noGrad, f32: scatter[float32], f64: scatter[float64]}
		return []*graph.Node{graph.Apply1(d, in[0], in[1], dout[0]), nil}
	},
	f32: gather[float32], f64: gather[float64],
}

func gather[T graph.Float](c *graph.Call) {
	e, y := graph.Slice[T](c.In(0)), graph.Slice[T](c.Out(0))
	for i, t := range graph.Slice[int32](c.In(1)) {
		copy(y[i*testWidth:(i+1)*testWidth], e[int(t)*testWidth:])
	}
}

func scatter[T graph.Float](c *graph.Call) {
	dy, de := graph.Slice[T](c.In(2)), graph.Slice[T](c.Out(0))
	clear(de)
	for i, t := range graph.Slice[int32](c.In(1)) {
		for k := range testWidth {
			de[int(t)*testWidth+k] += dy[i*testWidth+k]
		}
	}
}

// block is block l: y = x + u ⊙ tanh(w ⊙ x) + fault[0,l].
func block(l int) *op {
	return &op{
		name: fmt.Sprint("block ", l), fixed: 3, infer: sameAs(0),
		grad: func(in, dout []*graph.Node) []*graph.Node {
			d := &op{name: fmt.Sprint("d block ", l), infer: sameAs(0, 1, 2), grad: noGrad, sums: 1,
				f32: func(c *graph.Call) { blockGrad[float32](c, l) }, f64: func(c *graph.Call) { blockGrad[float64](c, l) }}
			return append(graph.Apply(d, in[0], in[1], in[2], in[3], dout[0]), nil)
		},
		f32: func(c *graph.Call) { blockForward[float32](c, l) }, f64: func(c *graph.Call) { blockForward[float64](c, l) },
	}
}

func blockForward[T graph.Float](c *graph.Call, l int) {
	x, u, w := graph.Slice[T](c.In(0)), graph.Slice[T](c.In(1)), graph.Slice[T](c.In(2))
	y, fault := graph.Slice[T](c.Out(0)), graph.Slice[T](c.In(3))
	for i, v := range x {
		k := i % testWidth
		y[i] = v + u[k]*T(math.Tanh(float64(w[k]*v))) + fault[l]
	}
}

func blockGrad[T graph.Float](c *graph.Call, l int) {
	x, u, w := graph.Slice[T](c.In(0)), graph.Slice[T](c.In(1)), graph.Slice[T](c.In(2))
	dy, fault := graph.Slice[T](c.In(4)), graph.Slice[T](c.In(3))
	dx, du, dw := graph.Slice[T](c.Out(0)), graph.Slice[T](c.Out(1)), graph.Slice[T](c.Out(2))
	clear(du)
	clear(dw)
	for i, v := range x {
		k := i % testWidth
		h := T(math.Tanh(float64(w[k] * v)))
		d := dy[i] * u[k] * (1 - h*h)
		du[k] += dy[i] * h
		dw[k] += d * v
		dx[i] = dy[i] + d*w[k] + fault[testBlocks+l]
	}
}

// nllLoss is loss, nll from x, H and the targets.
var nllLoss = &op{
	name: "nll",
	infer: func(in []graph.Shape) []graph.Shape {
		return []graph.Shape{{1}, {in[0][0], in[0][1]}}
	},
	grad: func(in, dout []*graph.Node) []*graph.Node {
		d := &op{name: "d nll", infer: sameAs(0, 1), grad: noGrad, f32: nllGrad[float32], f64: nllGrad[float64]}
		return append(graph.Apply(d, in[0], in[1], in[2], dout[0]), nil)
	},
	f32: nllForward[float32], f64: nllForward[float64],
}

// probabilities gives softmax(x Hᵀ) and its logarithm's normaliser.
func probabilities[T graph.Float](x, h []T) (p [testVocab]float64, lse float64) {
	sum := 0.0
	for v := range p {
		for k := range testWidth {
			p[v] += float64(x[k]) * float64(h[v*testWidth+k])
		}
		sum += math.Exp(p[v])
	}
	lse = math.Log(sum)
	for v := range p {
		p[v] = math.Exp(p[v] - lse)
	}
	return p, lse
}

func nllForward[T graph.Float](c *graph.Call) {
	x, h := graph.Slice[T](c.In(0)), graph.Slice[T](c.In(1))
	loss, nll := graph.Slice[T](c.Out(0)), graph.Slice[T](c.Out(1))
	sum := 0.0
	for i, t := range graph.Slice[int32](c.In(2)) {
		nll[i] = 0
		if t != data.Ignore {
			p, _ := probabilities(x[i*testWidth:(i+1)*testWidth], h)
			nll[i] = T(-math.Log(p[t]))
		}
		sum += float64(nll[i])
	}
	loss[0] = T(sum)
}

func nllGrad[T graph.Float](c *graph.Call) {
	x, h, seed := graph.Slice[T](c.In(0)), graph.Slice[T](c.In(1)), float64(graph.Slice[T](c.In(3))[0])
	dx, dh := graph.Slice[T](c.Out(0)), graph.Slice[T](c.Out(1))
	clear(dx)
	clear(dh)
	for i, t := range graph.Slice[int32](c.In(2)) {
		if t == data.Ignore {
			continue
		}
		xi := x[i*testWidth : (i+1)*testWidth]
		p, _ := probabilities(xi, h)
		p[t]--
		for v, d := range p {
			for k := range testWidth {
				dx[i*testWidth+k] += T(seed*d) * h[v*testWidth+k]
				dh[v*testWidth+k] += T(seed*d) * xi[k]
			}
		}
	}
}

var l2norm = &op{
	name:  "l2norm",
	infer: func([]graph.Shape) []graph.Shape { return []graph.Shape{{1}} },
	grad:  noGrad, f32: rootOfSquares[float32], f64: rootOfSquares[float64], fixed: 0,
}

func rootOfSquares[T graph.Float](c *graph.Call) {
	s := 0.0
	for _, v := range graph.Slice[T](c.In(0)) {
		s += float64(v) * float64(v)
	}
	graph.Slice[T](c.Out(0))[0] = T(math.Sqrt(s))
}

func normal(std float64) graph.Init {
	return func(r *rand.Rand, x []float64) {
		for i := range x {
			x[i] = std * r.NormFloat64()
		}
	}
}

// buildTest builds the test model with batches of rows, with or without
// gradients.
func buildTest[T graph.Float](t testing.TB, rows int, training bool) *graph.Graph {
	t.Helper()
	g, err := graph.Build(graph.DtypeOf[T](), func(s *graph.Scope) {
		tokens, targets := s.Ints("tokens", rows, testTime), s.Ints("targets", rows, testTime)
		fault := s.Floats("fault", 2, testBlocks)
		e := s.Param(graph.ParamSpec{Name: "embed.wte", Shape: graph.Shape{testVocab, testWidth}, Role: "embedding", Module: "embedding", Layer: -1, Decay: true, Init: normal(1)})
		stream := []*graph.Node{graph.Apply1(lookup, e, tokens)}
		for l := range testBlocks {
			b := s.Sub("block", l)
			u := b.Param(graph.ParamSpec{Name: "attn.wq", Shape: graph.Shape{testWidth}, Role: "attention", Module: "attn.q", Layer: l, Init: normal(0.5)})
			w := b.Param(graph.ParamSpec{Name: "ffn.up", Shape: graph.Shape{testWidth}, Role: "ffn", Module: "ffn.up", Layer: l, Init: normal(0.5)})
			stream = append(stream, graph.Apply1(block(l), stream[l], u, w, fault))
		}
		h := s.Param(graph.ParamSpec{Name: "head.w", Shape: graph.Shape{testVocab, testWidth}, Role: "head", Module: "head", Layer: -1, Decay: true, Init: normal(0.3)})
		out := graph.Apply(nllLoss, stream[testBlocks], h, targets)
		s.Output("loss", out[0])
		s.Output("nll", out[1])
		if !training {
			return
		}
		for l, d := range s.Gradients(out[0], s.Floats("seed", 1), stream...) {
			s.Output(fmt.Sprint("stream_norm.", l), graph.Apply1(l2norm, stream[l]))
			s.Output(fmt.Sprint("stream_grad_norm.", l), graph.Apply1(l2norm, d))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// newTestModel compiles the test model with fresh parameters.
func newTestModel[T graph.Float](t testing.TB, rows, evalRows, workers int) *Model[T] {
	t.Helper()
	step := buildTest[T](t, rows, true)
	m := &Model[T]{Params: graph.NewParams[T](step), Team: graph.NewTeam(workers), Layers: testBlocks, Width: testWidth}
	t.Cleanup(m.Team.Close)
	m.Params.Init(1, "")
	var err error
	if m.Step, err = graph.Compile(step, m.Params, m.Team); err != nil {
		t.Fatal(err)
	}
	if m.Eval, err = graph.Compile(buildTest[T](t, evalRows, false), m.Params, m.Team); err != nil {
		t.Fatal(err)
	}
	return m
}

// text is a sequence in which the next token mostly follows from the last.
func text(n int) data.Tokens {
	r := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, n)
	for i := 1; i < n; i++ {
		b[i] = (b[i-1]*3 + 1) % testVocab
		if r.IntN(10) == 0 {
			b[i] = byte(r.IntN(testVocab))
		}
	}
	return data.ByteTokens(b)
}

// testData trains on the front of a text and evaluates on its back.
func testData() Data {
	all := text(1200)
	corpus := &data.Corpus{Train: all.Slice(0, 1000), Context: testTime}
	return Data{Train: corpus.Sampler(1, ""), Validation: all.Slice(1010, 1200)}
}

// testConfig is 20 steps of AdamW with everything on.
func testConfig() Config {
	return Config{
		Steps: 20, Batch: 4, Accumulate: 1,
		Optimizer: "adamw", LR: 0.05, Betas: [2]float64{0.9, 0.95}, Eps: 1e-8, WeightDecay: 0.1, Clip: 1,
		Schedule: "cosine", Warmup: Warmup{Steps: 3}, MinLR: 0.1,
		EvalEvery: 7, EvalTokens: 50, CheckpointEvery: 4,
	}
}

// testJob is a run of the test model.
func testJob[T graph.Float](t testing.TB) Job[T] {
	return Job[T]{
		Config: testConfig(), Probe: Probe{Every: 5}, Model: newTestModel[T](t, 4, 3, 1), Data: testData(),
		Seed: 1, Sink: &metrics.Memory{}, Identity: map[string]string{"model.layers": "3", "data.hash": "abc"},
	}
}
