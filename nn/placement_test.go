package nn

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestHybridStar: the first block is pre-norm, the others are hybrid, and q, k and v
// are normalised in all of them.
func TestHybridStar(t *testing.T) {
	star := with(func(c *Config) { c.Placement = Place("hybrid_star") })
	_, _, a := attested(t, star)
	if want := []string{"0 x + F(N1(x))", "1-2 h = N2(x + A(x)); h + M(h)"}; !slices.Equal(a.Placements(), want) {
		t.Errorf("HybridNorm* reads back as %q", a.Placements())
	}
	for l, b := range a.Blocks {
		var names []string
		for _, n := range b.Norms {
			names = append(names, n.Name)
		}
		want := "norm2 attn.q_norm attn.k_norm attn.v_norm"
		if l == 0 {
			want = "norm1 " + want
		}
		if got := strings.Join(names, " "); got != want || !b.AsConfigured {
			t.Errorf("block %d has the norms %s, want %s", l, got, want)
		}
	}

	first := PlacementConfig{Kind: "pre", QKVNorm: Yes}
	list := with(func(c *Config) { c.Placement = append(PlacementList{first}, slices.Repeat(Place("hybrid"), 2)...) })
	sameModel(t, "hybrid_star is a list of pre and hybrid", list, star, none)
	formula := with(func(c *Config) {
		c.Placement = append(PlacementList{{Kind: "x + F(N1(x))", QKVNorm: Yes}},
			slices.Repeat(PlacementList{{Kind: "h = N2(x + A(x)); h + M(h)", QKVNorm: Yes}}, 2)...)
	})
	sameModel(t, "formulas can say it too", formula, star, none)
	off := with(func(c *Config) { c.Placement = PlacementList{{Kind: "hybrid_star", QKVNorm: No}} })
	sameModel(t, "without q, k and v", with(func(c *Config) {
		c.Placement = append(Place("pre"), slices.Repeat(Place("hybrid"), 2)...)
		c.Placement[1].QKVNorm, c.Placement[2].QKVNorm = No, No
	}), off, none)
}

// TestNormsWithinSubLayers: the flags of a placement turn its own norms on and off.
func TestNormsWithinSubLayers(t *testing.T) {
	flags := func(kind string, qkv, inner AutoBool) Config {
		return with(func(c *Config) { c.Placement = PlacementList{{Kind: kind, QKVNorm: qkv, InnerNorm: inner}} })
	}
	gamma := PlacementList{{Kind: "subln", Options: map[string]float64{"gamma": 1}}}
	sameModel(t, "pre with inner norms is subln", with(func(c *Config) { c.Placement = gamma }), flags("pre", Auto, Yes), none)
	sameModel(t, "subln without inner norms is pre", flags("pre", Auto, Auto), flags("subln", No, No), none)
	sameModel(t, "hybrid states what it is", flags("hybrid", Auto, Auto), flags("hybrid", Yes, No), none)
	sameModel(t, "mix passes flags on", flags("mix", Yes, Yes), with(func(c *Config) {
		c.Placement = slices.Concat(Place("post"), Place("pre"), Place("pre"))
		for l := range c.Placement {
			c.Placement[l].QKVNorm, c.Placement[l].InnerNorm = Yes, Yes
		}
		c.FinalNorm = Yes
	}), none)
}

// TestFlagsOfPlacements: what is read comes back, and a resolved configuration has one
// form.
func TestFlagsOfPlacements(t *testing.T) {
	for _, c := range []struct {
		in       any
		resolved any // of 3 layers
		err      string
	}{
		{in: map[string]any{"kind": "pre", "qkv_norm": true}, resolved: map[string]any{"kind": "pre", "qkv_norm": true}},
		{in: map[string]any{"kind": "pre", "qkv_norm": false, "inner_norm": "auto"}, resolved: "pre"},
		{in: map[string]any{"kind": "hybrid", "qkv_norm": true}, resolved: "hybrid"},
		{in: map[string]any{"kind": "hybrid", "qkv_norm": false}, resolved: map[string]any{"kind": "hybrid", "qkv_norm": false}},
		{in: map[string]any{"kind": "subln", "inner_norm": false, "gamma": 2.0}, resolved: map[string]any{"kind": "subln", "inner_norm": false, "gamma": 2.0}},
		{in: map[string]any{"kind": "x + N1(F(x))", "inner_norm": true}, resolved: map[string]any{"kind": "x + N1(F(x))", "inner_norm": true}},
		{in: map[string]any{"kind": "hybrid_star", "qkv_norm": true}, resolved: "hybrid_star"},
		{in: map[string]any{"kind": "pre", "qkv_norm": int64(1)}, err: "qkv_norm: 1: allowed: auto, true, false"},
		{in: map[string]any{"kind": "pre", "k_norm": true}, err: "k_norm: not a key here; allowed: qkv_norm, inner_norm"},
	} {
		cfg := tiny()
		err := cfg.Placement.FromConfig(c.in)
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
		var again PlacementList
		if err := again.FromConfig(cfg.Placement.ConfigValue()); err != nil || !reflect.DeepEqual(again, cfg.Placement) {
			t.Errorf("%v reads back as %v (%v)", c.in, again, err)
		}
		r, err := cfg.Resolve(0)
		if err != nil || !reflect.DeepEqual(r.Placement.ConfigValue(), c.resolved) {
			t.Errorf("%v resolves to %v (%v), want %v", c.in, r.Placement.ConfigValue(), err, c.resolved)
		}
	}
	cfg := with(func(c *Config) { c.Norm.Kind, c.Placement[0].InnerNorm = "none", Yes })
	if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), "placement.inner_norm: true, but norm.kind none") {
		t.Errorf("inner norms of no kind: %v", err)
	}
	cfg = with(func(c *Config) { c.Placement = slices.Repeat(Place("hybrid_star"), 3) })
	if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), "placement[0]: hybrid_star is about all blocks") {
		t.Errorf("a list of placements of all blocks: %v", err)
	}
}
