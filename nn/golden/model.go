package golden

import (
	"fmt"
	"math"
	"slices"

	"ablate/graph"
	"ablate/nn"
	"ablate/ops"
	"ablate/ops/kernel"
)

// modelRun is a model of a file, running.
type modelRun[T graph.Float] struct {
	f      *modelFile
	r      *Result
	lim    *limits
	params *graph.Params[T]
	parts  []part
	prog   *graph.Program
	count  float64 // targets that count
}

func verifyModel[T graph.Float](f *modelFile, r *Result) error {
	cfg, err := f.cfg.model()
	if err != nil {
		return fmt.Errorf("config: %w", err)
	}
	m, err := nn.New(cfg)
	if err != nil {
		return fmt.Errorf("config: %w", err)
	}
	g, err := m.Train(graph.DtypeOf[T](), f.cfg.b, f.cfg.t, nn.WithLogits())
	if err != nil {
		return fmt.Errorf("config: %w", err)
	}
	parts, err := f.cfg.layout(g.Params(), f.params)
	if err != nil {
		return err
	}
	team := graph.NewTeam(1)
	defer team.Close()
	x := &modelRun[T]{f: f, r: r, lim: limitsOf[T](), params: graph.NewParams[T](g), parts: parts}
	if x.prog, err = graph.Compile(g, x.params, team); err != nil {
		return err
	}
	x.load()
	x.prog.Run()
	x.compareForward()
	x.compareGradients()
	x.compareStream()
	if err := x.compareWithoutLogits(m, team); err != nil {
		return err
	}
	x.compareCounts(m.Attest(g))
	x.compareDerived()
	x.compareDecoding(m, team)
	x.compareTrace() // changes the parameters
	return nil
}

// load writes the file's parameters and batch.
func (x *modelRun[T]) load() {
	for i, s := range x.params.Specs() {
		fill(x.params.Value(s.Name), x.slice(x.f.params, i))
	}
	copy(graph.Slice[int32](x.prog.Input("tokens")), x.f.tokens)
	copy(graph.Slice[int32](x.prog.Input("targets")), x.f.targets)
	for _, t := range x.f.targets {
		if t >= 0 {
			x.count++
		}
	}
	graph.Slice[T](x.prog.Input("seed"))[0] = T(1 / x.count)
}

// slice is our parameter i in the file's tensors.
func (x *modelRun[T]) slice(in map[string]tensor, i int) []float64 {
	at, n := x.parts[i], x.params.Specs()[i].Size()
	return in[at.name].data[at.offset : at.offset+n]
}

func (x *modelRun[T]) output(name string) []float64 {
	return numbers(graph.Slice[T](x.prog.Output(name)))
}

func (x *modelRun[T]) loss() float64 { return x.output("loss")[0] / x.count }

func (x *modelRun[T]) compareForward() {
	f, r := x.f, x.r
	worsen(&r.MaxLogitErr, r.compare("logits", x.output("logits"), f.logits.data, x.lim.logits))
	worsen(&r.MaxNLLErr, r.compare("token_nll", x.output("nll"), f.nll.data, x.lim.nll))
	worsen(&r.LossErr, r.compare("loss", []float64{x.loss()}, []float64{f.loss}, x.lim.loss))
	r.compare("perplexity", []float64{math.Exp(x.loss())}, []float64{f.perplexity}, x.lim.perplexity)
}

// compareGradients compares every element, and the norms of parameters, of
// layers and of all.
func (x *modelRun[T]) compareGradients() {
	f, r := x.f, x.r
	param, layer, total := map[string]float64{}, make([]float64, f.cfg.layers), 0.0
	for i, s := range x.params.Specs() {
		g := numbers(x.params.Grad(s.Name))
		worsen(&r.MaxGradErr, r.compare("gradient of "+s.Name, g, x.slice(f.grads, i), x.lim.grads))
		q := x.gradSquares(x.prog, s.Name)
		param[x.parts[i].name] += q
		total += q
		if s.Layer >= 0 {
			layer[s.Layer] += q
		}
	}
	for l := range layer {
		layer[l] = math.Sqrt(layer[l])
	}
	var got, want []float64
	for _, name := range sortedKeys(f.params) {
		n, ok := f.paramNorms[name]
		if !ok {
			r.problem("param_grad_norms: %s is missing", name)
		}
		got, want = append(got, math.Sqrt(param[name])), append(want, n)
	}
	for _, name := range sortedKeys(f.paramNorms) {
		if _, ok := f.params[name]; !ok {
			r.problem("param_grad_norms: %s is no parameter", name)
		}
	}
	r.compare("param_grad_norms", got, want, x.lim.paramNorms)
	worsen(&r.LayerGradNormErr, r.compare("layer_grad_norms", layer, f.layerNorms, x.lim.norms))
	worsen(&r.LayerGradNormErr, r.compare("total_grad_norm", []float64{math.Sqrt(total)}, []float64{f.totalNorm}, x.lim.norms))
}

// gradSquares is Σ g² of a parameter as a training run takes it: from the program, if that measures it.
func (x *modelRun[T]) gradSquares(p *graph.Program, param string) (sum float64) {
	parts := p.GradSquares(param)
	if parts == nil {
		return kernel.SumSquares(x.params.Grad(param))
	}
	for _, q := range parts {
		sum += q
	}
	return sum
}

