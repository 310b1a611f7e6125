package nn

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"ablate/graph"
)

// The suites walk the tables: registered means tested.

// variant is a tiny model under test.
type variant struct {
	name string
	cfg  Config
}

// tiny is a model small enough to differentiate by differences.
func tiny() Config {
	c := Default()
	c.Layers, c.DModel, c.Heads, c.KVHeads, c.HeadDim, c.DFF, c.Context, c.Vocab = 3, 8, 4, 2, 4, 6, 5, 7
	return c
}

func with(change func(c *Config)) Config {
	c := tiny()
	change(&c)
	return c
}

// variants is every placement with three sets of parts, and every entry of the
// other tables.
func variants(t testing.TB) []variant {
	var all []variant
	add := func(name string, change func(c *Config)) { all = append(all, variant{name, with(change)}) }
	for _, p := range slices.Sorted(maps.Keys(Placements)) {
		add("place="+p+",modern", func(c *Config) { c.Placement = Place(p) })
		add("place="+p+",classic", func(c *Config) {
			c.Placement, c.Norm.Kind, c.Activation, c.Position = Place(p), "layernorm", "gelu", PositionList{NewPosition("learned")}
			c.Attention.Bias, c.FFN.Bias, c.KVHeads = "all", true, 4
		})
		add("place="+p+",untied", func(c *Config) {
			c.Placement, c.Norm.Kind, c.Activation, c.Position = Place(p), "dyt", "geglu_tanh", PositionList{NewPosition("alibi")}
			c.Embedding.Tied, c.Embedding.Norm, c.FFN.Bias, c.Attention.QKNorm = false, Yes, true, "full"
		})
	}
	for _, f := range []string{"N2(x + N1(F(x)))", "h = alpha*x + a*F(N1(x)/L); N2(h)", "x + g2*M(N2(x)) + a1*A(x/sqrt(2*l))", "h = N1(x); N3(h + F(N2(h)))"} {
		add("formula="+f, func(c *Config) { c.Placement = Place(f) })
	}
	for _, n := range slices.Sorted(maps.Keys(Norms)) {
		add("norm="+n, func(c *Config) { c.Norm.Kind, c.Attention.QKNorm = NormName(n), "head" })
		if Norms[n].Bias {
			add("norm="+n+",no bias", func(c *Config) { c.Norm.Kind, c.Norm.Bias = NormName(n), No })
		}
	}
	for _, a := range slices.Sorted(maps.Keys(Activations)) {
		add("activation="+a, func(c *Config) { c.Activation = ActivationName(a) })
	}
	for _, p := range slices.Sorted(maps.Keys(Positions)) {
		for _, causal := range []bool{true, false} {
			add(fmt.Sprintf("position=%s,causal=%v", p, causal), func(c *Config) {
				c.Position, c.Attention.Causal = PositionList{NewPosition(p)}, causal
			})
		}
	}
	for _, s := range []RoPEScaling{{Kind: "linear", Factor: 2}, {Kind: "ntk", Factor: 2}, {Kind: "yarn", Factor: 4, Original: 16, BetaFast: 32, BetaSlow: 1}, {Kind: "llama3", Factor: 8, Original: 64, LowFreqFactor: 1, HighFreqFactor: 4}} {
		add("scaling="+s.Kind, func(c *Config) {
			p := NewPosition("rope")
			p.Scaling, p.Layout = s, "interleaved"
			c.Position = PositionList{p}
		})
	}
	add("per layer", func(c *Config) {
		slow := NewPosition("rope")
		slow.Base, slow.Fraction = 100, 0.5
		c.Position = PositionList{NewPosition("rope"), slow, NewPosition("t5")}
		c.Placement = append(append(Place("hybrid"), Place("parallel")...), Place("x + F(N1(x))")...)
		c.Attention.Window = IntList{0, 2, 3}
	})
	add("attention", func(c *Config) {
		c.Attention.Softcap, c.Attention.Scale, c.Attention.Bias, c.Heads = 2, 0.7, "qkv", 6
		c.Logits = LogitsConfig{Scale: 0.5, Softcap: 4}
		c.Embedding.Scale, c.Position = 3, PositionList{NewPosition("t5")}
	})
	return all
}

// runner is a compiled training graph with random parameters and tokens.
type runner[T graph.Float] struct {
	m      *Model
	g      *graph.Graph
	params *graph.Params[T]
	prog   *graph.Program
}

const batch = 2

