package nn

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"ablate/graph"
)

// Config is a decoder-only (or bidirectional) transformer language model. The
// tags are read by the configuration reader.
type Config struct {
	Layers  int     `key:"layers" default:"4" range:">=1" doc:"number of blocks"`
	DModel  int     `key:"d_model" default:"128" range:">=1" doc:"width of the residual stream"`
	Heads   int     `key:"heads" default:"4" range:">=1" doc:"query heads"`
	KVHeads AutoInt `key:"kv_heads" default:"auto" doc:"key/value heads, a divisor of heads; auto: heads"`
	HeadDim AutoInt `key:"head_dim" default:"auto" doc:"width of a head; auto: d_model / heads"`
	DFF     AutoInt `key:"d_ff" default:"auto" doc:"width of the FFN's hidden layer; auto: 4 d_model, or for a gated activation the width with the nearest number of parameters"`
	Context int     `key:"context" default:"128" range:">=1" doc:"tokens in a training sequence"`
	Vocab   AutoInt `key:"vocab" default:"auto" doc:"vocabulary; auto: the tokenizer's"`

	Placement  PlacementList   `key:"placement" default:"pre" per:"layers" doc:"where the norms sit: a name, a formula such as x + F(N1(x)), a mapping with the placement's options, qkv_norm and inner_norm, or one for each layer: a list, or {repeat: [a, b]} for a, b, a, b, …"`
	FinalNorm  AutoBool        `key:"final_norm" default:"auto" doc:"a norm before the head; auto: by placement"`
	Norm       NormConfig      `key:"norm" doc:"the norm of blocks, embedding and head"`
	Activation ActivationName  `key:"activation" default:"swiglu" doc:"activation of the FFN; gelu is the erf form"`
	FFN        FFNConfig       `key:"ffn"`
	Position   PositionList    `key:"position" default:"rope" per:"layers" doc:"position encoding: a name, a mapping with its options, or one for each layer: a list, or {repeat: [a, b]} for a, b, a, b, …"`
	Attention  AttentionConfig `key:"attention"`
	Embedding  EmbeddingConfig `key:"embedding"`
	Logits     LogitsConfig    `key:"logits"`
	Init       InitConfig      `key:"init" doc:"distribution of the initial weights"`
	Dropout    float64         `key:"dropout" default:"0" range:"[0,1)" doc:"share that is dropped of the embedding, of the sub-layers' outputs and of the attention's weights, in training only"`

	Parametrization ParametrizationConfig `key:"parametrization" doc:"how initial values, learning rates and factors follow the width"`
}

// NormConfig chooses the norm.
type NormConfig struct {
	Kind  NormName `key:"kind" default:"rmsnorm" doc:"which norm"`
	Eps   float64  `key:"eps" default:"1e-5" range:">0" doc:"added under every square root, that of q/k-norms included"`
	Bias  AutoBool `key:"bias" default:"auto" doc:"an additive term; auto: if the norm can have one"`
	Alpha Slopes   `key:"alpha" default:"0.5" doc:"dyt: where its slopes start; a list of three gives those of attention, of FFN and outside of blocks"`
}

// FFNConfig holds the options of the feed-forward network.
type FFNConfig struct {
	Bias bool `key:"bias" default:"false" doc:"biases of up, gate and down projection"`
}

// AttentionConfig holds the options of the attention.
type AttentionConfig struct {
	QKNorm     string    `key:"qk_norm" default:"none" enum:"none,head,full" doc:"RMS norm of queries and keys: of every head, or of all heads together"`
	QKNorm1P   AutoBool  `key:"qk_norm_1p" default:"auto" doc:"gains of the q/k-norms as 1 + w; auto: if norm is rmsnorm_1p"`
	QKNormGain AutoBool  `key:"qk_norm_gain" default:"auto" doc:"the q/k-norms have gains; auto: unless the norm has none"`
	Scale      AutoFloat `key:"scale" default:"auto" doc:"factor of the scores; auto: 1/sqrt(head_dim), or 1/head_dim under mup"`
	Softcap    float64   `key:"softcap" default:"0" range:">=0" doc:"scores s become c tanh(s/c); 0: off"`
	Window     IntList   `key:"window" default:"0" per:"layers" doc:"keys nearer than this are seen; 0: all; or one for each layer: a list, or {repeat: [a, b]} for a, b, a, b, …"`
	Bias       string    `key:"bias" default:"none" enum:"none,qkv,proj,all" doc:"biases of the projections"`
	Causal     bool      `key:"causal" default:"true" doc:"no token sees a later one"`
}

