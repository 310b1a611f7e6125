package nn

import (
	"strings"
	"testing"
)

// TestSlopesOfDyT: three slopes go to the norms of attention, of FFN and outside.
func TestSlopesOfDyT(t *testing.T) {
	c := with(func(c *Config) {
		c.Norm.Kind, c.Norm.Alpha, c.Placement, c.Embedding.Norm = "dyt", Slopes{.8, .2, .1}, Place("sandwich"), Yes
	})
	r := newRunner[float64](t, c, 1, 1)
	r.params.Init(1, "")
	for name, want := range map[string]float64{
		"block.0.norm1": .8, "block.2.norm1_post": .8, "block.0.norm2": .2, "block.1.norm2_post": .2, "norm": .1, "embed.norm": .1,
	} {
		if got := r.params.Value(name + ".alpha")[0]; got != want {
			t.Errorf("the slope of %s starts at %v, want %v", name, got, want)
		}
	}
	inner := newRunner[float64](t, with(func(c *Config) { c.Norm.Kind, c.Norm.Alpha, c.Placement = "dyt", Slopes{.8, .2, .1}, Place("subln") }), 1, 1)
	inner.params.Init(1, "")
	if a, f := inner.params.Value("block.0.attn.inner_norm.alpha")[0], inner.params.Value("block.0.ffn.inner_norm.alpha")[0]; a != .8 || f != .2 {
		t.Errorf("the inner slopes start at %v and %v", a, f)
	}
}

func TestSlopesAreChecked(t *testing.T) {
	for _, c := range []struct {
		v    any
		want string
	}{
		{0.3, ""}, {int64(1), ""}, {[]any{0.8, 0.2, int64(1)}, ""},
		{int64(0), "not a number above 0"}, {[]any{0.8, 0.2}, "three"}, {"x", "not a number above 0"}, {[]any{}, "empty"},
	} {
		var s Slopes
		err := s.FromConfig(c.v)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v: %v, want %q", c.v, err, c.want)
		}
	}
	if err := with(func(c *Config) { c.Norm.Alpha = Slopes{-1} }).Validate(); err == nil || !strings.Contains(err.Error(), "norm.alpha") {
		t.Errorf("a slope below 0: %v", err)
	}
}
