package nn

import (
	"slices"
	"strings"
	"testing"

	"ablate/graph"
	"ablate/ops"
)

// TestNormsWithoutParametersReadBack: norms are known by what they do, and have the
// names of those that stand in their places.
func TestNormsWithoutParametersReadBack(t *testing.T) {
	qk := "attn.q_norm rmsnorm plain on the queries; attn.k_norm rmsnorm plain on the keys"
	for _, c := range []struct {
		place, kind string
		want        string // of block 1
		norms       string
	}{
		{"post", "rmsnorm_plain", "N1(x + F(x))", "norm1 rmsnorm plain after the sum; norm2 rmsnorm plain after the sum; " + qk},
		{"pre", "layernorm_plain", "x + F(N1(x))", "norm1 layernorm plain before attention; norm2 layernorm plain before ffn; " + qk},
		{"sandwich", "rmsnorm_plain", "x + N2(F(N1(x)))", "norm1 rmsnorm plain before attention; norm1_post rmsnorm plain after attention; norm2 rmsnorm plain before ffn; norm2_post rmsnorm plain after ffn; " + qk},
		{"subln", "rmsnorm_plain", "x + F(N1(x))", "norm1 rmsnorm plain before attention; norm2 rmsnorm plain before ffn; attn.inner_norm rmsnorm plain before the output projection; " + qk + "; ffn.inner_norm rmsnorm plain before the down projection"},
		{"lns", "layernorm_plain", "x + F(0.707107*N1(x))", "norm1 layernorm plain before attention; norm2 layernorm plain before ffn; " + qk},
		{"hybrid", "rmsnorm_plain", "h = N2(x + A(x)); h + M(h)", "norm2 rmsnorm plain after the sum; " + qk + "; attn.v_norm rmsnorm plain on the values"},
		{"parallel", "rmsnorm_plain", "h = N1(x); x + A(h) + M(h)", "norm1 rmsnorm plain before attention and ffn; " + qk},
		{"x + A(N3(x)) + M(N1(x))", "rmsnorm_plain", "x + A(N3(x)) + M(N1(x))", "norm3 rmsnorm plain before attention; norm1 rmsnorm plain before ffn; " + qk},
	} {
		_, _, a := attested(t, with(func(cfg *Config) {
			cfg.Placement, cfg.Norm.Kind, cfg.Attention.QKNorm = Place(c.place), NormName(c.kind), "head"
		}))
		var norms []string
		for _, n := range a.Blocks[1].Norms {
			norms = append(norms, n.Name+" "+n.Op+" "+n.Where)
		}
		if b := a.Blocks[1]; b.Placement != c.want || strings.Join(norms, "; ") != c.norms || !b.AsConfigured {
			t.Errorf("%s reads back as %q with %s; as configured %v", c.place, b.Placement, strings.Join(norms, "; "), b.AsConfigured)
		}
		if n := a.ByRole["norm"]; n != 0 {
			t.Errorf("%s: norms have %d parameters", c.place, n)
		}
	}
}

// TestAttestationContradictsPlainNorms: a graph whose norms stand where the
// configuration has none, or whose norms are missing, is recognised though no
// parameter tells of them.
func TestAttestationContradictsPlainNorms(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(b *blockPlan)
		want   string // what block 1 reads back as
	}{
		{"nothing", func(*blockPlan) {}, "x + F(N1(x))"},
		{"another formula", func(b *blockPlan) { b.formula = mustParse("x + N1(F(x))") }, "x + F(N(x))"},
		{"fewer norms", func(b *blockPlan) { b.formula = mustParse("x + F(x)") }, "x + F(N(x))"},
		{"one norm for two", func(b *blockPlan) { b.formula = mustParse("h = N1(x); x + A(h) + M(h)") }, "x + F(N(x))"},
		{"norms on q, k and v", func(b *blockPlan) { b.qkvNorm = true }, "x + F(N1(x))"},
		{"norms within the sub-layers", func(b *blockPlan) { b.innerNorm = true }, "x + F(N1(x))"},
	} {
		m, g, _ := attested(t, with(func(c *Config) { c.Norm.Kind = "rmsnorm_plain" }))
		c.change(&m.blocks[1])
		a := m.Attest(g)
		if b := a.Blocks[1]; b.AsConfigured != (c.name == "nothing") || b.Placement != c.want {
			t.Errorf("%s: block 1 reads back as %q, as configured %v", c.name, b.Placement, b.AsConfigured)
		}
		if !a.Blocks[0].AsConfigured || !a.Blocks[2].AsConfigured {
			t.Errorf("%s: the other blocks are called liars", c.name)
		}
	}
}

