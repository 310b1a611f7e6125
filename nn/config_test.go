package nn

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestDefaultAgreesWithTags reads the default tags of scalars and compares.
func TestDefaultAgreesWithTags(t *testing.T) {
	var walk func(path string, v reflect.Value)
	walk = func(path string, v reflect.Value) {
		for i := range v.NumField() {
			f := v.Type().Field(i)
			key, at := f.Tag.Get("key"), path+f.Tag.Get("key")
			def, hasDefault := f.Tag.Lookup("default")
			value := v.Field(i)
			if !hasDefault {
				if value.Kind() != reflect.Struct || key == "" {
					t.Errorf("%s has neither a default nor fields", f.Name)
					continue
				}
				walk(at+".", value)
				continue
			}
			if own, ok := value.Interface().(interface{ ConfigValue() any }); ok {
				if got := own.ConfigValue(); fmt.Sprint(got) != def && !hasKind(got, def) && (def != "{}" || fmt.Sprint(got) != "map[]") {
					t.Errorf("%s: Default has %v, the tag %s", at, got, def)
				}
				continue
			}
			if got := strings.Replace(fmt.Sprint(value.Interface()), "1e-05", "1e-5", 1); got != def {
				t.Errorf("%s: Default has %v, the tag %s", at, got, def)
			}
		}
	}
	walk("", reflect.ValueOf(Default()))
}

func hasKind(v any, kind string) bool {
	m, ok := v.(map[string]any)
	return ok && m["kind"] == kind
}

func TestResolveFillsAutos(t *testing.T) {
	c, err := Default().Resolve(256)
	if err != nil {
		t.Fatal(err)
	}
	if c.KVHeads != 4 || c.HeadDim != 32 || c.Vocab != 256 || c.FinalNorm != Yes || c.Norm.Bias != No || c.Embedding.Norm != No {
		t.Errorf("resolved to %+v", c)
	}
	if math.Abs(float64(c.Attention.Scale)-1/math.Sqrt(32)) > 1e-15 {
		t.Errorf("scale %v", c.Attention.Scale)
	}
	if err := c.resolved(); err != nil {
		t.Error(err)
	}
	if d := Default(); d.resolved() == nil {
		t.Error("autos pass as resolved")
	}
}

// TestAutoFFN holds d_ff: auto against a search over all widths.
func TestAutoFFN(t *testing.T) {
	count := func(d, h, mats int, bias bool) int {
		n := mats * d * h
		if bias {
			n += (mats-1)*h + d
		}
		return n
	}
	for d := 1; d <= 70; d++ {
		for _, bias := range []bool{false, true} {
			if got := autoFFN(d, false, bias); got != 4*d {
				t.Errorf("ungated width %d for d %d", got, d)
			}
			best, want := math.MaxInt, 0
			for h := 1; h <= 5*d; h++ {
				diff := count(d, h, 3, bias) - count(d, 4*d, 2, bias)
				if diff = max(diff, -diff); diff < best {
					best, want = diff, h
				}
			}
			if got := autoFFN(d, true, bias); got != want {
				t.Errorf("gated width %d for d %d (bias %v), want %d", got, d, bias, want)
			}
		}
	}
}

func TestPlacementOptions(t *testing.T) {
	var p PlacementList
	for _, c := range []struct {
		in   any
		want any // what it reads back as
		err  string
	}{
		{in: "post", want: "post"},
		{in: "x+F(N1( x ))", want: "x + F(N1(x))"},
		{in: map[string]any{"kind": "mix", "k": int64(3)}, want: map[string]any{"kind": "mix", "k": int64(3)}},
		{in: map[string]any{"kind": "deepnorm", "alpha": "auto", "beta": 0.5}, want: map[string]any{"kind": "deepnorm", "beta": 0.5}},
		{in: map[string]any{"kind": "N1(alpha*x + F(x))", "alpha": int64(2)}, want: map[string]any{"kind": "N1(alpha*x + F(x))", "alpha": 2.0}},
		{in: []any{"post", "pre"}, want: []any{"post", "pre"}},
		{in: "prre", err: `unknown placement "prre"; known: deepnorm, `},
		{in: "x + G(x)", err: "column 5"},
		{in: map[string]any{"kind": "pre", "alpha": 2.0}, err: "alpha: not a key here"},
		{in: map[string]any{"kind": "mix", "k": 1.5}, err: "k: 1.5 is not auto or an integer from 0"},
		{in: map[string]any{"k": int64(1)}, err: "kind: "},
		{in: []any{"post", "nope"}, err: "[1]: unknown placement"},
		{in: []any{}, err: "an empty list"},
		{in: true, err: "neither a name nor a mapping"},
	} {
		err := p.FromConfig(c.in)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%v: %v, want %s", c.in, err, c.err)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(p.ConfigValue(), c.want) {
			t.Errorf("%v reads back as %v (%v)", c.in, p.ConfigValue(), err)
		}
	}
}

