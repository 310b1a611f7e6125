package nn

import (
	"math"
	"testing"

	"ablate/graph"
)

// TestLearnedScale: the factor of the embedding starts where it is told to, is one
// parameter without decay, and while it stays there the model is the one with the
// constant.
func TestLearnedScale(t *testing.T) {
	learned := with(func(c *Config) { c.Embedding.LearnScale, c.Embedding.Scale = true, SqrtD })
	constant := with(func(c *Config) { c.Embedding.Scale = SqrtD })
	sameModel(t, "a learned scale at its start", constant, learned, func(name string, x []float64) {
		if name != "embed.scale" {
			t.Fatalf("there is a parameter %s", name)
		}
		x[0] = math.Sqrt(8)
	})
	r := newRunner[float64](t, learned, 1, batch)
	r.params.Init(1, "")
	if got := r.params.Value("embed.scale"); len(got) != 1 || math.Abs(got[0]-math.Sqrt(8)) > 1e-15 {
		t.Errorf("the scale starts at %v, want √8", got)
	}
	a, plain := r.m.Attest(r.g), newRunner[float64](t, constant, 1, batch)
	if b := plain.m.Attest(plain.g); a.Params != b.Params+1 || a.ByRole["residual_scale"] != 1 || a.FLOPsPerToken != b.FLOPsPerToken || b.EmbeddingScale == "learned" {
		t.Errorf("attested are %+v with a learned scale, %+v without", a, b)
	}
	for _, s := range r.params.Specs() {
		if s.Name == "embed.scale" && (s.Decay || s.Layer != -1 || s.Module != "embedding_scale") {
			t.Errorf("the scale is %+v", *s)
		}
	}
}

// TestGradientOfLearnedScale: where the head is not the embedding, the loss depends on
// a·wte alone, so a·∂loss/∂a = <∂loss/∂wte, wte>.
func TestGradientOfLearnedScale(t *testing.T) {
	r := newRunner[float64](t, with(func(c *Config) {
		c.Embedding.LearnScale, c.Embedding.Scale, c.Embedding.Tied = true, 2, false
	}), 1, batch)
	r.prog.Run()
	dot := 0.0
	for i, w := range r.params.Value("embed.wte") {
		dot += w * r.params.Grad("embed.wte")[i]
	}
	if got := r.params.Value("embed.scale")[0] * r.params.Grad("embed.scale")[0]; math.Abs(got-dot) > 1e-12*(1+math.Abs(dot)) {
		t.Errorf("a·∂loss/∂a is %v, <∂loss/∂wte, wte> %v", got, dot)
	}
}

// TestScaleHasItsOwnFactors: multipliers of the embedding do not reach its scale.
func TestScaleHasItsOwnFactors(t *testing.T) {
	c := with(func(c *Config) {
		c.Embedding.LearnScale, c.Embedding.Scale, c.Init.Multipliers = true, 2, graph.RoleFactors{"embedding": 10}
	})
	r := newRunner[float64](t, c, 1, 1)
	r.params.Init(1, "")
	if got := r.params.Value("embed.scale")[0]; got != 2 {
		t.Errorf("the scale starts at %v, want 2", got)
	}
}