func newRunner[T graph.Float](t testing.TB, cfg Config, workers, rows int) *runner[T] {
	t.Helper()
	c, err := cfg.Resolve(0)
	if err != nil {
		t.Fatal(err)
	}
	m, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	g, err := m.Train(graph.DtypeOf[T](), rows, c.Context, WithLogits())
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
	graph.Slice[T](r.prog.Input("seed"))[0] = T(1 / float64(len(tokens)))
}

func (r *runner[T]) ints(name string) []int32 { return graph.Slice[int32](r.prog.Input(name)) }

func (r *runner[T]) out(name string) []T { return graph.Slice[T](r.prog.Output(name)) }

// mean is the loss after a run.
func (r *runner[T]) mean() float64 {
	r.prog.Run()
	return float64(r.out("loss")[0]) / float64(len(r.ints("tokens")))
}

func TestGradientsOfEveryVariant(t *testing.T) {
	for _, v := range variants(t) {
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
	return b.position.Kind != "rope" && !b.place.QKVNorm
}

func TestCausality(t *testing.T) {
	for _, v := range variants(t) {
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
	for _, v := range variants(t) {
		var want []float32
		for _, workers := range []int{1, 2, 4} {
			r := newRunner[float32](t, v.cfg, workers, 4)
			r.prog.Run()
			got := slices.Concat(r.params.Grads(), r.out("logits"), r.out("loss"), r.out("stream_grad_sq.0"))
			if want == nil {
				want = got
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: %d workers give other bytes than 1", v.name, workers)
			}
		}
	}
}

// count is the number of parameters in closed form.
func count(c Config) int {
	d, q, kv, ff, V := c.DModel, c.Heads*int(c.HeadDim), int(c.KVHeads)*int(c.HeadDim), int(c.DFF), int(c.Vocab)
	norm := func(width int) int {
		n := 0
		switch c.Norm.Kind {
		case "layernorm", "rmsnorm", "rmsnorm_1p":
			n = width
		case "dyt":
			n = width + 1
		}
		if c.Norm.Bias == Yes {
			n += width
		}
		return n
	}
	is := func(b bool, n int) int {
		if b {
			return n
		}
		return 0
	}
	total := V*d + is(!c.Embedding.Tied, V*d) + is(c.FinalNorm == Yes, norm(d)) + is(c.Embedding.Norm == Yes, norm(d))
	if p := c.Position[0]; p.Kind == "learned" {
		total += int(p.Max) * d
	}
	for _, p := range c.Position {
		if p.Kind == "t5" {
			total += p.Buckets * c.Heads
			break
		}
	}
	mats, bias := 2, 0
	if Activations[string(c.Activation)].Gated {
		mats = 3
	}
	if c.FFN.Bias {
		bias = (mats-1)*ff + d
	}
	for l := range c.Layers {
		place := perLayer(c.Placement, l).Kind
		outer := map[string]int{
			"sandwich": 4, "peri": 4, "none": 0, "rezero": 0, "hybrid": 1, "parallel": 1,
			"N2(x + N1(F(x)))": 4, "h = alpha*x + a*F(N1(x)/L); N2(h)": 4, "x + g2*M(N2(x)) + a1*A(x/sqrt(2*l))": 1, "h = N1(x); N3(h + F(N2(h)))": 6,
		}
		n, ok := outer[place]
		if !ok {
			n = 2
		}
		total += n * norm(d)
		total += d*(2*q+2*kv) + mats*d*ff + bias
		total += is(c.Attention.Bias == "qkv" || c.Attention.Bias == "all", q+2*kv) + is(c.Attention.Bias == "proj" || c.Attention.Bias == "all", d)
		total += is(place == "subln", norm(q)+norm(ff)) + is(place == "rezero", 2) + is(place == "layerscale", 2*d)
		total += is(place == "h = alpha*x + a*F(N1(x)/L); N2(h)", 2) + is(place == "x + g2*M(N2(x)) + a1*A(x/sqrt(2*l))", 1+d)
		if c.Attention.QKNorm != "none" || place == "hybrid" {
			wide := c.Attention.QKNorm == "full"
			total += is(wide, q+kv) + is(!wide, 2*int(c.HeadDim))
			total += is(place == "hybrid" && wide, kv) + is(place == "hybrid" && !wide, int(c.HeadDim))
		}
	}
	return total
}

func TestAttestation(t *testing.T) {
	for _, v := range variants(t) {
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