func TestPositionOptions(t *testing.T) {
	var p PositionList
	for _, c := range []struct {
		in  any
		err string
	}{
		{in: "rope"}, {in: "none"}, {in: "alibi"},
		{in: map[string]any{"kind": "learned", "max": int64(128)}},
		{in: map[string]any{"kind": "t5", "buckets": int64(8), "max_distance": int64(20)}},
		{in: map[string]any{"kind": "rope", "base": 100.0, "layout": "interleaved", "fraction": 0.5,
			"scaling": map[string]any{"kind": "yarn", "factor": int64(4), "original": int64(128), "beta_fast": int64(32), "beta_slow": 1.0}}},
		{in: []any{"rope", map[string]any{"kind": "rope", "base": 1e6}, "none"}},
		{in: map[string]any{"kind": "learned", "base": 100.0}, err: "base: not a key here; allowed: max"},
		{in: map[string]any{"kind": "rope", "layout": "both"}, err: "layout: both is not allowed; allowed: half, interleaved"},
		{in: map[string]any{"kind": "rope", "fraction": 1.5}, err: "fraction: 1.5 is not a share"},
		{in: map[string]any{"kind": "rope", "scaling": map[string]any{"kind": "yarn", "factor": 2.0}}, err: "scaling: original: required by scaling yarn"},
		{in: map[string]any{"kind": "rope", "scaling": "zoom"}, err: "scaling: unknown scaling"},
		{in: "rotary", err: `unknown position encoding "rotary"`},
		{in: int64(3), err: "neither a name"},
	} {
		err := p.FromConfig(c.in)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%v: %v, want %s", c.in, err, c.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%v: %v", c.in, err)
			continue
		}
		v := p.ConfigValue()
		var q PositionList
		if err := q.FromConfig(v); err != nil || !reflect.DeepEqual(p, q) {
			t.Errorf("%v reads back as %+v (%v)", v, q, err)
		}
	}
}

func TestValidateReportsAllAtOnce(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(c *Config)
		want   []string
	}{
		{"sizes", func(c *Config) { c.Layers, c.DModel, c.Context, c.Dropout = 0, -1, 1<<30, 1 }, []string{"layers: 0", "d_model: -1", "context: 1073741824", "dropout: 1"}},
		{"nan", func(c *Config) { c.Norm.Eps, c.Dropout = math.NaN(), math.NaN() }, []string{"norm.eps: NaN", "dropout: NaN"}},
		{"names", func(c *Config) { c.Activation, c.Norm.Kind, c.Init.Kind = "swigloo", "batch", "he" }, []string{"activation: unknown", "norm.kind: unknown", "init.kind: unknown"}},
		{"heads", func(c *Config) { c.Heads, c.KVHeads = 6, 4 }, []string{"heads: 6 does not divide d_model 128", "kv_heads: 4 does not divide heads 6"}},
		{"odd rotary", func(c *Config) { c.HeadDim = 5 }, []string{"position.fraction: 1 of a head of 5 entries is 5"}},
		{"lists", func(c *Config) {
			c.Placement = append(c.Placement, Place("post")...)
			c.Attention.Window = IntList{1, 2}
		}, []string{"placement: 2 values for 4 layers", "attention.window: 2 values for 4 layers"}},
		{"mix in a list", func(c *Config) { c.Layers, c.Placement = 2, append(Place("mix"), Place("pre")...) }, []string{"placement[0]: mix is about all blocks"}},
		{"k", func(c *Config) { c.Placement = PlacementList{{Kind: "mix", Options: map[string]float64{"k": 5}}} }, []string{"placement.k: 5 blocks of 4"}},
		{"option", func(c *Config) { c.Placement = PlacementList{{Kind: "pre", Options: map[string]float64{"k": 5}}} }, []string{"placement.k: placement pre does not read it"}},
		{"norm bias", func(c *Config) { c.Norm.Bias = Yes }, []string{"norm.bias: true, but rmsnorm has no additive term"}},
		{"learned", func(c *Config) { c.Position = PositionList{{Kind: "learned", Max: 7}} }, []string{"position.max: 7 positions for a context of 128"}},
		{"t5", func(c *Config) {
			p := NewPosition("t5")
			p.Buckets, c.Attention.Causal = 3, false
			c.Position = PositionList{p}
		}, []string{"position.buckets: 3 are too few"}},
		{"base", func(c *Config) { c.Position[0].Base, c.Position[0].Layout = 0, "both" }, []string{"position.base: 0 is not a number above 1", "layout: both is not allowed"}},
		{"scaling", func(c *Config) { c.Position[0].Scaling = RoPEScaling{Kind: "yarn", Factor: 2} }, []string{"position.scaling: original: 0 is not an integer"}},
		{"scale", func(c *Config) { c.Attention.Scale = AutoFloat(math.NaN()) }, []string{"attention.scale: NaN"}},
		{"scale beyond a float32", func(c *Config) { c.Attention.Scale = -1e39 }, []string{"attention.scale: -1e+39 is not auto or a number of size"}},
		{"what a float32 has no digits for", func(c *Config) { c.Norm.Eps, c.Logits.Softcap, c.Init.Std = 1e-60, 1e-38, 1e39 },
			[]string{"norm.eps: 1e-60 is not a number from 1.2e-38 to 16777216", "logits.softcap: 1e-38", "init.std: 1e+39"}},
		{"mixed", func(c *Config) {
			c.Layers, c.Position = 2, PositionList{NewPosition("learned"), NewPosition("rope")}
		}, []string{"position[0]: learned acts on the embedding"}},
		{"huge", func(c *Config) { c.Layers, c.DModel, c.HeadDim, c.DFF = 1<<14, 1<<24, 2, 1<<24 }, []string{"layers: a model of"}},
	} {
		cfg := Default()
		c.change(&cfg)
		err := cfg.Validate()
		for _, want := range c.want {
			if err == nil || !strings.Contains("\n"+err.Error(), "\n"+want) {
				t.Errorf("%s: %v, want %s", c.name, err, want)
			}
		}
	}
	if _, err := Default().Resolve(0); err == nil {
		t.Error("vocab: auto passes without a tokenizer")
	}
	c := Default()
	c.Vocab = 100
	if _, err := c.Resolve(256); err == nil {
		t.Error("a vocabulary below the tokenizer's passes")
	}
}

