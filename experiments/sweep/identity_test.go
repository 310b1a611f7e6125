package sweep

import (
	"slices"
	"strings"
	"testing"

	"ablate/experiments/config"
	"ablate/experiments/results"
)

func cell(t *testing.T, lines ...string) *Cell {
	t.Helper()
	tree, err := config.ParseFile("run.yaml", []byte(`
model: {layers: 1, d_model: 16, heads: 2, context: 16}
data: {source: text, path: testdata/text.txt}
train: {steps: 4, batch: 2}
`))
	if err != nil {
		t.Fatal(err)
	}
	over, err := config.ParseArgs(lines)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Single(tree, over)
	if err != nil {
		t.Fatal(err)
	}
	return p.Cells[0]
}

// TestIdentityIsStable pins an identity: if it changes, no finished run of any user
// is found again. A new key of the configuration changes it, and so does another
// default; then the changelog says so.
func TestIdentityIsStable(t *testing.T) {
	const want = "bcd8dd51ab9b"
	c := cell(t)
	if c.ID != want || !results.ValidID(c.ID) || !strings.HasPrefix(c.Hash, c.ID) {
		t.Errorf("the identity is %s, was %s; it covers\n%s", c.ID, want, config.Canonical(c.Config.essence(c.corpus.Hash)))
	}
}

func TestWhatIdentityCovers(t *testing.T) {
	id := cell(t).ID
	for _, arg := range []string{"name=other", "probe.every=3", "probe.params=true", "train.eval_every=7", "train.eval_tokens=99", "train.checkpoint_every=5", "train.recompute=block",
		"data.path=./testdata/text.txt", "seed={init: 1, data: 1}", "model.d_ff=auto", "model.vocab=256", "model.kv_heads=2", "train.lr=0.001",
		"train.multipliers={lr: {embedding: 1}}", "model.init.multipliers={ffn: 1}", "model.init.zero_out=false", "model.parametrization=standard",
		"model.embedding.learn_scale=false", "model.placement={kind: pre, qkv_norm: false, inner_norm: auto}"} {
		if got := cell(t, arg).ID; got != id {
			t.Errorf("%s makes another run", arg)
		}
	}
	seen := []string{id}
	for _, arg := range []string{"seed=2", "seed={init: 1, data: 2}", "seed={init: 2, data: 1}", "salt=a", "model.layers=2", "model.norm=layernorm", "model.d_ff=9",
		"model.init=xavier", "data.validation=0.2", "train.steps=5", "train.lr=0.002", "train.clip=none", "train.accumulate=2", "train.warmup=3", "train.optimizer=sgd", "train.on_nonfinite=skip",
		"model.init.zero_out=true", "model.init.multipliers.ffn=2", "model.parametrization=mup", "train.multipliers.lr.embedding=10", "train.multipliers.weight_decay={embedding: 10}",
		"model.embedding.learn_scale=true", "model.norm=rmsnorm_plain", "model.placement={kind: pre, qkv_norm: true}", "model={placement: {kind: pre, qkv_norm: true}, attention: {qk_norm_gain: false}}"} {
		got := cell(t, arg).ID
		if slices.Contains(seen, got) {
			t.Errorf("%s makes the same run as another", arg)
		}
		seen = append(seen, got)
	}
}

// TestLaterKeyOfPositions: the deviation of the position table came late too, and is
// read only where there is such a table.
func TestLaterKeyOfPositions(t *testing.T) {
	auto, same, twice := cell(t, "model.position=learned"), cell(t, "model.position=learned", "model.init.position_std=0.01"), cell(t, "model.position=learned", "model.init.position_std=0.02")
	if auto.ID != "d054b5f842ab" || same.ID != auto.ID || twice.ID == auto.ID {
		t.Errorf("%s by its kind, %s at 0.01, %s at 0.02", auto.ID, same.ID, twice.ID)
	}
}

// TestCycleIsItsList: a cycle makes the run that the list makes that it means, and stands
// in no configuration that a run leaves.
func TestCycleIsItsList(t *testing.T) {
	for _, c := range [][2]string{
		{"model.attention.window={repeat: [4, 0]}", "model.attention.window=[4, 0, 4]"},
		{"model.placement={repeat: [post, {kind: deepnorm, alpha: 2}]}", "model.placement=[post, {kind: deepnorm, alpha: 2}, post]"},
		{"model.position={repeat: [{kind: rope, base: 100}, none]}", "model.position=[{kind: rope, base: 100}, none, {kind: rope, base: 100}]"},
		{"model.attention.window={repeat: [4, 0, 2, 1, 7]}", "model.attention.window=[4, 0, 2]"},
	} {
		cycle, list := cell(t, "model.layers=3", c[0]), cell(t, "model.layers=3", c[1])
		if cycle.ID != list.ID || cycle.ID == cell(t, "model.layers=3").ID || strings.Contains(string(config.Encode(cycle.Config).YAML()), "repeat") {
			t.Errorf("%s is %s, %s is %s:\n%s", c[0], cycle.ID, c[1], list.ID, config.Encode(cycle.Config).YAML())
		}
	}
}

func TestSeed(t *testing.T) {
	for _, c := range []struct {
		value any
		want  Seed
		ok    bool
	}{
		{int64(0), Seed{}, true},
		{int64(7), Seed{7, 7}, true},
		{map[string]any{"init": int64(1), "data": int64(2)}, Seed{1, 2}, true},
		{int64(-1), Seed{}, false},
		{1.5, Seed{}, false},
		{"1", Seed{}, false},
		{nil, Seed{}, false},
		{map[string]any{"init": int64(1)}, Seed{}, false},
		{map[string]any{"init": int64(1), "data": int64(-2)}, Seed{}, false},
		{map[string]any{"init": int64(1), "data": int64(2), "x": int64(3)}, Seed{}, false},
	} {
		var s Seed
		if err := s.FromConfig(c.value); (err == nil) != c.ok || s != c.want {
			t.Errorf("%v gives %v, %v", c.value, s, err)
		}
		if !c.ok {
			continue
		}
		var again Seed
		if err := again.FromConfig(s.ConfigValue()); err != nil || again != s {
			t.Errorf("%v is written as %v and read as %v", s, s.ConfigValue(), again)
		}
	}
}
