package golden

import (
	"math"
	"slices"

	"ablate/nn"
)

// config is the format's own configuration of a model, resolved: the older
// files lack keys, whose defaults are filled in.
type config struct {
	layers, d, heads, kvHeads, headDim, ff, vocab, t, b, context int
	places                                                       []string
	alpha                                                        float64
	finalNorm, embedNorm                                         bool
	norm                                                         string
	normBias, qkvBias, projBias, ffnBias                         bool
	eps                                                          float64
	act, pos                                                     string
	rope                                                         nn.PositionConfig
	buckets, maxDistance                                         int
	causal, qkNorm1P, tied                                       bool
	windows                                                      []int
	qkNorm                                                       string
	scale, attnCap, logitCap, embedScale, logitScale             float64
	ignore                                                       int32
}

// readConfig reads the configuration. params is the number of the file's
// parameters, which bounds the number of layers.
func readConfig(o *object, params int) *config {
	c := &config{kvHeads: -1, alpha: 1, norm: "layernorm", eps: 1e-5, act: "gelu", causal: true, tied: true, qkNorm: "none", embedScale: 1, logitScale: 1, ignore: -100}
	for _, k := range []struct {
		key string
		dst *int
	}{{"n_layer", &c.layers}, {"d_model", &c.d}, {"n_head", &c.heads}, {"d_ff", &c.ff}, {"vocab", &c.vocab}, {"T", &c.t}, {"B", &c.b}} {
		required(o, k.key, k.dst)
		if *k.dst < 1 || *k.dst > maxFile {
			o.bad("%s: %d is no size", k.key, *k.dst)
			return c
		}
	}
	if c.layers > params {
		o.bad("n_layer: %d layers of %d parameters", c.layers, params)
		return c
	}
	c.kvHeads, c.headDim, c.context = c.heads, c.d/c.heads, c.t
	optional(o, "n_kv_head", &c.kvHeads)
	optional(o, "head_dim", &c.headDim)
	optional(o, "n_ctx", &c.context)
	c.bound(o)
	c.readPlacement(o)
	c.readNorm(o)
	c.readAttention(o)
	c.readPosition(o)
	optional(o, "act", &c.act)
	optional(o, "tied", &c.tied)
	optional(o, "embed_scale", &c.embedScale)
	optional(o, "logit_scale", &c.logitScale)
	if c.embedScale <= 0 || c.logitScale <= 0 { // package nn has words below 0
		o.bad("embed_scale %g, logit_scale %g: only numbers above 0 are computed", c.embedScale, c.logitScale)
	}
	optional(o, "logit_softcap", &c.logitCap)
	optional(o, "ignore_index", &c.ignore)
	o.end()
	return c
}

// maxActivations bounds the elements of one activation of all layers together:
// the tokens of a small file may ask for a lot of memory.
const maxActivations = 1 << 27

func (c *config) bound(o *object) {
	for _, k := range []struct {
		key string
		n   int
	}{{"n_kv_head", c.kvHeads}, {"head_dim", c.headDim}, {"n_ctx", c.context}} {
		if k.n < 1 || k.n > maxFile {
			o.bad("%s: %d is no size", k.key, k.n)
			return
		}
	}
	c.boundTokens(o, float64(c.b)*float64(c.t))
}

// boundTokens refuses to compute a model on too many tokens.
func (c *config) boundTokens(o *object, tokens float64) {
	width := float64(c.d) + float64(c.ff) + float64(c.heads)*float64(c.headDim) + float64(c.vocab)
	if n := tokens * float64(c.layers) * width; n > maxActivations {
		o.bad("%.3g activations; at most %d are computed", n, maxActivations)
	}
}

func (c *config) readPlacement(o *object) {
	place, k := "pre", 0
	optional(o, "place", &place)
	optional(o, "mix_k", &k)
	optional(o, "deepnorm_alpha", &c.alpha)
	c.places = slices.Repeat([]string{place}, c.layers)
	if place == "mix" {
		for l := range c.places {
			c.places[l] = "pre"
			if l < k {
				c.places[l] = "post"
			}
		}
	}
	optional(o, "places", &c.places)
	if len(c.places) != c.layers {
		o.bad("places: %d for %d layers", len(c.places), c.layers)
	}
	for i, p := range append([]string{place}, c.places...) {
		known := nn.Placements[p]
		switch {
		case known == nil || known.Blocks != nil && p != "mix":
			o.bad("place %q is not known", p)
			return
		case i > 0 && p == "mix":
			o.bad("places: a block cannot be placed mix")
		}
	}
	c.finalNorm, c.embedNorm = nn.Placements[place].FinalNorm, nn.Placements[place].EmbedNorm
	optional(o, "final_norm", &c.finalNorm)
	optional(o, "embed_norm", &c.embedNorm)
}

func (c *config) readNorm(o *object) {
	bias := true
	optional(o, "bias", &bias)
	c.normBias, c.qkvBias, c.projBias, c.ffnBias = bias, bias, bias, bias
	optional(o, "norm", &c.norm)
	optional(o, "norm_bias", &c.normBias)
	optional(o, "qkv_bias", &c.qkvBias)
	optional(o, "proj_bias", &c.projBias)
	optional(o, "ffn_bias", &c.ffnBias)
	optional(o, "eps", &c.eps)
}