func TestUnread(t *testing.T) {
	c := Default()
	if got := fmt.Sprint(c.Unread()); got != "[init.position_std parametrization.base_width norm.alpha attention.qk_norm_1p attention.qk_norm_gain]" {
		t.Error(got)
	}
	c.Norm.Kind, c.Init.Kind = "none", "xavier"
	if got := fmt.Sprint(c.Unread()); got != "[init.std init.position_std parametrization.base_width norm.eps norm.alpha attention.qk_norm_1p attention.qk_norm_gain final_norm embedding.norm]" {
		t.Error(got)
	}
	c.Parametrization.Kind, c.Init.Kind = MuP, "nanochat"
	if got := fmt.Sprint(c.Unread()); got != "[init.std init.position_std init.zero_out norm.eps norm.alpha attention.qk_norm_1p attention.qk_norm_gain final_norm embedding.norm]" {
		t.Error(got)
	}
	c.Parametrization.Kind, c.Init.Kind = Standard, "xavier"
	c.Attention.QKNorm = "head"
	if got := fmt.Sprint(c.Unread()); got != "[init.std init.position_std parametrization.base_width norm.alpha final_norm embedding.norm]" {
		t.Error(got)
	}
	c.Norm.Kind = "rmsnorm_plain" // and so no gains of q/k-norms
	if got := fmt.Sprint(c.Unread()); got != "[init.std init.position_std parametrization.base_width norm.alpha attention.qk_norm_1p]" {
		t.Error(got)
	}
	c.Attention.QKNorm, c.Placement, c.Attention.QKNormGain = "none", PlacementList{{Kind: "pre", QKVNorm: Yes}}, Yes
	if got := fmt.Sprint(c.Unread()); got != "[init.std init.position_std parametrization.base_width norm.alpha]" {
		t.Error(got)
	}
	c.Placement = PlacementList{{Kind: "hybrid", QKVNorm: No}}
	if got := fmt.Sprint(c.Unread()); got != "[init.std init.position_std parametrization.base_width norm.alpha attention.qk_norm_1p attention.qk_norm_gain]" {
		t.Error(got)
	}
}

func TestWhyUnread(t *testing.T) {
	set := func(f func(c *Config)) Config {
		c := Default()
		f(&c)
		return c
	}
	for _, c := range []struct {
		config    Config
		key, want string
	}{
		{Default(), "init.position_std", "no position is learned"},
		{set(func(c *Config) { c.Init.Kind = "xavier" }), "init.position_std", ""},
		{Default(), "attention.qk_norm_1p", "queries and keys are not normalised"},
		{Default(), "attention.qk_norm_gain", "queries and keys are not normalised"},
		{set(func(c *Config) { c.Norm.Kind, c.Attention.QKNorm = "rmsnorm_plain", "head" }), "attention.qk_norm_1p", "norms of queries and keys have no gain"},
		{set(func(c *Config) { c.Norm.Kind = "none" }), "final_norm", "norm.kind is none"},
		{set(func(c *Config) { c.Norm.Kind = "none" }), "embedding.norm", "norm.kind is none"},
		{Default(), "parametrization.base_width", ""},
	} {
		if !slices.Contains(c.config.Unread(), c.key) {
			t.Errorf("%s is read", c.key)
		}
		if got := c.config.WhyUnread(c.key); got != c.want {
			t.Errorf("%s is not read: %q, want %q", c.key, got, c.want)
		}
	}
}

func TestConstantsOfPlacements(t *testing.T) {
	for _, c := range []struct {
		layers             int
		alpha, beta, gamma float64
	}{{2, 1.414214, .5, 1.177410}, {12, 2.213364, .319472, 1.782710}, {1000, 6.687403, .105737, 2.756973}} {
		for _, v := range []struct{ got, want float64 }{
			{optionAlpha.Auto(c.layers), c.alpha}, {optionBeta.Auto(c.layers), c.beta}, {optionGamma.Auto(c.layers), c.gamma},
		} {
			if math.Abs(v.got-v.want) > 5e-7 {
				t.Errorf("%d layers: %v, want %v", c.layers, v.got, v.want)
			}
		}
	}
}
