package nn

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"ablate/graph"
	"ablate/ops/kernel"
)

// The suites walk the tables: registered means tested.

// runner is a compiled training graph with random parameters and tokens.
type runner[T graph.Float] struct {
	m      *Model
	g      *graph.Graph
	params *graph.Params[T]
	prog   *graph.Program
}

const batch = 2

// modelOf builds the model of a configuration, its automatic values filled in.
func modelOf(t testing.TB, cfg Config) *Model {
	t.Helper()
	c, err := cfg.Resolve(0)
	if err != nil {
		t.Fatal(err)
	}
	m, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func newRunner[T graph.Float](t testing.TB, cfg Config, workers, rows int) *runner[T] {
	t.Helper()
	m := modelOf(t, cfg)
	g, err := m.Train(graph.DtypeOf[T](), rows, m.cfg.Context, WithLogits())
	if err != nil {
		t.Fatal(err)
	}
	team := graph.NewTeam(workers)
	t.Cleanup(team.Close)
	r := &runner[T]{m: m, g: g, params: graph.NewParams[T](g)}
	if r.prog, err = graph.Compile(g, r.params, team); err != nil {
		t.Fatal(err)
	}
	r.randomise()
	return r
}

// randomise gives every parameter a random value near its initial one, so that
// nothing is zero by construction.
func (r *runner[T]) randomise() {
	r.params.Init(3, "")
	for _, s := range r.params.Specs() {
		noise := graph.Stream(4, "", s.Name)
		for i := range r.params.Value(s.Name) {
			r.params.Value(s.Name)[i] += T(0.4 * noise.NormFloat64())
		}
	}
	rng := graph.Stream(5, "", "tokens")
	tokens, targets := r.ints("tokens"), r.ints("targets")
	for i := range tokens {
		tokens[i], targets[i] = int32(rng.IntN(int(r.m.cfg.Vocab))), int32(rng.IntN(int(r.m.cfg.Vocab)))
	}
	if r.prog.HasInput("seed") {
		graph.Slice[T](r.prog.Input("seed"))[0] = T(1 / float64(len(tokens)))
	}
}

func (r *runner[T]) ints(name string) []int32 { return graph.Slice[int32](r.prog.Input(name)) }

func (r *runner[T]) out(name string) []T { return graph.Slice[T](r.prog.Output(name)) }

// norm is the norm of an output, such as that of the norms of sequences.
func (r *runner[T]) norm(name string) float64 { return math.Sqrt(kernel.SumSquares(r.out(name))) }

// mean is the loss after a run.
func (r *runner[T]) mean() float64 {
	r.prog.Run()
	return float64(r.out("loss")[0]) / float64(len(r.ints("tokens")))
}

func TestGradientsOfEveryVariant(t *testing.T) {
	for _, v := range variants() {
		t.Run(v.name, func(t *testing.T) {
			r := newRunner[float64](t, v.cfg, 1, batch)
			r.prog.Run()
			checkDifferences(t, r)
		})
	}
}

// checkDifferences compares a few elements of every gradient with central
// differences, and makes sure that no gradient is zero that should not be.
func checkDifferences(t *testing.T, r *runner[float64]) {
	t.Helper()
	grads := slices.Clone(r.params.Grads())
	for _, s := range r.params.Specs() {
		from, to := r.params.Span(s.Name)
		size := 0.0
		for _, g := range grads[from:to] {
			size = max(size, math.Abs(g))
		}
		if dead := size < 1e-12; dead != r.shielded(s.Name) {
			t.Errorf("%s has a gradient of %g", s.Name, size)
		}
		for i := from; i < to; i += max((to-from)/3, 1) {
			const h = 1e-5
			x := &r.params.Values()[i]
			old := *x
			*x = old + h
			up := r.mean()
			*x = old - h
			down := r.mean()
			*x = old
			if d := (up - down) / (2 * h); math.Abs(d-grads[i]) > 1e-8+1e-6*math.Abs(d) {
				t.Errorf("d %s[%d] is %v, by differences %v", s.Name, i-from, grads[i], d)
			}
		}
	}
}

// shielded says whether a parameter has no gradient by construction: a bias of
// the keys adds the same to all scores of a query, unless keys are rotated,
// normalised or their scores capped.
func (r *runner[T]) shielded(name string) bool {
	c := r.m.cfg
	if !strings.HasSuffix(name, ".attn.bk") || c.Attention.QKNorm != "none" || c.Attention.Softcap > 0 {
		return false
	}
	var layer int
	if _, err := fmt.Sscanf(name, "block.%d.", &layer); err != nil {
		return false
	}
	b := r.m.blocks[layer]
	return b.position.Kind != "rope" && !b.qkvNorm
}

func TestCausality(t *testing.T) {
	for _, v := range variants() {
		if !v.cfg.Attention.Causal {
			continue
		}
		r := newRunner[float32](t, v.cfg, 2, batch)
		r.prog.Run()
		before := slices.Clone(r.out("logits"))
		T, V := r.m.cfg.Context, int(r.m.cfg.Vocab)
		for cut := 1; cut < T; cut++ {
			old := slices.Clone(r.ints("tokens"))
			for b := range batch {
				for i := cut; i < T; i++ {
					r.ints("tokens")[b*T+i] = (old[b*T+i] + 1) % int32(V)
				}
			}
			r.prog.Run()
			copy(r.ints("tokens"), old)
			changed := false
			for k, x := range r.out("logits") {
				if position := k / V % T; position < cut && x != before[k] {
					t.Errorf("%s: logits at %d depend on token %d or later", v.name, position, cut)
				}
				changed = changed || x != before[k]
			}
			if !changed {
				t.Errorf("%s: tokens do not matter", v.name)
			}
		}
	}
}

func TestSameBytesForAnyNumberOfWorkers(t *testing.T) {
	for _, v := range variants() {
		var want []float32
		for _, workers := range []int{1, 2, 4} {
			r := newRunner[float32](t, v.cfg, workers, 4)
			r.prog.Run()
			got := slices.Concat(r.params.Grads(), r.out("logits"), r.out("loss"), r.out("stream_grad_norm.0"))
			if want == nil {
				want = got
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: %d workers give other bytes than 1", v.name, workers)
			}
		}
	}
}

// Every variant descends: two small steps against the gradient, each of which
// lowers the loss on the same batch.
func TestEveryVariantTrainsTwoSteps(t *testing.T) {
	for _, v := range variants() {
		r := newRunner[float32](t, v.cfg, 2, batch)
		r.prog.Run()
		last := r.mean()
		for step := range 2 {
			sq := 0.0
			for _, g := range r.params.Grads() {
				sq += float64(g) * float64(g)
			}
			lr := float32(0.002 / max(1, math.Sqrt(sq)))
			for i, g := range r.params.Grads() {
				r.params.Values()[i] -= lr * g
			}
			r.prog.Run()
			if now := r.mean(); !(now < last) {
				t.Errorf("%s: step %d takes the loss from %v to %v", v.name, step, last, now)
			} else {
				last = now
			}
		}
	}
}

func TestAttestation(t *testing.T) {
	for _, v := range variants() {
		r := newRunner[float32](t, v.cfg, 1, batch)
		a := r.m.Attest(r.g)
		c := r.m.cfg
		if want := count(c); a.Params != want {
			t.Errorf("%s: %d parameters attested, %d in closed form", v.name, a.Params, want)
		}
		for l, b := range a.Blocks {
			if !b.AsConfigured {
				t.Errorf("%s: block %d is %s, configured %s", v.name, l, b.Placement, r.m.expected(l).formula())
			}
		}
		if a.Tied != c.Embedding.Tied || (a.FinalNorm != "") != (c.FinalNorm == Yes && c.Norm.Kind != "none") {
			t.Errorf("%s: tied %v, final norm %q", v.name, a.Tied, a.FinalNorm)
		}
		if want := 2 * c.Layers * int(c.KVHeads) * int(c.HeadDim); a.KVCachePerToken != want {
			t.Errorf("%s: %d cache elements, want %d", v.name, a.KVCachePerToken, want)
		}
	}
}
