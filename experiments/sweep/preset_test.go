package sweep

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ablate/experiments/config"
	"ablate/nn/presets"
)

// TestPresetIsLowest: preset < base < axis < command line.
func TestPresetIsLowest(t *testing.T) {
	e, err := Parse("e.yaml", []byte(`
name: e
base: {model: {preset: gemma1-tiny, heads: 8, d_ff: 40, norm: {eps: 1e-3}}, data: {source: text, path: testdata/text.txt}}
axes:
  model.preset: [gpt2-tiny, llama3-8b-tiny]
  model.d_ff: [48, 56]
`))
	if err != nil {
		t.Fatal(err)
	}
	over, err := config.ParseArgs([]string{"model.layers=2", "model.norm.eps=1e-2"})
	if err != nil {
		t.Fatal(err)
	}
	if e, err = e.With("full", over); err != nil {
		t.Fatal(err)
	}
	p, err := e.Plan(&Corpora{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range p.Cells {
		m := c.Config.Model
		if m.Layers != 2 || m.Heads != 8 || m.Norm.Eps != 1e-2 || m.DModel != 64 {
			t.Errorf("%s: %+v", c.Label, m)
		}
		got = append(got, string(m.Norm.Kind)+" "+string(m.Activation)+" "+string(config.Canonical(map[string]any{"d_ff": int64(m.DFF)})))
	}
	want := []string{`layernorm gelu_tanh {"d_ff":48}`, `layernorm gelu_tanh {"d_ff":56}`, `rmsnorm swiglu {"d_ff":48}`, `rmsnorm swiglu {"d_ff":56}`}
	if !slices.Equal(got, want) {
		t.Errorf("the cells are %q, want %q", got, want)
	}
}

// TestResolvedPreset: a resolved configuration states everything, so that the same
// run follows from it without the preset.
func TestResolvedPreset(t *testing.T) {
	for _, name := range []string{"gemma3-tiny", "t5-tiny", "mixln-tiny", "dyt-tiny"} {
		args := []string{"model.preset=" + name, "data={source: text, path: testdata/text.txt}", "train.steps=2", "train.batch=2"}
		tree, err := config.ParseArgs(args)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Single(tree)
		if err != nil {
			t.Fatal(err)
		}
		text := config.Encode(p.Cells[0].Config).YAML()
		again, err := config.ParseFile("config.yaml", text)
		if err != nil {
			t.Fatal(err)
		}
		q, err := Single(again)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte("preset")) || p.Cells[0].Hash != q.Cells[0].Hash {
			t.Errorf("%s is %s, its configuration %s:\n%s", name, p.Cells[0].ID, q.Cells[0].ID, text)
		}
	}
}

// TestPresetsAtOtherDepths: lists of presets follow the number of layers, and are
// replaced as a whole.
func TestPresetsAtOtherDepths(t *testing.T) {
	for _, c := range []struct{ args, windows, bases string }{
		{"model.preset=gemma2-9b model.layers=4", "[4096 0 4096 0]", "[10000]"},
		{"model.preset=gemma2-27b model.layers=3", "[4096 0 4096]", "[10000]"},
		{"model.preset=gemma3-1b model.layers=8", "[512 512 512 512 512 0 512 512]", "[10000 10000 10000 10000 10000 1e+06 10000 10000]"},
		{"model.preset=gemma3-tiny model.layers=2", "[16 16]", "[10000 10000]"},
		{"model.preset=gemma3-tiny model.attention.window=7 model.position={kind: rope, base: 9}", "[7]", "[9]"},
		{"model.preset=gemma3-tiny model.layers=3 model.attention.window={repeat: [5, 6]} model.position={repeat: [{kind: rope, base: 9}]}", "[5 6 5]", "[9 9 9]"},
		{"model.preset=llama1-tiny model.layers=3 model.attention.window=[5, 6, 0] model.position={repeat: [{kind: rope, base: 9}, rope]}", "[5 6 0]", "[9 10000 9]"},
	} {
		tree, err := config.ParseArgs(strings.Split(strings.ReplaceAll(c.args, " model.", "\nmodel."), "\n"))
		if err != nil {
			t.Fatal(err)
		}
		cfg, err := Decode(tree)
		if err != nil {
			t.Fatalf("%s: %v", c.args, err)
		}
		var bases []float64
		for _, p := range cfg.Model.Position {
			bases = append(bases, p.Base)
		}
		if windows := fmt.Sprint([]int(cfg.Model.Attention.Window)); windows != c.windows || fmt.Sprint(bases) != c.bases {
			t.Errorf("%s: windows %s, bases %v", c.args, windows, bases)
		}
	}
}

func TestUnknownPreset(t *testing.T) {
	for arg, want := range map[string]string{
		"model.preset=lama3-8b":   `model.preset=lama3-8b: preset "lama3-8b" is unknown; did you mean llama3-8b?`,
		"model.preset=unheard-of": "`ablate presets` lists them",
		"model.preset=3":          "not the name of a preset",
		"model={preset: [gpt2]}":  "not the name of a preset",
	} {
		tree, err := config.ParseArgs([]string{arg})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Decode(tree); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", arg, err, want)
		}
	}
}

// TestPresetKeyIsDescribed: people and editors see the key that is none of the structs'.
func TestPresetKeyIsDescribed(t *testing.T) {
	i := slices.IndexFunc(ConfigKeys(), func(k config.Key) bool { return k.Path == presetKey })
	if i < 0 || ConfigKeys()[i-1].Path != "model" || len(ConfigKeys()) != len(config.Keys(Config{}))+1 {
		t.Errorf("%s is key %d", presetKey, i)
	}
	var with, without map[string]any
	if err := json.Unmarshal(ConfigSchema("x"), &with); err != nil {
		t.Fatal(err)
	}
	model := with["properties"].(map[string]any)["model"].(map[string]any)["properties"].(map[string]any)
	if names := model["preset"].(map[string]any)["enum"].([]any); len(names) != len(presets.Names()) {
		t.Errorf("%d presets in the schema", len(names))
	}
	delete(model, "preset")
	if err := json.Unmarshal(config.Schema(Config{}, "x"), &without); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(config.Canonical(with), config.Canonical(without)) {
		t.Error("the schema differs in more than the preset")
	}
}
