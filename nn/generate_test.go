package nn

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"ablate/graph"
)

// texted is a model with random parameters and a text of n random tokens.
func texted[T graph.Float](t *testing.T, c Config, n int) (m *Model, p *graph.Params[T], text []int32) {
	t.Helper()
	if c.Position[0].Kind == "learned" {
		c.Position[0].Max = AutoInt(n)
	}
	r := newRunner[T](t, c, 1, 1)
	rng := graph.Stream(6, "", "text")
	text = make([]int32, n)
	for i := range text {
		text[i] = int32(rng.IntN(int(r.m.cfg.Vocab)))
	}
	return r.m, r.params, text
}

func newGenerator[T graph.Float](t *testing.T, m *Model, p *graph.Params[T], o GeneratorOptions) *Generator[T] {
	t.Helper()
	team := graph.NewTeam(2)
	t.Cleanup(team.Close)
	g, err := NewGenerator(m, p, team, o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// rows is the logits after every token of the text, computed at once.
func rows[T graph.Float](t *testing.T, m *Model, p *graph.Params[T], text []int32) [][]float64 {
	t.Helper()
	g := newGenerator(t, m, p, GeneratorOptions{Capacity: len(text), NoCache: true})
	if err := g.Feed(text...); err != nil {
		t.Fatal(err)
	}
	all, v := graph.Slice[T](g.whole.Output("logits")), int(m.cfg.Vocab)
	var out [][]float64
	for i := range text {
		g.keep(all[i*v : (i+1)*v])
		out = append(out, slices.Clone(g.logits))
	}
	return out
}

func checkLogits(t *testing.T, what string, got, want []float64, limit float64) bool {
	t.Helper()
	for i, w := range want {
		if !(math.Abs(got[i]-w) <= limit) {
			t.Errorf("%s: logit %d is %v, without a cache %v", what, i, got[i], w)
			return false
		}
	}
	return true
}

// checkCached feeds every beginning of the text at once, the rest token by
// token, and compares all logits on the way.
func checkCached[T graph.Float](t *testing.T, c Config, n, chunk int, limit float64) {
	t.Helper()
	m, p, text := texted[T](t, c, n)
	want := rows(t, m, p, text)
	g := newGenerator(t, m, p, GeneratorOptions{Capacity: n, Chunk: chunk})
	for prefill := 1; prefill <= n; prefill++ {
		g.Reset()
		next := prefill
		for at := 0; at < n; at, next = next, next+1 {
			if err := g.Feed(text[at:next]...); err != nil {
				t.Fatal(err)
			}
			if !checkLogits(t, fmt.Sprintf("%T, prefill %d, token %d", *new(T), prefill, next-1), g.Logits(), want[next-1], limit) {
				return
			}
		}
	}
}

// TestCachedEqualsUncached holds for every entry of every table, every placement
// and what else the variants combine, for every length of the prompt.
func TestCachedEqualsUncached(t *testing.T) {
	for _, v := range variants() {
		if !v.cfg.Attention.Causal {
			continue
		}
		t.Run(v.name, func(t *testing.T) {
			checkCached[float64](t, v.cfg, 11, 8, 1e-10)
			checkCached[float32](t, v.cfg, 7, 3, 1e-4)
		})
	}
}

// TestCachedAttentionForms combines position encodings with windows, far beyond
// them, and with the other options of attention.
func TestCachedAttentionForms(t *testing.T) {
	for _, position := range []string{"none", "learned", "sinusoidal", "rope", "alibi", "t5"} {
		for _, windows := range []IntList{{0}, {1}, {3}, {0, 4, 2}} {
			for _, kv := range []AutoInt{1, 4} {
				t.Run(fmt.Sprint(position, windows, kv), func(t *testing.T) {
					c := with(func(c *Config) {
						c.Position, c.Attention.Window, c.KVHeads = PositionList{NewPosition(position)}, windows, kv
						c.Attention.QKNorm, c.Attention.Softcap, c.Logits.Softcap = "head", 3, 5
					})
					checkCached[float64](t, c, 29, 4, 1e-10)
				})
			}
		}
	}
}

// TestRollingCacheIsSmall: a layer with a window keeps no more than it needs.
func TestRollingCacheIsSmall(t *testing.T) {
	m, p, _ := texted[float32](t, with(func(c *Config) { c.Attention.Window = IntList{0, 4, 2} }), 1)
	g := newGenerator(t, m, p, GeneratorOptions{Capacity: 1000, Chunk: 8})
	for l, want := range []int{1000, 4 - 1 + 8 + 8 - 1, 2 - 1 + 8 + 8 - 1} {
		for _, name := range []string{"cache_k", "cache_v"} {
			if got := g.programs[1].Input(fmt.Sprintf("block.%d.attn.%s", l, name)).Shape(); got[0] != want || got[1] != 2*4 {
				t.Errorf("layer %d keeps %v, want %d rows", l, got, want)
			}
		}
	}
}

func TestGenerateIsRepeatable(t *testing.T) {
	m, p, text := texted[float32](t, tiny(), 5)
	s := Sampling{Temperature: 1.5, TopK: 6, TopP: 0.95}
	once := func(seed uint64, o GeneratorOptions) []int32 {
		g := newGenerator(t, m, p, o)
		sampler, err := NewSampler(s, seed)
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Feed(text...); err != nil {
			t.Fatal(err)
		}
		if err := g.Generate(40, sampler, nil); err != nil {
			t.Fatal(err)
		}
		return slices.Clone(g.Text())
	}
	o := GeneratorOptions{Capacity: 45}
	first := once(1, o)
	if !slices.Equal(first, once(1, o)) {
		t.Error("the same seed gives another text")
	}
	if slices.Equal(first, once(2, o)) {
		t.Error("another seed gives the same text")
	}
	o.NoCache = true
	if !slices.Equal(first, once(1, o)) {
		t.Error("without a cache the text is another")
	}
}

// TestStepAllocatesNothing: a token of a greedy text needs no memory.
func TestStepAllocatesNothing(t *testing.T) {
	m, p, text := texted[float32](t, tiny(), 5)
	g := newGenerator(t, m, p, GeneratorOptions{Capacity: 200})
	greedy, err := NewSampler(Sampling{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := errorsOf(g.Feed(text...), g.Generate(50, greedy, nil)); err != nil {
		t.Fatal(err)
	}
	g.text = slices.Grow(g.text, 200)
	if n := testing.AllocsPerRun(20, func() { _ = g.Generate(1, greedy, nil) }); n != 0 && !raced {
		t.Errorf("%v allocations a token", n)
	}
}

func errorsOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestGeneratorErrors(t *testing.T) {
	m, p, text := texted[float32](t, tiny(), 5)
	g := newGenerator(t, m, p, GeneratorOptions{Capacity: 6})
	greedy, err := NewSampler(Sampling{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	learned := with(func(c *Config) { c.Position = PositionList{NewPosition("learned")} })
	bidirectional := with(func(c *Config) { c.Attention.Causal = false })
	build := func(c Config, o GeneratorOptions) error {
		r := newRunner[float32](t, c, 1, 1)
		team := graph.NewTeam(1)
		defer team.Close()
		_, err := NewGenerator(r.m, r.params, team, o)
		return err
	}
	for _, c := range []struct {
		name, want string
		err        error
	}{
		{"empty", "an empty text cannot be continued", g.Generate(1, greedy, nil)},
		{"token", "token 7 is not in a vocabulary of 7", g.Feed(1, 7)},
		{"negative", "token -1 is not in a vocabulary of 7", g.Feed(-1)},
		{"nothing changed, then too long", "5 tokens and 2 more; this generator holds 6", errorsOf(g.Feed(text...), g.Feed(1, 2))},
		{"learned", "a sequence of 6 tokens for 5 learned positions", build(learned, GeneratorOptions{Capacity: 6})},
		{"learned, no cache", "a sequence of 6 tokens for 5 learned positions", build(learned, GeneratorOptions{Capacity: 6, NoCache: true})},
		{"bidirectional", "attention.causal: false", build(bidirectional, GeneratorOptions{Capacity: 6})},
		{"bidirectional, no cache", "attention.causal: false", build(bidirectional, GeneratorOptions{Capacity: 6, NoCache: true})},
		{"no capacity", "a generator of 0 tokens", build(tiny(), GeneratorOptions{})},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, c.err, c.want)
		}
	}
	if _, err := m.Decode(graph.Float32, 3, 2); err == nil {
		t.Error("a chunk longer than the text is built")
	}
}

// TestDecodeRefusesEncodingsThatDoNotAsk: a position encoding of somebody else's
// that takes every chunk for a beginning is refused, not run.
func TestDecodeRefusesEncodingsThatDoNotAsk(t *testing.T) {
	name := "beginner"
	RegisterPosition(Position{Name: name, Embed: sinusoidalFromZero})
	defer delete(Positions, name)
	c, err := with(func(c *Config) { c.Position = PositionList{NewPosition(name)} }).Resolve(0)
	if err != nil {
		t.Fatal(err)
	}
	m, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Decode(graph.Float32, 1, 8); err == nil || !strings.Contains(err.Error(), "position.beginner: it does not read Site.Span") {
		t.Errorf("error %v", err)
	}
}

func sinusoidalFromZero(s Site, x *graph.Node, _ PositionConfig) *graph.Node {
	return graph.Add(x, s.scope.Table("zero", make([]float64, x.Shape()[1]*width(x)), x.Shape()...))
}