// EmbeddingConfig holds the options of the token embedding.
type EmbeddingConfig struct {
	Tied       bool       `key:"tied" default:"true" doc:"the head is the embedding"`
	Scale      WidthFloat `key:"scale" default:"1" doc:"factor of the embedding: a number above 0, or sqrt_d for √d_model"`
	LearnScale bool       `key:"learn_scale" default:"false" doc:"the factor is a parameter, which starts at scale"`
	Norm       AutoBool   `key:"norm" default:"auto" doc:"a norm on the embedding; auto: by placement"`
}

// LogitsConfig holds what happens to the logits.
type LogitsConfig struct {
	Scale   WidthFloat `key:"scale" default:"1" doc:"factor of the logits: a number above 0, or rsqrt_d for 1/√d_model"`
	Softcap float64    `key:"softcap" default:"0" range:">=0" doc:"logits z become c tanh(z/c); 0: off"`
}

// InitConfig chooses the distribution of the initial weights.
type InitConfig struct {
	Kind        InitName          `key:"kind" default:"nanogpt" doc:"which distribution"`
	Std         float64           `key:"std" default:"0.02" range:">0" doc:"standard deviation, for the kinds that have one to choose"`
	PositionStd AutoFloat         `key:"position_std" default:"auto" doc:"standard deviation of a learned position table, for the kinds that give it one of its own; auto: 0.01"`
	ZeroOut     bool              `key:"zero_out" default:"false" doc:"what writes to the residual stream, attention's o and FFN's down, starts at 0, so that every block starts without effect"`
	Multipliers graph.RoleFactors `key:"multipliers" default:"{}" doc:"factors of the initial values by the role of a parameter: {embedding: 10}"`
}

// The names of variants: texts whose allowed values are the keys of a table.
type (
	NormName       string
	ActivationName string
	InitName       string
)

// ConfigEnum lists the names of Norms.
func (NormName) ConfigEnum() []string { return slices.Sorted(maps.Keys(Norms)) }

// ConfigEnum lists the names of Activations.
func (ActivationName) ConfigEnum() []string { return slices.Sorted(maps.Keys(Activations)) }

// ConfigEnum lists the names of Inits.
func (InitName) ConfigEnum() []string { return slices.Sorted(maps.Keys(Inits)) }

// IntList is one integer for all layers, or one for each.
type IntList []int

// FromConfig reads an integer from 0, or a list of those.
func (l *IntList) FromConfig(v any) error {
	list, err := listOf(v, func(v any) (int, error) {
		if i, ok := v.(int64); ok && i >= 0 && i <= maxSize {
			return int(i), nil
		}
		if _, ok := v.(map[string]any); ok {
			return 0, errors.New("the only mapping here is {repeat: [a, b]}")
		}
		return 0, fmt.Errorf("%v is not an integer from 0 to %d", v, maxSize)
	})
	if err == nil {
		*l = list
	}
	return err
}

// ConfigValue gives the list back.
func (l IntList) ConfigValue() any {
	if len(l) == 0 {
		return nil
	}
	return valueOf(l, func(i int) any { return int64(i) })
}

// ConfigSchema describes the value as JSON Schema.
func (IntList) ConfigSchema() map[string]any {
	return listSchema(map[string]any{"type": "integer", "minimum": 0, "maximum": maxSize})
}

// Default is the configuration that the tags describe.
func Default() Config {
	return Config{
		Layers: 4, DModel: 128, Heads: 4, Context: 128,
		Placement:  Place("pre"),
		Norm:       NormConfig{Kind: "rmsnorm", Eps: 1e-5, Alpha: Slopes{dytAlpha}},
		Activation: "swiglu",
		Position:   PositionList{NewPosition("rope")},
		Attention:  AttentionConfig{QKNorm: "none", Window: IntList{0}, Bias: "none", Causal: true},
		Embedding:  EmbeddingConfig{Tied: true, Scale: 1},
		Logits:     LogitsConfig{Scale: 1},
		Init:       InitConfig{Kind: "nanogpt", Std: 0.02},

		Parametrization: ParametrizationConfig{Kind: Standard, BaseWidth: 64},
	}
}

