package train

import (
	"math"
	"strings"
	"testing"

	"ablate/graph"
)

// TestMultipliersOfOne: factors of 1 are the bytes of none, for every optimizer.
func TestMultipliersOfOne(t *testing.T) {
	for _, o := range Optimizers[float32]() {
		run := func(change func(c *Config)) []float32 {
			m := newTestModel[float32](t, 4, 3, 2)
			m.Params.Init(1, "")
			cfg := testConfig()
			change(&cfg)
			f := newFlat(m, o, cfg)
			for i := range 3 {
				for k := range f.vec.Grads {
					f.vec.Grads[k] = float32(math.Sin(float64(k + i)))
				}
				f.update(i+1, 0.037, 0.7, i == 1)
			}
			return m.Params.Values()
		}
		plain := run(func(*Config) {})
		ones := run(func(c *Config) {
			c.Multipliers = Multipliers{LR: graph.RoleFactors{"embedding": 1, "head": 1}, WeightDecay: graph.RoleFactors{"embedding": 1}}
		})
		other := run(func(c *Config) { c.Multipliers.LR = graph.RoleFactors{"embedding": 0.5} })
		differing := 0
		for i := range plain {
			if plain[i] != ones[i] {
				t.Fatalf("%s: element %d is %v, with factors of 1 %v", o.Name, i, plain[i], ones[i])
			}
			if plain[i] != other[i] {
				differing++
			}
		}
		if differing == 0 {
			t.Errorf("%s: a factor of 0.5 changes nothing", o.Name)
		}
	}
}

// TestUpdateIsTheRateTimesItsFactor: the first update of AdamW has the size lr times
// the factors of the role and of the parameter itself; decay has its own factor.
func TestUpdateIsTheRateTimesItsFactor(t *testing.T) {
	const lr = 0.01
	m := newTestModel[float64](t, 4, 3, 2)
	m.Params.Init(1, "")
	for _, s := range m.Params.Specs() {
		if s.Role == "head" {
			s.LR = 0.25
		}
	}
	cfg := testConfig()
	cfg.Multipliers = Multipliers{LR: graph.RoleFactors{"embedding": 10, "head": 2}, WeightDecay: graph.RoleFactors{"head": 3, "embedding": 0}}
	o, _ := lookupOptimizer[float64]("adamw")
	f := newFlat(m, o, cfg)
	before := as[float64](m.Params.Values())
	for k := range f.vec.Grads {
		f.vec.Grads[k] = 1 + float64(k%3)
	}
	f.update(1, lr, 1, false)
	for _, s := range m.Params.Specs() {
		rate := map[string]float64{"embedding": 10, "head": 0.5}[s.Role]
		decay := map[string]float64{"embedding": 0, "head": 3}[s.Role]
		if rate == 0 {
			rate = 1
		}
		from, to := m.Params.Span(s.Name)
		for i := from; i < to; i++ {
			kept := before[i] * (1 - lr*rate*decay*cfg.WeightDecay)
			if s.Role != "head" && s.Role != "embedding" && s.Decay {
				kept = before[i] * (1 - lr*cfg.WeightDecay)
			}
			if step := kept - m.Params.Values()[i]; math.Abs(step/(lr*rate)-1) > 1e-6 {
				t.Fatalf("%s: a step of %v, want %v", s.Name, step, lr*rate)
			}
		}
	}
}

func TestRoleFactors(t *testing.T) {
	for _, c := range []struct {
		value any
		of    float64 // of ffn
		err   string
	}{
		{nil, 1, ""},
		{map[string]any{}, 1, ""},
		{map[string]any{"ffn": int64(3)}, 3, ""},
		{map[string]any{"ffn": 0.0, "norm": 2.5}, 0, ""},
		{map[string]any{"ffn": int64(1)}, 1, ""},
		{map[string]any{"ffm": int64(1)}, 1, "ffm: no role of a parameter; roles are embedding, position_bias, attention, ffn, norm, residual_scale, head"},
		{map[string]any{"ffn": -1.0}, 1, "ffn: -1 is no number of at least 0"},
		{map[string]any{"ffn": "1"}, 1, "ffn: not a number"},
		{2.5, 1, "allowed: a mapping from roles"},
	} {
		var f graph.RoleFactors
		err := f.FromConfig(c.value)
		if (err == nil) != (c.err == "") || err != nil && !strings.HasPrefix(err.Error(), c.err) {
			t.Errorf("%v gives the error %v, want %q", c.value, err, c.err)
		}
		if err != nil {
			continue
		}
		if got := f.Of("ffn"); got != c.of || f.Of("head") != 1 {
			t.Errorf("%v gives %v for ffn, want %v", c.value, got, c.of)
		}
		var again graph.RoleFactors
		if err := again.FromConfig(f.ConfigValue()); err != nil || again.Of("ffn") != c.of {
			t.Errorf("%v is written as %v", c.value, f.ConfigValue())
		}
	}
}

// TestFactorsThatDoNothing: a role that the model has not, or whose parameters do
// not decay, is refused.
func TestFactorsThatDoNothing(t *testing.T) {
	specs := newTestModel[float64](t, 4, 3, 2).Params.Specs()
	for _, c := range []struct {
		m   Multipliers
		err string
	}{
		{Multipliers{LR: graph.RoleFactors{"embedding": 2, "head": 0}, WeightDecay: graph.RoleFactors{"head": 0}}, ""},
		{Multipliers{LR: graph.RoleFactors{"residual_scale": 2}}, "lr.residual_scale: this model has no parameter of that role"},
		{Multipliers{WeightDecay: graph.RoleFactors{"position_bias": 2}}, "weight_decay.position_bias: this model has no parameter of that role that decays"},
	} {
		if err := c.m.Check(specs); (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
			t.Errorf("%v: %v, want %q", c.m, err, c.err)
		}
	}
}

// TestGroups: every parameter is in one group, with the factors it is updated with.
func TestGroups(t *testing.T) {
	specs := newTestModel[float64](t, 4, 3, 2).Params.Specs()
	cfg := testConfig()
	cfg.Multipliers.LR = graph.RoleFactors{"embedding": 10}
	tensors, found := 0, false
	for _, g := range cfg.Groups(specs) {
		tensors += g.Tensors
		if len(g.Roles) == 1 && g.Roles[0] == "embedding" {
			found = g.LR == 10 && g.Decay == 1
		}
	}
	if tensors != len(specs) || !found {
		t.Errorf("groups %+v of %d parameters", cfg.Groups(specs), len(specs))
	}
}
