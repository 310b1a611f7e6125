package nn

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
)

// The bounds of sizes: far above what fits a machine, low enough that no
// product of them overflows.
const (
	maxSize   = 1 << 24
	maxLayers = 1 << 14
	maxParams = 1 << 44
)

// problems collects errors whose texts start with the key.
type problems struct{ errs []error }

func (p *problems) add(format string, args ...any) {
	p.errs = append(p.errs, fmt.Errorf(format, args...))
}

// Validate reports everything that is wrong with the values, at once; autos are
// allowed. Each error starts with its key.
func (c Config) Validate() error {
	var p problems
	c.validateSizes(&p)
	c.validateNames(&p)
	if len(p.errs) > 0 { // the rest is about values that are good by themselves
		return errors.Join(p.errs...)
	}
	c.validateHeads(&p)
	divided := len(p.errs) == 0
	c.validateParam(&p)
	c.validatePlacement(&p)
	c.validateLayers(&p)
	c.validatePositions(&p, divided)
	if len(p.errs) == 0 {
		c.validateTotal(&p)
	}
	return errors.Join(p.errs...)
}

// leastFloat is the least float32 with all its digits: what is below would become another number, or 0.
const leastFloat = 0x1p-126

// sane says whether a factor can be computed with.
func sane(x float64) bool { return x >= leastFloat && x <= maxSize }

func (c *Config) validateSizes(p *problems) {
	for _, s := range []struct {
		key        string
		n          int
		least, max int
	}{
		{"layers", c.Layers, 1, maxLayers}, {"d_model", c.DModel, 1, maxSize}, {"heads", c.Heads, 1, maxSize},
		{"kv_heads", int(c.KVHeads), 0, maxSize}, {"head_dim", int(c.HeadDim), 0, maxSize}, {"d_ff", int(c.DFF), 0, maxSize},
		{"context", c.Context, 1, maxSize}, {"vocab", int(c.Vocab), 0, maxSize},
	} {
		if s.n < s.least || s.n > s.max {
			p.add("%s: %d is not between %d and %d", s.key, s.n, max(s.least, 1), s.max)
		}
	}
	for _, s := range []struct {
		key  string
		x    float64
		zero bool // 0 is allowed
	}{
		{"norm.eps", c.Norm.Eps, false}, {"attention.softcap", c.Attention.Softcap, true}, {"embedding.scale", float64(c.Embedding.Scale.at(c.DModel)), false},
		{"logits.scale", float64(c.Logits.Scale.at(c.DModel)), false}, {"logits.softcap", c.Logits.Softcap, true}, {"init.std", c.Init.Std, false},
	} {
		if !(sane(s.x) || s.zero && s.x == 0) {
			p.add("%s: %g is not a number from %.2g to %d%s", s.key, s.x, leastFloat, maxSize, map[bool]string{true: ", or 0 for off"}[s.zero])
		}
	}
	if x := float64(c.Init.PositionStd); x != 0 && !sane(x) { // 0 is auto
		p.add("init.position_std: %g is not auto or a number from %.2g to %d", x, leastFloat, maxSize)
	}
	if x := math.Abs(float64(c.Attention.Scale)); x != 0 && !sane(x) {
		p.add("attention.scale: %g is not auto or a number of size %.2g to %d", float64(c.Attention.Scale), leastFloat, maxSize)
	}
	if err := c.Init.Multipliers.Validate(); err != nil {
		p.add("init.multipliers.%w", err)
	}
	if a := c.Norm.Alpha; len(a) > 0 { // made in Go, not read
		if err := new(Slopes).FromConfig(a.ConfigValue()); err != nil {
			p.add("norm.alpha: %w", err)
		}
	}
	if !(c.Dropout >= 0 && c.Dropout < 1) {
		p.add("dropout: %g is not a share from 0 to below 1", c.Dropout)
	}
}