func (c *config) readAttention(o *object) {
	window := 0
	optional(o, "causal", &c.causal)
	optional(o, "window", &window)
	c.windows = slices.Repeat([]int{window}, c.layers)
	optional(o, "windows", &c.windows)
	if len(c.windows) != c.layers {
		o.bad("windows: %d for %d layers", len(c.windows), c.layers)
	}
	c.scale = 1 / math.Sqrt(float64(max(c.headDim, 1)))
	optional(o, "attn_scale", &c.scale)
	if c.scale == 0 {
		o.bad("attn_scale: 0 leaves nothing to attend to")
	}
	optional(o, "attn_softcap", &c.attnCap)
	optional(o, "qk_norm", &c.qkNorm)
	optional(o, "qk_norm_1p", &c.qkNorm1P)
}

func (c *config) readPosition(o *object) {
	c.pos, c.rope, c.buckets, c.maxDistance = "learned", nn.NewPosition("rope"), 32, 128
	optional(o, "pos", &c.pos)
	if optional(o, "rope_style", &c.rope.Layout); c.rope.Layout != "half" && c.rope.Layout != "interleaved" {
		o.bad("rope_style: %q is not known; known: half, interleaved", c.rope.Layout)
	}
	optional(o, "rope_base", &c.rope.Base)
	optional(o, "rope_fraction", &c.rope.Fraction)
	if s := o.sub("rope_scaling"); s != nil {
		c.rope.Scaling = readScaling(s)
	}
	optional(o, "t5_buckets", &c.buckets)
	optional(o, "t5_max_distance", &c.maxDistance)
}

// readScaling reads a scaling of rotary frequencies, in the format's own keys.
func readScaling(o *object) nn.RoPEScaling {
	var s nn.RoPEScaling
	required(o, "type", &s.Kind)
	if s.Kind != "none" {
		required(o, "factor", &s.Factor)
	}
	switch s.Kind {
	case "none", "linear", "ntk":
	case "yarn":
		required(o, "original_length", &s.Original)
		required(o, "beta_fast", &s.BetaFast)
		required(o, "beta_slow", &s.BetaSlow)
	case "llama3":
		required(o, "original_length", &s.Original)
		required(o, "low_freq_factor", &s.LowFreqFactor)
		required(o, "high_freq_factor", &s.HighFreqFactor)
	default:
		o.bad("type %q is not known", s.Kind)
	}
	o.end()
	return s
}

// model is the configuration as package nn has it.
func (c *config) model() (nn.Config, error) {
	m := nn.Default()
	m.Layers, m.DModel, m.Heads, m.KVHeads, m.HeadDim = c.layers, c.d, c.heads, nn.AutoInt(c.kvHeads), nn.AutoInt(c.headDim)
	m.DFF, m.Context, m.Vocab = nn.AutoInt(c.ff), c.t, nn.AutoInt(c.vocab)
	m.Placement = nil
	for _, p := range c.places {
		var options map[string]float64
		if p == "deepnorm" {
			options = map[string]float64{"alpha": c.alpha}
		}
		m.Placement = append(m.Placement, nn.PlacementConfig{Kind: p, Options: options})
	}
	m.FinalNorm, m.Embedding.Norm = nn.YesIf(c.finalNorm), nn.YesIf(c.embedNorm)
	m.Norm = nn.NormConfig{Kind: nn.NormName(c.norm), Eps: c.eps, Bias: nn.No}
	if n := nn.Norms[c.norm]; n != nil {
		m.Norm.Bias = nn.YesIf(n.Bias && c.normBias)
	}
	m.Activation, m.FFN.Bias = nn.ActivationName(c.act), c.ffnBias
	m.Attention = nn.AttentionConfig{
		QKNorm: c.qkNorm, QKNorm1P: nn.YesIf(c.qkNorm1P), QKNormGain: nn.Yes, Scale: nn.AutoFloat(c.scale), Softcap: c.attnCap,
		Window: c.windows, Bias: biases(c.qkvBias, c.projBias), Causal: c.causal,
	}
	m.Position = nn.PositionList{c.position()}
	m.Embedding.Tied, m.Embedding.Scale = c.tied, nn.WidthFloat(c.embedScale)
	m.Logits = nn.LogitsConfig{Scale: nn.WidthFloat(c.logitScale), Softcap: c.logitCap}
	return m.Resolve(0)
}

func biases(qkv, proj bool) string {
	switch {
	case qkv && proj:
		return "all"
	case qkv:
		return "qkv"
	case proj:
		return "proj"
	}
	return "none"
}

func (c *config) position() nn.PositionConfig {
	p := nn.NewPosition(c.pos)
	switch c.pos {
	case "rope":
		return c.rope
	case "learned":
		p.Max = nn.AutoInt(c.context)
	case "t5":
		p.Buckets, p.MaxDistance = c.buckets, c.maxDistance
	}
	return p
}
