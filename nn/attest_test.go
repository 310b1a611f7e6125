package nn

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"ablate/graph"
)

func attested(t *testing.T, cfg Config) (*Model, *graph.Graph, Attestation) {
	t.Helper()
	m := modelOf(t, cfg)
	g, err := m.Eval(graph.Float32, 1, m.cfg.Context)
	if err != nil {
		t.Fatal(err)
	}
	return m, g, m.Attest(g)
}

func TestPlacementsReadBack(t *testing.T) {
	for _, c := range []struct {
		place string
		want  string // of block 2
		norms string
	}{
		{"post", "N1(x + F(x))", "norm1 after the sum; norm2 after the sum"},
		{"pre", "x + F(N1(x))", "norm1 before attention; norm2 before ffn"},
		{"sandwich", "x + N2(F(N1(x)))", "norm1 before attention; norm1_post after attention; norm2 before ffn; norm2_post after ffn"},
		{"output", "x + N1(F(x))", "norm1 after attention; norm2 after ffn"},
		{"deepnorm", "N1(1.56508*x + F(x))", "norm1 after the sum; norm2 after the sum"},
		{"subln", "x + F(N1(x))", "norm1 before attention; norm2 before ffn; attn.inner_norm before the output projection; ffn.inner_norm before the down projection"},
		{"lns", "x + F(0.57735*N1(x))", "norm1 before attention; norm2 before ffn"},
		{"mix", "x + F(N1(x))", "norm1 before attention; norm2 before ffn"},
		{"hybrid", "h = N2(x + A(x)); h + M(h)", "norm2 after the sum; attn.q_norm on the queries; attn.k_norm on the keys; attn.v_norm on the values"},
		{"parallel", "h = N1(x); x + A(h) + M(h)", "norm1 before attention and ffn"},
		{"rezero", "x + a*F(x)", ""},
		{"layerscale", "x + g*F(N1(x))", "norm1 before attention; norm2 before ffn"},
		{"none", "x + F(x)", ""},
		{"h = N1(x); N3(h + F(N2(h)))", "h = N1(x); N3(h + F(N2(h)))", "norm1 on the stream; norm1_post before attention; norm1_3 after the sum; norm2 on the stream; norm2_post before ffn; norm2_3 after the sum"},
		{"x + g2*M(N2(x)) + a1*A(x)", "x + g2*M(N2(x)) + a1*A(x)", "norm2 before ffn"},
	} {
		_, _, a := attested(t, with(func(cfg *Config) { cfg.Placement = Place(c.place) }))
		var norms []string
		for _, n := range a.Blocks[2].Norms {
			norms = append(norms, n.Name+" "+n.Where)
		}
		if got := a.Blocks[2].Placement; got != c.want || strings.Join(norms, "; ") != c.norms {
			t.Errorf("%s reads back as %q with %s", c.place, got, strings.Join(norms, "; "))
		}
	}
}

// TestAttestationContradicts: a graph that is not what the configuration asks
// for is recognised.
func TestAttestationContradicts(t *testing.T) {
	m, g, a := attested(t, tiny())
	if !a.Blocks[1].AsConfigured {
		t.Fatal("an honest graph is called a liar")
	}
	f, err := ParseFormula("x + N1(F(x))")
	if err != nil {
		t.Fatal(err)
	}
	m.blocks[1].formula = f
	if a := m.Attest(g); a.Blocks[1].AsConfigured || !a.Blocks[0].AsConfigured {
		t.Error("a block that was built otherwise passes")
	}
	_, _, a = attested(t, with(func(c *Config) { c.Norm.Kind = "none" }))
	if got := a.Blocks[0].Placement; got != "x + F(x)" || len(a.Blocks[0].Norms) > 0 {
		t.Errorf("a block without norms reads back as %q with %v", got, a.Blocks[0].Norms)
	}
}