func (c *Config) validateNames(p *problems) {
	one := func(key, what, name string, known []string) {
		if !slices.Contains(known, name) {
			p.add("%s: %w", key, unknown(what, name, known))
		}
	}
	one("norm.kind", "norm", string(c.Norm.Kind), c.Norm.Kind.ConfigEnum())
	one("activation", "activation", string(c.Activation), c.Activation.ConfigEnum())
	one("init.kind", "initialisation", string(c.Init.Kind), c.Init.Kind.ConfigEnum())
	one("parametrization.kind", "parametrization", c.Parametrization.Kind, []string{Standard, MuP})
	one("attention.qk_norm", "q/k-norm", c.Attention.QKNorm, []string{"none", "head", "full"})
	one("attention.bias", "set of biases", c.Attention.Bias, []string{"none", "qkv", "proj", "all"})
	for i, q := range c.Position {
		one(element("position", i, len(c.Position)), "position encoding", q.Kind, slices.Collect(maps.Keys(Positions)))
	}
	for i, q := range c.Placement {
		if _, err := lookupPlacement(q.Kind); err != nil {
			p.add("%s: %w", element("placement", i, len(c.Placement)), err)
		}
	}
}

// element is the key of one value, or of one in a list.
func element(key string, i, n int) string {
	if n == 1 {
		return key
	}
	return fmt.Sprintf("%s[%d]", key, i)
}

func (c *Config) validateHeads(p *problems) {
	if c.HeadDim == 0 && c.DModel%c.Heads != 0 {
		p.add("heads: %d does not divide d_model %d; choose another number, or give head_dim", c.Heads, c.DModel)
	}
	if c.KVHeads != 0 && c.Heads%int(c.KVHeads) != 0 {
		p.add("kv_heads: %d does not divide heads %d", c.KVHeads, c.Heads)
	}
	if c.Norm.Bias == Yes && !Norms[string(c.Norm.Kind)].Bias {
		p.add("norm.bias: true, but %s has no additive term", c.Norm.Kind)
	}
}

func (c *Config) validatePlacement(p *problems) {
	for i, q := range c.Placement {
		key := element("placement", i, len(c.Placement))
		pl, _ := lookupPlacement(q.Kind)
		if pl.Blocks != nil && len(c.Placement) > 1 {
			p.add("%s: %s is about all blocks and cannot stand in a list", key, q.Kind)
		}
		if q.InnerNorm == Yes && c.Norm.Kind == "none" {
			p.add("%s.inner_norm: true, but norm.kind none leaves no norm to put there", key)
		}
		for _, o := range slices.Sorted(maps.Keys(q.Options)) {
			at := slices.Index(pl.optionKeys(), o)
			if at < 0 {
				p.add("%s.%s: placement %s does not read it", key, o, q.Kind)
			} else if x := q.Options[o]; !pl.Options[at].allows(x) {
				p.add("%s.%s: %g is not %s", key, o, x, pl.Options[at].allowed())
			}
		}
		if k, given := q.Options["k"]; given && pl.Blocks != nil && int(k) > c.Layers {
			p.add("%s.k: %g blocks of %d", key, k, c.Layers)
		}
	}
}

// validateLayers checks the lengths of lists that have one value for each layer.
func (c *Config) validateLayers(p *problems) {
	for _, l := range []struct {
		key string
		n   int
	}{{"placement", len(c.Placement)}, {"position", len(c.Position)}, {"attention.window", len(c.Attention.Window)}} {
		if l.n != 1 && l.n != c.Layers {
			p.add("%s: %d values for %d layers; give one, one for each, or {repeat: […]}", l.key, l.n, c.Layers)
		}
	}
	for i, w := range c.Attention.Window {
		if w < 0 || w > maxSize {
			p.add("%s: %d is not an integer from 0 to %d", element("attention.window", i, len(c.Attention.Window)), w, maxSize)
		}
	}
}