// Resolve replaces every auto by its value and validates the result. vocab is
// the tokenizer's vocabulary, or 0 if there is none.
func (c Config) Resolve(vocab int) (Config, error) {
	switch {
	case c.Vocab == 0 && vocab == 0:
		return c, errors.New("vocab: auto, and there is no tokenizer to take it from; give a number")
	case c.Vocab == 0:
		c.Vocab = AutoInt(vocab)
	case int(c.Vocab) < vocab:
		return c, fmt.Errorf("vocab: %d is less than the tokenizer's %d", c.Vocab, vocab)
	}
	if err := c.Validate(); err != nil {
		return c, err
	}
	if c.KVHeads == 0 {
		c.KVHeads = AutoInt(c.Heads)
	}
	if c.HeadDim == 0 {
		c.HeadDim = AutoInt(c.DModel / c.Heads)
	}
	if c.DFF == 0 {
		c.DFF = AutoInt(autoFFN(c.DModel, Activations[string(c.Activation)].Gated, c.FFN.Bias))
	}
	if c.Attention.Scale == 0 {
		c.Attention.Scale = AutoFloat(c.Parametrization.attentionScale(int(c.HeadDim)))
	}
	if c.Init.PositionStd == 0 {
		c.Init.PositionStd = AutoFloat(Inits[string(c.Init.Kind)].PositionStd)
	}
	c.Embedding.Scale, c.Logits.Scale = c.Embedding.Scale.at(c.DModel), c.Logits.Scale.at(c.DModel)
	c.Attention.QKNorm1P = c.Attention.QKNorm1P.or(c.Norm.Kind == "rmsnorm_1p")
	c.Attention.QKNormGain = c.Attention.QKNormGain.or(!Norms[string(c.Norm.Kind)].Plain)
	c.Norm.Bias = c.Norm.Bias.or(Norms[string(c.Norm.Kind)].Bias)
	c.resolvePlacement()
	c.Position = slices.Clone(c.Position)
	for i := range c.Position {
		if c.Position[i].Max == 0 {
			c.Position[i].Max = AutoInt(c.Context)
		}
	}
	return c, c.Validate()
}

func (c *Config) resolvePlacement() {
	c.Placement = slices.Clone(c.Placement)
	for i, p := range c.Placement {
		c.Placement[i] = p.resolve(c.Layers)
	}
	first, _ := lookupPlacement(c.Placement[0].Kind)
	last, _ := lookupPlacement(c.Placement[len(c.Placement)-1].Kind)
	c.FinalNorm = c.FinalNorm.or(last.FinalNorm)
	c.Embedding.Norm = c.Embedding.Norm.or(first.EmbedNorm)
}

// autoFFN is the width of the FFN's hidden layer: 4d, or for a gated FFN the
// width from 1 that brings its number of parameters, biases included, closest to
// that of an ungated one of 4d; the smaller of two that are equally close.
func autoFFN(d int, gated, bias bool) int {
	if !gated {
		return 4 * d
	}
	// Ungated 2·d·4d (+ 4d + d); gated 3·d·h (+ 2h + d). The biases of the down
	// projection, d, are in both.
	want, each := 8*d*d, 3*d
	if bias {
		want, each = want+4*d, each+2
	}
	h := want / each
	if 2*(want-h*each) > each {
		h++
	}
	return max(h, 1)
}

// resolved reports autos that are left.
func (c *Config) resolved() error {
	if c.KVHeads == 0 || c.HeadDim == 0 || c.DFF == 0 || c.Vocab == 0 || c.Attention.Scale == 0 || c.Embedding.Scale < 0 || c.Logits.Scale < 0 ||
		c.FinalNorm == Auto || c.Norm.Bias == Auto || c.Embedding.Norm == Auto || c.Attention.QKNorm1P == Auto || c.Attention.QKNormGain == Auto {
		return errors.New("nn: the configuration has autos; call Resolve")
	}
	return c.Validate()
}