func mustParse(formula string) *Formula {
	f, err := ParseFormula(formula)
	if err != nil {
		panic(err)
	}
	return f
}

// TestAttestationOfMissingNorms: a norm that does nothing where the configuration
// promises one is not there.
func TestAttestationOfMissingNorms(t *testing.T) {
	RegisterNorm(Norm{Name: "test_idle", Build: func(_ Site, x *graph.Node, _ NormConfig) *graph.Node { return x }})
	RegisterNorm(Norm{Name: "test_tanh", Build: func(_ Site, x *graph.Node, _ NormConfig) *graph.Node { return ops.Activate(x, ops.Tanh) }})
	t.Cleanup(func() { delete(Norms, "test_idle"); delete(Norms, "test_tanh") })
	for kind, want := range map[NormName]string{"test_idle": "x + F(x)", "test_tanh": "x + F(activate{tanh}(x))"} {
		_, _, a := attested(t, with(func(c *Config) { c.Norm.Kind, c.Embedding.Norm = kind, Yes }))
		if b := a.Blocks[0]; b.AsConfigured || b.Placement != want || len(b.Norms) > 0 || a.EmbeddingNorm != "" || a.FinalNorm != "" {
			t.Errorf("%s: %q with %v, embedding norm %q, final norm %q", kind, b.Placement, b.Norms, a.EmbeddingNorm, a.FinalNorm)
		}
	}
}

// TestNormsOutsideOfBlocks are read off the ways from the table of tokens and to the
// head.
func TestNormsOutsideOfBlocks(t *testing.T) {
	for _, kind := range []NormName{"rmsnorm", "rmsnorm_plain", "rmsnorm_1p", "layernorm", "layernorm_plain", "dyt", "none"} {
		op := map[NormName]string{"rmsnorm_plain": "rmsnorm plain", "layernorm_plain": "layernorm plain", "rmsnorm_1p": "rmsnorm 1+w", "none": ""}
		want, ok := op[kind]
		if !ok {
			want = string(kind)
		}
		for _, position := range []string{"none", "learned", "sinusoidal"} {
			for _, there := range []bool{true, false} {
				_, _, a := attested(t, with(func(c *Config) {
					c.Norm.Kind, c.Position, c.Dropout = kind, PositionList{NewPosition(position)}, 0.1
					c.Embedding = EmbeddingConfig{Scale: 3, LearnScale: there, Norm: YesIf(there), Tied: !there}
					c.FinalNorm = YesIf(there)
				}))
				norm, scale := "", "3"
				if there {
					norm, scale = want, "learned"
				}
				if a.EmbeddingNorm != norm || a.FinalNorm != norm || a.EmbeddingScale != scale || a.Tied == there {
					t.Errorf("%s, %s: attested are the norms %q and %q, scale %s, tied %v", kind, position, a.EmbeddingNorm, a.FinalNorm, a.EmbeddingScale, a.Tied)
				}
			}
		}
	}
}

// TestPlainNormsAreNormsOfGainOne: without gains is the same as with gains of one.
func TestPlainNormsAreNormsOfGainOne(t *testing.T) {
	for _, kind := range []NormName{"rmsnorm", "layernorm"} {
		for _, width := range []string{"head", "full"} {
			change := func(kind NormName) Config {
				return with(func(c *Config) {
					c.Norm.Kind, c.Norm.Bias, c.Embedding.Norm, c.Placement = kind, No, Yes, PlacementList{{Kind: "sandwich", QKVNorm: Yes, InnerNorm: Yes}}
					c.Attention.QKNorm = width
				})
			}
			gained := newRunner[float64](t, change(kind), 1, batch)
			for _, s := range gained.params.Specs() {
				if s.Role == "norm" {
					ones("", gained.params.Value(s.Name))
				}
			}
			plain := newRunner[float64](t, change(kind+"_plain"), 1, batch)
			for _, s := range plain.params.Specs() {
				copy(plain.params.Value(s.Name), gained.params.Value(s.Name))
			}
			gained.prog.Run()
			plain.prog.Run()
			if !slices.Equal(gained.out("logits"), plain.out("logits")) {
				t.Errorf("%s, %s: other logits than with gains of one", kind, width)
			}
		}
	}
}
