package nn

import (
	"fmt"
	"maps"
	"slices"
)

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
func variants() []variant {
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
		add("place="+p+",plain", func(c *Config) {
			c.Placement, c.Norm.Kind, c.Embedding.Norm = Place(p), "rmsnorm_plain", Yes
			c.Placement[0].QKVNorm, c.Placement[0].InnerNorm, c.Attention.QKNorm = Yes, Yes, "full"
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
	for _, gain := range []AutoBool{Yes, No} {
		for _, width := range []string{"head", "full"} {
			add(fmt.Sprintf("qkv gain=%v,%s", gain == Yes, width), func(c *Config) {
				c.Attention.QKNorm, c.Attention.QKNormGain, c.Attention.QKNorm1P, c.Placement[0].QKVNorm = width, gain, gain, Yes
			})
		}
	}
	for _, p := range []string{"none", "sinusoidal", "learned"} {
		add("learned scale,position="+p, func(c *Config) {
			c.Embedding.LearnScale, c.Embedding.Scale, c.Position = true, SqrtD, PositionList{NewPosition(p)}
		})
	}
	add("attention", func(c *Config) {
		c.Attention.Softcap, c.Attention.Scale, c.Attention.Bias, c.Heads = 2, 0.7, "qkv", 6
		c.Logits = LogitsConfig{Scale: 0.5, Softcap: 4}
		c.Embedding.Scale, c.Position = 3, PositionList{NewPosition("t5")}
	})
	return all
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
	total := V*d + is(c.Embedding.LearnScale, 1) + is(!c.Embedding.Tied, V*d) + is(c.FinalNorm == Yes, norm(d)) + is(c.Embedding.Norm == Yes, norm(d))
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
			"sandwich": 4, "peri": 4, "none": 0, "rezero": 0, "hybrid": 1, "hybrid_star": is(l == 0, 1) + 1, "parallel": 1,
			"N2(x + N1(F(x)))": 4, "h = alpha*x + a*F(N1(x)/L); N2(h)": 4, "x + g2*M(N2(x)) + a1*A(x/sqrt(2*l))": 1, "h = N1(x); N3(h + F(N2(h)))": 6,
		}
		n, ok := outer[place]
		if !ok {
			n = 2
		}
		total += n * norm(d)
		total += d*(2*q+2*kv) + mats*d*ff + bias
		total += is(c.Attention.Bias == "qkv" || c.Attention.Bias == "all", q+2*kv) + is(c.Attention.Bias == "proj" || c.Attention.Bias == "all", d)
		flags := perLayer(c.Placement, l)
		qkv := flags.QKVNorm == Yes || flags.QKVNorm == Auto && (place == "hybrid" || place == "hybrid_star")
		inner := flags.InnerNorm == Yes || flags.InnerNorm == Auto && place == "subln"
		total += is(inner, norm(q)+norm(ff)) + is(place == "rezero", 2) + is(place == "layerscale", 2*d)
		total += is(place == "h = alpha*x + a*F(N1(x)/L); N2(h)", 2) + is(place == "x + g2*M(N2(x)) + a1*A(x/sqrt(2*l))", 1+d)
		if c.Attention.QKNormGain == Yes && (c.Attention.QKNorm != "none" || qkv) {
			wide := c.Attention.QKNorm == "full"
			total += is(wide, q+kv) + is(!wide, 2*int(c.HeadDim))
			total += is(qkv && wide, kv) + is(qkv && !wide, int(c.HeadDim))
		}
	}
	return total
}
