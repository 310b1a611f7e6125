package config_test

import (
	"reflect"
	"strings"
	"testing"

	"ablate/experiments/config"
)

func TestDefaults(t *testing.T) {
	got := decode(t, "train: {steps: 10}")
	want := Root{
		Seed: Seed{1, 1},
		Model: Model{Layers: 4, DModel: 128, Heads: 4, Act: "gelu", Tied: true,
			Norm: Norm{Kind: "layernorm", Eps: 1e-5}, Position: Position{Kind: "rope", Base: 500, Max: 128}},
		Train: Train{Steps: 10, LR: 1e-3, Betas: [2]float64{0.9, 0.95}, Batch: 8, Tokens: 65536, Rates: []float64{}, Show: []string{"loss"}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// TestUntouched: a key without default keeps the value that the struct has, and a
// failed decoding changes nothing.
func TestUntouched(t *testing.T) {
	r := Root{Name: "kept", Stray: 7, Train: Train{Steps: 3, Marks: []int{1}}}
	if err := config.Decode(parse(t, "salt: x"), &r); err != nil {
		t.Fatal(err)
	}
	if r.Name != "kept" || r.Stray != 7 || r.Train.Steps != 3 || len(r.Train.Marks) != 1 || r.Salt != "x" {
		t.Errorf("%+v", r)
	}
	before := r
	if config.Decode(parse(t, "name: other\nmodel: {heads: 6}"), &r) == nil {
		t.Fatal("heads: 6 passes")
	}
	if !reflect.DeepEqual(r, before) {
		t.Errorf("changed by a failure: %+v", r)
	}
}

// TestNumbersEverywhere: 1e-4 is a number in typed and untyped values and in lists.
func TestNumbersEverywhere(t *testing.T) {
	r := decode(t, `
train: {steps: 1, lr: 1e-4, rates: [1e-4, 3E-4, 1, -0, 2.5e+3], batch: 18446744073709551615}
note: [1e-4, 3, -0.5, text, "1e-4", true, {deep: 1e-3}]
axes: {train.lr: [1e-4, 3e-4]}
`)
	if want := []float64{1e-4, 3e-4, 1, 0, 2500}; r.Train.LR != 1e-4 || !reflect.DeepEqual(r.Train.Rates, want) || r.Train.Batch != 1<<64-1 {
		t.Errorf("%+v", r.Train)
	}
	if want := []any{1e-4, int64(3), -0.5, "text", "1e-4", true, map[string]any{"deep": 1e-3}}; !reflect.DeepEqual(r.Note, want) {
		t.Errorf("%#v", r.Note)
	}
	axes := r.Axes.Entries()
	if len(axes) != 1 || axes[0].Key != "train.lr" || !reflect.DeepEqual(axes[0].Value.Value(), []any{1e-4, 3e-4}) {
		t.Errorf("%#v", axes)
	}
}

// TestLayers: what a later layer does to an earlier one.
func TestLayers(t *testing.T) {
	base := "train: {steps: 1}\nmodel: {norm: {kind: layernorm, eps: 1e-6, bias: true}, position: {kind: rope, base: 7}, blocks: [none], d_ff: 8}"
	for _, c := range []struct {
		args string
		want func(*Model)
	}{
		{"model.layers=2", func(m *Model) { m.Layers = 2 }},
		{"model={layers: 2}", func(m *Model) { m.Layers = 2 }},
		{"model.norm.eps=1e-3", func(m *Model) { m.Norm.Eps = 1e-3 }},
		{"model.norm={eps: 1e-3}", func(m *Model) { m.Norm.Eps = 1e-3 }},
		// naming a kind states a whole variant, the same kind included
		{"model.norm=rmsnorm", func(m *Model) { m.Norm = Norm{Kind: "rmsnorm", Eps: 1e-5} }},
		{"model.norm.kind=rmsnorm", func(m *Model) { m.Norm = Norm{Kind: "rmsnorm", Eps: 1e-5} }},
		{"model.norm={kind: layernorm}", func(m *Model) { m.Norm = Norm{Kind: "layernorm", Eps: 1e-5} }},
		{"model.norm=rmsnorm model.norm.eps=1e-2", func(m *Model) { m.Norm = Norm{Kind: "rmsnorm", Eps: 1e-2} }},
		{"model.norm.eps=1e-2 model.norm=rmsnorm", func(m *Model) { m.Norm = Norm{Kind: "rmsnorm", Eps: 1e-2} }},
		{"model.position=learned", func(m *Model) { m.Position = Position{"learned", 10000, 128} }},
		{"model.position.base=9", func(m *Model) { m.Position.Base = 9 }},
		{"model.blocks=[rmsnorm,none]", func(m *Model) { m.Blocks = []Norm{{"rmsnorm", 1e-5, false}, {"none", 1e-5, false}} }},
		{"model.d_ff=auto", func(m *Model) { m.DFF = Auto{} }},
	} {
		want := decode(t, base).Model
		c.want(&want)
		if got := decode(t, base, splitArgs(c.args)...).Model; !reflect.DeepEqual(got, want) {
			t.Errorf("%s\n got %+v\nwant %+v", c.args, got, want)
		}
	}
}

// splitArgs splits at spaces before a key.
func splitArgs(s string) []string {
	return strings.Split(strings.ReplaceAll(s, " model", "\nmodel"), "\n")
}

// TestShortForms: keys laid over a scalar.
func TestShortForms(t *testing.T) {
	r := decode(t, "seed: 3\nmodel: {norm: rmsnorm}\ntrain: {steps: 1}", "seed.data=5", "model.norm.eps=1e-2")
	if r.Seed != (Seed{3, 5}) || r.Model.Norm != (Norm{"rmsnorm", 1e-2, false}) {
		t.Errorf("%+v %+v", r.Seed, r.Model.Norm)
	}
	got := failure(t, "model: 3\ntrain: {steps: 1}", "model.layers=2")
	if want := "tiny.yaml:1:8: model: 3: not a mapping; allowed keys: layers, d_model, heads, d_ff, dropout, activation, norm, position, blocks, tied"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	got = failure(t, "seed: auto\ntrain: {steps: 1}", "seed.data=5")
	if want := "tiny.yaml:1:7: seed.kind: not an integer"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// TestPositionsSurvive: after merging, every problem points at the layer it is from.
func TestPositionsSurvive(t *testing.T) {
	preset, _ := config.ParseFile("preset.yaml", []byte("model:\n  d_model: 130\n  norm: {kind: none, eps: 1}\n"))
	base, _ := config.ParseFile("exp.yaml", []byte("base:\n  model:\n    dropout: 2\n  train:\n    steps: 1\n    lr: 1_0\n"))
	var axis config.Tree
	axis.Set("model.activation", base.Get("base.model.dropout"))
	args, err := config.ParseArgs([]string{"model.layers=0"})
	if err != nil {
		t.Fatal(err)
	}
	err = config.Decode(config.Merge(preset.Implicit(), base.Get("base"), &axis, nil, args), &Root{})
	want := `exp.yaml:2:3: model.heads: 4 does not divide d_model 130
exp.yaml:3:14: model.dropout: 2: out of range; allowed: in [0, 1)
exp.yaml:3:14: model.activation: 2: unknown; allowed: relu, gelu, swiglu
exp.yaml:6:9: train.lr: 1_0: not a number as in JSON (decimal, no leading zero, plus, underscore or bare point); quote it if it is text
model.layers=0: out of range; allowed: in [1, 512]`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func TestOverrides(t *testing.T) {
	file := parse(t, "base:\n  train: {steps: 9, lr: 1}\nquick:\n  name: q\n  train.steps: 200\n  train: {lr: 1e-2}\n")
	r := Root{}
	if err := config.Decode(config.Merge(file.Get("base"), config.Overrides(file.Get("quick"))), &r); err != nil {
		t.Fatal(err)
	}
	if r.Name != "q" || r.Train.Steps != 200 || r.Train.LR != 1e-2 {
		t.Errorf("%+v", r)
	}
	for _, c := range []struct{ quick, want string }{
		{"train.steps: 2\ntrain: {steps: 3}", "tiny.yaml:2:16: train.steps: given twice, first in tiny.yaml:1:14"},
		{"train..steps: 2", "tiny.yaml:1:1: train..steps: empty key in the path"},
		{"model.norm: none\nmodel.norm.kind: none", "tiny.yaml:2:18: model.norm.kind: given twice, first in tiny.yaml:1:13"},
	} {
		if err := config.Overrides(parse(t, c.quick)).Err(); err == nil || err.Error() != c.want {
			t.Errorf("got %v\nwant %s", err, c.want)
		}
	}
}

func TestTree(t *testing.T) {
	tree := parse(t, "model:\n  norm: {kind: none, eps: 010}\n  blocks: [a, {b: 1}]\naxes:\n  model.norm: [x]\n")
	for path, want := range map[string]any{
		"model.norm.kind":   "none",
		"model.blocks[1]":   map[string]any{"b": int64(1)},
		"model.blocks[1].b": int64(1),
		"axes.model.norm":   []any{"x"},
	} {
		if sub := tree.Get(path); sub == nil || !reflect.DeepEqual(sub.Value(), want) {
			t.Errorf("%s: %#v, want %#v", path, sub.Value(), want)
		}
	}
	for _, path := range []string{"model.nor", "model.norm.kind.x", "model.blocks[2]", "model.blocks.0", "x"} {
		if tree.Get(path) != nil {
			t.Errorf("%s is there", path)
		}
	}
	if err := tree.Get("model.norm").Err(); err == nil || !strings.HasPrefix(err.Error(), "tiny.yaml:2:27: eps: 010:") {
		t.Errorf("the part loses its problem: %v", err)
	}
	if err := tree.Get("model.blocks").Err(); err != nil {
		t.Errorf("the part has a problem of another: %v", err)
	}
	if items, ok := tree.Get("model.blocks").Items(); !ok || len(items) != 2 || items[1].Pos() != (config.Pos{Source: "tiny.yaml", Line: 3, Col: 15}) {
		t.Errorf("%v %v", items, ok)
	}
	if err := tree.Errorf("axes.model.norm", "bad %d", 1); err.Error() != "tiny.yaml:5:15: axes.model.norm: bad 1" {
		t.Error(err)
	}
	before := string(tree.YAML())
	changed := config.Merge(tree)
	if !changed.Delete("model.blocks") || changed.Delete("model.blocks") || changed.Delete("model.norm.kind.x") || changed.Get("model.blocks") != nil {
		t.Error("Delete")
	}
	changed.Set("model.norm.eps", 2)
	changed.Set("new.list", []float64{1e-4})
	if string(tree.YAML()) != before {
		t.Error("changing a merged tree changes its source")
	}
	if got, want := string(changed.YAML()), "model:\n  norm:\n    kind: none\n    eps: 2\naxes:\n  model.norm: [x]\nnew:\n  list: [0.0001]\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestFromMap(t *testing.T) {
	tree := config.FromMap("preset x", map[string]any{"name": "n", "train": map[string]any{"steps": 5, "betas": []any{0.5, 0.25}, "lr": float32(0.1)}})
	var r Root
	if err := config.Decode(tree, &r); err != nil || r.Train.Steps != 5 || r.Train.Betas != [2]float64{0.5, 0.25} || r.Train.LR != 0.1 {
		t.Errorf("%+v %v", r, err)
	}
	err := config.Decode(config.FromMap("preset x", map[string]any{"train": map[string]any{"steps": 0.5, "lr": nil, "marks": []any{nil}}, "note": make(chan int)}), &r)
	want := `preset x: note: a chan int; not a value of a configuration
preset x: train.lr: no value
preset x: train.marks[0]: no value
preset x: train.steps: 0.5: not an integer; allowed: >= 1`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}
