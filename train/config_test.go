package train

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func TestConfigValidates(t *testing.T) {
	if err := testConfig().Validate(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		want   string
		change func(*Config)
	}{
		{"steps: 0 is below 1", func(c *Config) { c.Steps = 0 }},
		{"batch: -1 is below 1", func(c *Config) { c.Batch = -1 }},
		{"accumulate: 0 is below 1", func(c *Config) { c.Accumulate = 0 }},
		{"lr: -0.1 is no positive number", func(c *Config) { c.LR = -0.1 }},
		{"lr: NaN is no positive number", func(c *Config) { c.LR = math.NaN() }},
		{"betas: number 2, 1, is not in [0, 1)", func(c *Config) { c.Betas[1] = 1 }},
		{"eps: 0 is no positive number", func(c *Config) { c.Eps = 0 }},
		{"weight_decay: +Inf is not a number of at least 0", func(c *Config) { c.WeightDecay = math.Inf(1) }},
		{"weight_decay: 20 times lr 0.05 is not below 1: a step would turn the weights over", func(c *Config) { c.WeightDecay = 20 }},
		{"clip: -1 is neither a positive number nor none", func(c *Config) { c.Clip = -1 }},
		{"warmup: -3 is neither a number of steps nor a share below 1", func(c *Config) { c.Warmup.Steps = -3 }},
		{"min_lr: 1.5 is not in [0, 1]", func(c *Config) { c.MinLR = 1.5 }},
		{`schedule: "cosin" is unknown; known are cosine, constant, wsd`, func(c *Config) { c.Schedule = "cosin" }},
		{`optimizer: "adam" is unknown; known are adamw, sgd`, func(c *Config) { c.Optimizer = "adam" }},
		{"momentum: 1 is not in [0, 1)", func(c *Config) { c.Optimizer, c.Momentum = "sgd", 1 }},
		{"eval_every: -1 is below 0", func(c *Config) { c.EvalEvery = -1 }},
		{"eval_tokens: -1 is below 0", func(c *Config) { c.EvalTokens = -1 }},
		{"checkpoint_every: -1 is below 0", func(c *Config) { c.CheckpointEvery = -1 }},
	} {
		cfg := testConfig()
		c.change(&cfg)
		if err := cfg.Validate(); err == nil || !slices.Contains(strings.Split(err.Error(), "\n"), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
	both := testConfig()
	both.Steps, both.LR = 0, 0
	if err := both.Validate(); err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("two faults give %v", err)
	}
}

func TestUnread(t *testing.T) {
	for _, c := range []struct {
		optimizer OptimizerName
		schedule  ScheduleName
		want      []string
	}{
		{"adamw", "cosine", []string{"momentum"}},
		{"adamw", "constant", []string{"momentum", "min_lr"}},
		{"sgd", "wsd", []string{"betas", "eps"}},
		{"nadam", "wsd", nil},
	} {
		cfg := Config{Optimizer: c.optimizer, Schedule: c.schedule}
		if got := cfg.Unread(); !slices.Equal(got, c.want) {
			t.Errorf("%s with %s does not read %v, want %v", c.optimizer, c.schedule, got, c.want)
		}
	}
	sgd := testConfig()
	sgd.Optimizer, sgd.Betas, sgd.Eps = "sgd", [2]float64{7, 7}, -1
	if err := sgd.Validate(); err != nil {
		t.Errorf("values that SGD does not read: %v", err)
	}
}

func TestClipFromConfig(t *testing.T) {
	for _, c := range []struct {
		in   any
		want Clip
		back any
	}{
		{1.0, 1, 1.0}, {int64(2), 2, 2.0}, {0.25, 0.25, 0.25}, {"none", 0, "none"},
	} {
		got := Clip(7)
		if err := got.FromConfig(c.in); err != nil || got != c.want || got.ConfigValue() != c.back {
			t.Errorf("%v: %v, %v, back %v", c.in, got, err, got.ConfigValue())
		}
	}
	for _, in := range []any{nil, int64(0), -1.0, math.NaN(), "None", true, []any{1.0}} {
		got := Clip(7)
		if err := got.FromConfig(in); err == nil || got != 7 {
			t.Errorf("%v: %v, %v", in, got, err)
		}
	}
}

func TestWarmupFromConfig(t *testing.T) {
	for _, c := range []struct {
		in    any
		of300 int
		back  any
	}{
		{int64(0), 0, int64(0)}, {int64(30), 30, int64(30)}, {0.1, 30, 0.1}, {0.001, 0, 0.001}, {0.0017, 1, 0.0017}, {int64(500), 500, int64(500)},
	} {
		var got Warmup
		if err := got.FromConfig(c.in); err != nil || got.Of(300) != c.of300 || got.ConfigValue() != c.back {
			t.Errorf("%v: %v steps of 300, back %v, %v", c.in, got.Of(300), got.ConfigValue(), err)
		}
	}
	for _, in := range []any{nil, int64(-1), 1.0, 1.5, -0.1, 0.0, math.NaN(), "30", int64(1) << 40} {
		got := Warmup{Steps: 7}
		if err := got.FromConfig(in); err == nil || got != (Warmup{Steps: 7}) {
			t.Errorf("%v: %v, %v", in, got, err)
		}
	}
}