// TestAttestedSums holds FLOPs, cache and counts against their formulas for a
// model of a known size: 8 blocks as in INTERFACE's llama-small.
func TestAttestedSums(t *testing.T) {
	c := Default()
	c.Layers, c.DModel, c.Heads, c.KVHeads, c.DFF, c.Context, c.Vocab = 8, 512, 8, 2, 1408, 256, 8192
	c.Embedding.Tied = false
	_, _, a := attested(t, c)
	matrices := 8*(512*(512+128+128+512)+3*512*1408) + 8192*512
	if want := 6*float64(matrices) + 12*8*512*256/2; a.FLOPsPerToken != want || math.Abs(want/166.7e6-1) > 0.001 {
		t.Errorf("%v FLOPs a token, want %v", a.FLOPsPerToken, want)
	}
	if a.KVCachePerToken != 2*8*2*64 || a.Params != matrices+8192*512+17*512 || a.NonEmbedding != a.Params-2*8192*512 {
		t.Errorf("%d cache elements, %d parameters, %d without embedding and head", a.KVCachePerToken, a.Params, a.NonEmbedding)
	}
	sum := 0
	for _, n := range a.ByRole {
		sum += n
	}
	if sum != a.Params || a.ByRole["head"] != 8192*512 || a.FinalNorm != "rmsnorm" || a.EmbeddingNorm != "" || a.Tied {
		t.Errorf("attested %+v", a)
	}
}