// compareStream compares the residual stream and its gradient at every block.
func (x *modelRun[T]) compareStream() {
	f, r := x.f, x.r
	if f.streamNorms == nil && f.rms == nil {
		return
	}
	elements := float64(f.cfg.b * f.cfg.t * f.cfg.d)
	norm := func(name string, l int) float64 { // of all sequences together
		return math.Sqrt(kernel.SumSquares(x.output(fmt.Sprint(name, l))))
	}
	var norms, rms []float64
	for l := range f.cfg.layers + 1 {
		norms = append(norms, norm("stream_grad_norm.", l))
		rms = append(rms, norm("stream_norm.", l)/math.Sqrt(elements))
	}
	worsen(&r.StreamGradNormErr, r.compare("residual_grad_norms", norms, f.streamNorms, x.lim.norms))
	worsen(&r.StreamRMSErr, r.compare("residual_rms", rms, f.rms, x.lim.rms))
}

// compareWithoutLogits runs the step as it trains: where nobody asks for the logits,
// they are never together. The bytes are to be the same.
func (x *modelRun[T]) compareWithoutLogits(m *nn.Model, team *graph.Team) error {
	g, err := m.Train(graph.DtypeOf[T](), x.f.cfg.b, x.f.cfg.t)
	if err != nil {
		return err
	}
	prog, err := graph.Compile(g, x.params, team, graph.WithEnclosing(0), graph.WithInputsOf(x.prog))
	if err != nil {
		return err
	}
	want := slices.Clone(x.params.Grads())
	clear(x.params.Grads())
	prog.Run()
	for _, name := range []string{"loss", "nll"} {
		if !slices.Equal(graph.Slice[T](prog.Output(name)), graph.Slice[T](x.prog.Output(name))) {
			x.r.problem("%s: other bytes where the logits are no output", name)
		}
	}
	if !slices.Equal(x.params.Grads(), want) {
		x.r.problem("gradients: other bytes where the logits are no output")
	}
	for _, s := range x.params.Specs() {
		got, want := x.gradSquares(prog, s.Name), squares(numbers(x.params.Grad(s.Name)))
		x.r.compare("squares of the gradient of "+s.Name, []float64{got}, []float64{want}, bound{rel: 1e-12})
	}
	return nil
}

// compareCounts holds what the graph contains against the file.
func (x *modelRun[T]) compareCounts(a nn.Attestation) {
	f, r := x.f, x.r
	if f.counts == nil {
		return
	}
	before := len(r.Problems)
	same := func(what string, got, want int) {
		if got != want {
			r.problem("%s: %d, the reference has %d", what, got, want)
		}
	}
	same("total parameters", a.Params, f.counts.total)
	same("non-embedding parameters", a.NonEmbedding, f.counts.nonEmbedding)
	for _, role := range sortedKeys(f.counts.byRole) {
		same("parameters of role "+role, a.ByRole[role], f.counts.byRole[role])
	}
	if len(f.counts.perBlock) != len(a.Blocks) {
		r.problem("per_block: %d numbers for %d blocks", len(f.counts.perBlock), len(a.Blocks))
		f.counts.perBlock = nil
	}
	for l, n := range f.counts.perBlock {
		same(fmt.Sprint("parameters of block ", l), a.Blocks[l].Params, n)
	}
	same("cache elements per token", a.KVCachePerToken, f.kvCache)
	ok := len(r.Problems) == before
	r.CountsOK = &ok
}

// compareDerived holds tables of the position encoding against the file's.
func (x *modelRun[T]) compareDerived() {
	f, r := x.f, x.r
	if f.inverse != nil {
		w, factor := ops.RoPEFrequencies(2*len(f.inverse), f.cfg.rope.Base, f.cfg.rope.Scaling.Op())
		r.compare("rope frequencies", append(w, factor), append(f.inverse, f.factor), limits64.ops)
	}
	if f.slopes != nil {
		r.compare("alibi slopes", ops.ALiBiSlopes(f.cfg.heads), f.slopes, limits64.ops)
	}
	for i, row := range f.buckets {
		for j, want := range row {
			if j > i && f.cfg.causal {
				continue // never read
			}
			if got := ops.T5Bucket(i-j, f.cfg.buckets, f.cfg.maxDistance, f.cfg.causal); got != want {
				r.problem("t5 bucket of query %d, key %d is %d, the reference has %d", i, j, got, want)
			}
		}
	}
}

// compareTrace takes the file's steps of AdamW with clipping. The gradients of
// the first step are there already.
func (x *modelRun[T]) compareTrace() {
	f, r := x.f, x.r
	t := &f.training
	p, g := x.params.Values(), x.params.Grads()
	m, v := make([]T, len(p)), make([]T, len(p))
	var losses, norms []float64
	for step := range t.losses {
		losses = append(losses, x.loss())
		if step == len(t.losses)-1 {
			break
		}
		total := math.Sqrt(kernel.SumSquares(g))
		norms = append(norms, total)
		h := t.step(step+1, total)
		for _, s := range x.params.Specs() {
			from, to := x.params.Span(s.Name)
			h.Decay = 0
			if s.Decay {
				h.Decay = t.lr * t.decay
			}
			kernel.AdamW(p[from:to], g[from:to], m[from:to], v[from:to], &h)
		}
		x.prog.Run()
	}
	worsen(&r.TraceErr, r.compare("trace losses", losses, t.losses, x.lim.trace))
	worsen(&r.TraceErr, r.compare("trace norms", norms, t.norms, x.lim.trace))
}

// step is update number n, from 1, for gradients of this norm.
func (t *training) step(n int, norm float64) kernel.AdamWStep {
	return kernel.AdamWStep{
		Clip: math.Min(1, t.clip/(norm+1e-6)), Beta1: t.beta1, Beta2: t.beta2, Eps: t.eps,
		Rate: t.lr / (1 - math.Pow(t.beta1, float64(n))), RSqrtC2: 1 / math.Sqrt(1-math.Pow(t.beta2, float64(n))),
	}
}