// validatePositions checks the encodings; what depends on the width of a head
// only where it is known.
func (c *Config) validatePositions(p *problems, divided bool) {
	for i, q := range c.Position {
		pos, key := Positions[q.Kind], element("position", i, len(c.Position))
		if pos.Embed != nil && slices.ContainsFunc(c.Position, func(o PositionConfig) bool { return o.Kind != q.Kind }) {
			p.add("%s: %s acts on the embedding and cannot be mixed with others", key, q.Kind)
		}
		if _, err := readPosition(positionValue(q)); err != nil { // made in Go, not read
			p.add("%s.%w", key, err)
			continue
		}
		if pos.Check == nil || !divided {
			continue
		}
		if err := pos.Check(q, c); err != nil {
			p.add("%s.%w", key, err)
		}
	}
}

// validateTotal bounds the number of parameters.
func (c *Config) validateTotal(p *problems) {
	d, kv, hd := float64(c.DModel), c.KVHeads, c.HeadDim
	if kv == 0 {
		kv = AutoInt(c.Heads)
	}
	if hd == 0 {
		hd = AutoInt(c.DModel / c.Heads)
	}
	ff := float64(max(int(c.DFF), 1))
	block := d * (2*float64(c.Heads)*float64(hd) + 2*float64(kv)*float64(hd) + 2*ff)
	if total := float64(c.Layers)*block + d*float64(c.Vocab); total > maxParams {
		p.add("layers: a model of %.3g parameters; at most %.3g are allowed", total, float64(maxParams))
	}
}

// Unread lists the keys that the chosen variants do not read.
func (c Config) Unread() []string {
	var keys []string
	unread := func(key string, read bool) {
		if !read {
			keys = append(keys, key)
		}
	}
	if in := Inits[string(c.Init.Kind)]; in != nil {
		unread("init.std", in.Std)
		unread("init.position_std", in.PositionStd > 0 && c.learnsPositions())
		unread("init.zero_out", !in.Zero)
	}
	unread("parametrization.base_width", c.Parametrization.Kind == MuP)
	gains := c.qkNormed()
	if n := Norms[string(c.Norm.Kind)]; n != nil {
		unread("norm.eps", n.Eps || c.qkNormed())
		unread("norm.alpha", n.Alpha)
		gains = gains && c.Attention.QKNormGain.or(!n.Plain) == Yes
	}
	unread("attention.qk_norm_1p", gains)
	unread("attention.qk_norm_gain", c.qkNormed())
	if c.Norm.Kind == "none" {
		unread("final_norm", false)
		unread("embedding.norm", false)
	}
	return keys
}

// WhyUnread is why a key of Unread is not read, where the kind beside it is not the reason.
func (c Config) WhyUnread(key string) string {
	switch key {
	case "init.position_std":
		if in := Inits[string(c.Init.Kind)]; in != nil && in.PositionStd > 0 {
			return "no position is learned"
		}
	case "attention.qk_norm_1p", "attention.qk_norm_gain":
		if c.qkNormed() {
			return "norms of queries and keys have no gain"
		}
		return "queries and keys are not normalised"
	case "final_norm", "embedding.norm":
		return "norm.kind is none"
	}
	return ""
}

// LearnedPositions is the number of positions for which the model has a learned
// vector, the least of all layers; 0 if it learns none, and no text is too long.
func (c *Config) LearnedPositions() (least int) {
	for _, q := range c.Position {
		if q.learned() && (least == 0 || int(q.Max) < least) {
			least = int(q.Max)
		}
	}
	return least
}

// learnsPositions says whether the model has a table with a learned vector for every
// position.
func (c *Config) learnsPositions() bool {
	return slices.ContainsFunc(c.Position, PositionConfig.learned)
}

func (q PositionConfig) learned() bool {
	p := Positions[q.Kind]
	return p != nil && slices.Contains(p.Reads, "max")
}

// qkNormed says whether any block normalises queries and keys.
func (c *Config) qkNormed() bool {
	return c.Attention.QKNorm != "none" || slices.ContainsFunc(c.Placement, func(q PlacementConfig) bool {
		p, err := lookupPlacement(q.Kind)
		return err == nil && q.QKVNorm.or(p.QKVNorm) == Yes
	})
}