func TestVisibleKeys(t *testing.T) {
	for _, c := range []struct {
		t, window int
		causal    bool
		want      float64
	}{{8, 0, true, 4}, {8, 0, false, 8}, {8, 8, true, 4}, {8, 100, true, 4}, {8, 2, true, 1.75}, {8, 2, false, 3.5}} {
		if got := visibleKeys(c.t, c.window, c.causal); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestInits(t *testing.T) {
	for _, c := range []struct {
		init  string
		param string
		std   float64
		bound float64 // of every element; 0 for none
	}{
		{"gpt2", "embed.wte", .02, 0}, {"gpt2", "embed.wpe", .01, 0}, {"gpt2", "block.0.attn.wo", .02, 0}, {"gpt2", "head.w", .02, 0},
		{"nanogpt", "block.0.attn.wo", .02 / math.Sqrt(8), 0}, {"nanogpt", "block.3.ffn.down", .02 / math.Sqrt(8), 0}, {"nanogpt", "block.0.ffn.up", .02, 0},
		{"normal", "embed.wpe", .02, 0}, {"bert", "block.0.attn.wq", .02 * 0.8796, .04},
		{"xavier", "block.0.attn.wk", math.Sqrt(2. / (64 + 32)), math.Sqrt(6. / (64 + 32))}, {"xavier", "block.0.ffn.gate", math.Sqrt(2. / (64 + 96)), math.Sqrt(6. / (64 + 96))},
		{"xavier", "embed.wte", 1. / 8, 0}, {"xavier", "embed.wpe", 1. / 8, 0}, {"xavier", "head.w", 1. / 8, 0},
		{"fan_in", "block.0.ffn.down", 1 / math.Sqrt(96), 0}, {"fan_in", "embed.wte", 1, 0}, {"fan_in", "head.w", 1. / 8, 0},
		{"small", "block.0.attn.wo", math.Sqrt(2. / (5 * 64)), 0},
		{"llama", "block.2.attn.wo", .02 / math.Sqrt(6), 0}, {"llama", "embed.wte", 1, 0}, {"llama", "head.w", 1. / 8 * 0.9866, 3. / 8},
		{"t5", "block.0.attn.wq", 1. / 32, 0}, {"t5", "block.0.attn.wk", 1. / 8, 0}, {"t5", "block.0.ffn.down", 1 / math.Sqrt(96), 0}, {"t5", "embed.wte", 1, 0}, {"t5", "head.w", 1. / 8, 0},
		{"nanochat", "block.0.attn.wo", 0, 0}, {"nanochat", "embed.wte", .8, 0}, {"nanochat", "head.w", .001, 0}, {"nanochat", "block.0.attn.wq", 1. / 8, math.Sqrt(3) / 8},
	} {
		cfg := Default()
		cfg.DModel, cfg.KVHeads, cfg.DFF, cfg.Vocab, cfg.Context, cfg.Init.Kind = 64, 2, 96, 256, 128, InitName(c.init)
		cfg.Position, cfg.Embedding.Tied = PositionList{NewPosition("learned")}, false
		_, g, _ := attested(t, cfg)
		p := graph.NewParams[float32](g)
		p.Init(1, "")
		var sum, worst float64
		for _, x := range p.Value(c.param) {
			sum += float64(x) * float64(x)
			worst = max(worst, math.Abs(float64(x)))
		}
		n := float64(len(p.Value(c.param)))
		if std := math.Sqrt(sum / n); math.Abs(std-c.std) > 4*c.std/math.Sqrt(2*n) || c.bound > 0 && worst > c.bound {
			t.Errorf("%s: %s has a deviation of %v, want %v; largest %v, bound %v", c.init, c.param, std, c.std, worst, c.bound)
		}
	}
}

// TestInitScaleOfPlacements: DeepNorm's beta multiplies v, o, up and down of the
// same draw, and nothing else; SubLN's gamma the same.
func TestInitScaleOfPlacements(t *testing.T) {
	values := func(place string) *graph.Params[float64] {
		c := with(func(c *Config) { c.Placement, c.Layers = Place(place), 2 })
		r := newRunner[float64](t, c, 1, 1)
		r.params.Init(1, "")
		return r.params
	}
	plain := values("pre")
	for place, gain := range map[string]float64{"deepnorm": .5, "subln": math.Sqrt(math.Log(4))} {
		p := values(place)
		for _, s := range plain.Specs() {
			if s.Role == "norm" {
				continue
			}
			want := 1.0
			if slices.Contains([]string{"attn.v", "attn.o", "ffn.up", "ffn.down"}, s.Module) {
				want = gain
			}
			if got := p.Value(s.Name)[1] / plain.Value(s.Name)[1]; math.Abs(got-want) > 1e-12 {
				t.Errorf("%s multiplies %s by %v, want %v", place, s.Name, got, want)
			}
		}
	}
}

func TestErrorsOfBuilding(t *testing.T) {
	if _, err := New(Default()); err == nil {
		t.Error("a model with autos is built")
	}
	c, err := with(func(c *Config) { c.Position = PositionList{NewPosition("learned")} }).Resolve(0)
	if err != nil {
		t.Fatal(err)
	}
	m, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Eval(graph.Float32, 1, 6); err == nil || !strings.Contains(err.Error(), "a sequence of 6 tokens for 5 learned positions") {
		t.Errorf("a sequence beyond the table: %v", err)
	}
	if _, err := m.Train(graph.Float32, 0, 5); err == nil {
		t.Error("an empty batch is built")
	}
	if _, err := m.Train(graph.Int32, 1, 5); err == nil {
		t.Error("an integer graph is built")
	}
}

func TestRegisterRefuses(t *testing.T) {
	for name, f := range map[string]func(){
		"taken":   func() { RegisterNorm(layerNorm) },
		"empty":   func() { RegisterActivation(Activation{}) },
		"signs":   func() { RegisterPosition(Position{Name: "a b"}) },
		"formula": func() { RegisterPlacement(Placement{Name: "new", Formula: "x + G(x)"}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

// BenchmarkBuild64 is the time to build and differentiate 64 blocks.
func BenchmarkBuild64(b *testing.B) {
	c := Default()
	c.Layers, c.DModel, c.Vocab = 64, 64, 256
	r, err := c.Resolve(0)
	if err != nil {
		b.Fatal(err)
	}
	for range b.N {
		m, err := New(r)
		if err != nil {
			b.Fatal(err)
		}
		g, err := m.Train(graph.Float32, 4, 64)
		if err != nil {
			b.Fatal(err)
		}
		if a := m.Attest(g); len(a.Blocks) != 64 {
			b.Fatal(fmt.Sprint(a.Placements()))
		}
	}
}
