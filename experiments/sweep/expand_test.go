package sweep

import (
	"fmt"
	"strings"
	"testing"

	"ablate/experiments/config"
)

// tiny is an experiment on the text in testdata; lines are its other keys.
func tiny(lines ...string) string {
	return strings.Join(append([]string{
		"name: tiny",
		"base:",
		"  model: {layers: 1, d_model: 16, heads: 2, context: 16}",
		"  data: {source: text, path: testdata/text.txt}",
		"  train: {steps: 4, batch: 2, eval_tokens: 64}",
	}, lines...), "\n") + "\n"
}

func parse(t *testing.T, text, profile string, args ...string) (*Experiment, error) {
	t.Helper()
	e, err := Parse("tiny.yaml", []byte(text))
	if err != nil {
		return nil, err
	}
	overrides, err := config.ParseArgs(args)
	if err != nil {
		t.Fatal(err)
	}
	return e.With(profile, overrides)
}

func plan(t *testing.T, text, profile string, args ...string) *Plan {
	t.Helper()
	e, err := parse(t, text, profile, args...)
	if err == nil {
		var p *Plan
		if p, err = e.Plan(new(Corpora)); err == nil {
			return p
		}
	}
	t.Fatal(err)
	return nil
}

// rows shows the cells of a plan, a line each.
func rows(p *Plan) (out []string) {
	for _, c := range p.Cells {
		out = append(out, fmt.Sprintf("%s seed %d", c.Label, c.Seed()))
	}
	return out
}

func wantRows(t *testing.T, p *Plan, want ...string) {
	t.Helper()
	if got := strings.Join(rows(p), "\n"); got != strings.Join(want, "\n") {
		t.Errorf("cells are\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	for i, c := range p.Cells {
		if c.Index != i {
			t.Errorf("cell %d has index %d", i, c.Index)
		}
	}
}

func TestOrderOfCells(t *testing.T) {
	p := plan(t, tiny("axes:", "  train.lr: [1e-3, 2e-3]", "  model.layers: [2, 1]", "seeds: [5, 3]"), "full")
	wantRows(t, p,
		"train.lr=0.001, model.layers=2 seed 5", "train.lr=0.001, model.layers=2 seed 3",
		"train.lr=0.001, model.layers=1 seed 5", "train.lr=0.001, model.layers=1 seed 3",
		"train.lr=0.002, model.layers=2 seed 5", "train.lr=0.002, model.layers=2 seed 3",
		"train.lr=0.002, model.layers=1 seed 5", "train.lr=0.002, model.layers=1 seed 3")
	c := p.Cells[3].Config
	if c.Train.LR != 1e-3 || c.Model.Layers != 1 || c.Seed != (Seed{3, 3}) || c.Name != "tiny" {
		t.Errorf("cell 3 is %+v", c)
	}
}

func TestZipAndExcept(t *testing.T) {
	axes := []string{"axes:", "  model.layers: [1, 2, 3]", "  model.norm: [layernorm, rmsnorm]", "  train.lr: [3e-3, 2e-3, 1e-3]"}
	p := plan(t, tiny(append(axes, "zip: [[model.layers, train.lr]]", "except: [{model.layers: [1, 3], model.norm: rmsnorm}]")...), "full")
	wantRows(t, p,
		"model.layers=1, model.norm=layernorm, train.lr=0.003 seed 1",
		"model.layers=2, model.norm=layernorm, train.lr=0.002 seed 1",
		"model.layers=2, model.norm=rmsnorm, train.lr=0.002 seed 1",
		"model.layers=3, model.norm=layernorm, train.lr=0.001 seed 1")

	t.Run("one value of a zipped axis leaves the group", func(t *testing.T) {
		p := plan(t, tiny(append(axes, "zip: [model.layers, train.lr]")...), "full", "train.lr=5e-3", "model.norm=rmsnorm")
		wantRows(t, p,
			"model.layers=1, model.norm=rmsnorm, train.lr=0.005 seed 1",
			"model.layers=2, model.norm=rmsnorm, train.lr=0.005 seed 1",
			"model.layers=3, model.norm=rmsnorm, train.lr=0.005 seed 1")
	})
}

func TestPrecedence(t *testing.T) {
	text := tiny("axes:", "  model.layers: [1, 2]", "  model.norm: [{kind: layernorm, eps: 1e-4}, rmsnorm]", "  train.lr: [1e-3]",
		"seeds: [1, 2, 3]", "quick: {seeds: [9], train.steps: 3, train.batch: 3, model.layers: [3, 4]}")

	full := plan(t, text, "full")
	if len(full.Cells) != 12 || full.Cells[0].Config.Train.Steps != 4 {
		t.Errorf("full: %d cells of %d steps", len(full.Cells), full.Cells[0].Config.Train.Steps)
	}

	quick := plan(t, text, "quick", "train.batch=4", "model.layers=5", "model.norm.eps=1e-3", "train.lr=[7e-3, 8e-3]", "name=other")
	wantRows(t, quick,
		"model.layers=5, model.norm=layernorm(eps=0.001), train.lr=0.007 seed 9",
		"model.layers=5, model.norm=layernorm(eps=0.001), train.lr=0.008 seed 9",
		"model.layers=5, model.norm=rmsnorm(eps=0.001), train.lr=0.007 seed 9",
		"model.layers=5, model.norm=rmsnorm(eps=0.001), train.lr=0.008 seed 9")
	c := quick.Cells[0].Config
	if c.Train.Steps != 3 || c.Train.Batch != 4 || c.Name != "other" {
		t.Errorf("steps %d, batch %d, name %s; want quick's 3, the command line's 4 and other", c.Train.Steps, c.Train.Batch, c.Name)
	}

	seeds := plan(t, text, "quick", "seeds=4", "model.layers=[1]", "model.norm=rmsnorm")
	wantRows(t, seeds, "model.layers=1, model.norm=rmsnorm, train.lr=0.001 seed 4")
}

func TestYAMLRunsTheSameCells(t *testing.T) {
	text := tiny("question: 'Why: so?'", "axes:", "  model.norm: [{kind: layernorm, eps: 1e-4}, rmsnorm]", "  model.layers: [1, 2, 3]", "  train.lr: [3e-3, 2e-3, 1e-3]",
		"zip: [[model.layers, train.lr]]", "except: [{model.norm: rmsnorm, model.layers: 2}, {model.layers: 1}]",
		"match: {on: params, solve: model.d_ff, across: [model.norm]}", "seeds: [1, 2]", "show: [val_ppl]", "quick: {seeds: [3, 4], train.steps: 2}")
	e, err := parse(t, text, "quick", "train.batch=3", "model.layers=[2, 3]", "train.lr=[2e-3, 1e-3]")
	if err != nil {
		t.Fatal(err)
	}
	a, err := e.Plan(new(Corpora))
	if err != nil {
		t.Fatal(err)
	}
	b := plan(t, string(e.YAML()), "full")
	if len(a.Cells) != 6 {
		t.Errorf("%d cells, want 6:\n%s", len(a.Cells), strings.Join(rows(a), "\n"))
	}
	wantRows(t, b, rows(a)...)
	for i := range a.Cells {
		if a.Cells[i].ID != b.Cells[i].ID {
			t.Errorf("cell %d is %s, and %s when read again from\n%s", i, a.Cells[i].ID, b.Cells[i].ID, e.YAML())
		}
	}
}

func TestMistakes(t *testing.T) {
	axis := "axes: {model.layers: [1, 2], train.lr: [1e-3, 2e-3]}"
	for _, c := range []struct {
		name string
		text string
		args []string
		want []string
	}{
		{"learning-rate grids are not known", tiny("lr: {grid: [1e-3]}", "primary: {metric: val_loss}"), nil,
			[]string{"tiny.yaml:6:1: lr: unknown key", "tiny.yaml:7:1: primary: unknown key"}},
		{"all errors of all cells, once, in order", tiny("axes:", "  model.layers: [1, 0, 2.5]", "  model.heads: [2, 3]", "seeds: [1, 2]"), []string{"train.stepz=3"},
			[]string{"tiny.yaml:7:21: model.layers: 0: ", "tiny.yaml:7:24: model.layers: 2.5: ", "tiny.yaml:8:20: model.heads: 3 does not divide", "(with model.layers=1, model.heads=3)", "train.stepz=3: unknown key; did you mean steps?"}},
		{"axes are lists", tiny("axes: {model.layers: 2, train.lr: []}"), nil, []string{"axes.model.layers: not a list of values", "axes.train.lr: not a list of values"}},
		{"axes are a mapping", tiny("axes: [1]"), nil, []string{"axes: not a mapping"}},
		{"same value twice", tiny("axes: {train.lr: [1e-3, 0.001]}"), nil, []string{"values 1 and 2 are the same"}},
		{"axes that overlap", tiny("axes: {model.norm: [rmsnorm], model.norm.eps: [1e-3]}"), nil, []string{"overlaps the axis model.norm"}},
		{"unknown axis", tiny("axes: {model.layerz: [1]}"), nil, []string{"tiny.yaml:6:23: model.layerz: unknown key; did you mean layers?"}},
		{"seed is no axis", tiny("axes: {seed: [1, 2]}"), nil, []string{"an experiment has seeds"}},
		{"seed is no key of an experiment", tiny(axis), []string{"seed=1"}, []string{"seed=1: an experiment has seeds"}},
		{"seeds twice", tiny("seeds: [1, 1]"), nil, []string{"seeds: 1 stands twice"}},
		{"no seeds", tiny("seeds: []"), nil, []string{"seeds: no seed"}},
		{"zip of other lengths", tiny("axes: {model.layers: [1, 2, 3], train.lr: [1e-3, 2e-3]}", "zip: [model.layers, train.lr]"), nil, []string{"model.layers has 3 values and train.lr has 2"}},
		{"zip without an axis", tiny(axis, "zip: [model.layers, train.batch]"), nil, []string{"train.batch is no axis"}},
		{"except without an axis", tiny(axis, "except: [{model.heads: 1}]"), nil, []string{"except.model.heads: no axis"}},
		{"except without a value", tiny(axis, "except: [{model.layers: 7}]"), nil, []string{"except.model.layers: 7: no value of the axis"}},
		{"nothing left", tiny(axis, "except: [{model.layers: [1, 2]}]"), nil, []string{"has no cell"}},
		{"match without an axis", tiny(axis, "match: {on: params, solve: model.d_ff, across: [model.norm]}"), nil, []string{"model.norm is no axis"}},
		{"match of bytes", tiny(axis, "match: {on: kv_bytes, solve: model.d_ff, across: [model.layers]}"), nil, []string{"kv_bytes cannot be matched yet"}},
		{"match on an axis", tiny("axes: {model.layers: [1, 2], model.d_ff: [32, 64]}", "match: {on: params, solve: model.d_ff, across: [model.layers]}"), nil, []string{"model.d_ff is an axis"}},
		{"unknown profile", tiny("profile: fast"), nil, []string{"tiny.yaml:6:10: profile: fast: unknown"}},
		{"match without its reference", tiny(axis, "except: [{model.layers: 1, train.lr: 1e-3}]", "match: {on: params, solve: model.d_ff, across: [model.layers]}"), nil, []string{"is not among the cells"}},
		{"match by what is no integer", tiny(axis, "match: {on: params, solve: model.dropout, across: [model.layers]}"), nil, []string{"model.dropout: cannot be solved for"}},
		{"match by what is no part of the model", tiny(axis, "match: {on: params, solve: train.steps, across: [model.layers]}"), nil, []string{"match.solve: train.steps is no key of the model"}},
		{"match by what changes nothing", tiny("axes: {model.activation: [relu, gelu]}", "match: {on: params, solve: model.heads, across: [model.activation]}"), nil, []string{"model.heads: cannot be solved for", "params does not depend on it"}},
		{"too many cells", tiny("seeds: ["+strings.Repeat("1, ", 5000)+"1]", "axes: {model.layers: [1, 2]}"), nil, []string{"1 stands twice"}},
		{"a setting that does nothing", tiny("axes: {train.eval_every: [2, 3]}"), nil,
			[]string{"cells 0 (train.eval_every=2) and 1 (train.eval_every=3) are the same run"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, err := parse(t, c.text, "full", c.args...)
			if err == nil {
				_, err = e.Plan(new(Corpora))
			}
			if err == nil {
				t.Fatal("no error")
			}
			at := 0
			for _, want := range c.want {
				i := strings.Index(err.Error()[at:], want)
				if i < 0 {
					t.Fatalf("error is\n%v\nwithout, or in another order:\n%s", err, want)
				}
				at += i
			}
		})
	}
}

func TestUnknownProfile(t *testing.T) {
	if _, err := parse(t, tiny(), "huge"); err == nil || !strings.Contains(err.Error(), "quick and full") {
		t.Errorf("error is %v", err)
	}
}

// TestZippedValuesMayRepeat: of a group it is the whole that must differ.
func TestZippedValuesMayRepeat(t *testing.T) {
	zipped := "zip: [[model.layers, train.lr]]"
	p := plan(t, tiny("axes: {model.layers: [1, 2, 3], train.lr: [1e-3, 1e-3, 5e-4]}", zipped), "full")
	if len(p.Cells) != 3 || p.Cells[1].Config.Train.LR != 1e-3 || p.Cells[2].Config.Train.LR != 5e-4 {
		t.Errorf("%d cells", len(p.Cells))
	}
	e, err := parse(t, tiny("axes: {model.layers: [1, 2, 1], train.lr: [1e-3, 2e-3, 1e-3]}", zipped), "full")
	if err == nil {
		_, err = e.Plan(new(Corpora))
	}
	if err == nil || !strings.Contains(err.Error(), "are the same run") {
		t.Errorf("the same twice: %v", err)
	}
}

func TestQuickNeedsSeeds(t *testing.T) {
	e, err := Parse("tiny.yaml", []byte(tiny("quick: {seeds: []}")))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.With("quick", nil); err == nil || !strings.Contains(err.Error(), "seeds: no seed") {
		t.Errorf("error is %v", err)
	}
	if _, err := e.With("full", nil); err != nil {
		t.Errorf("the whole has seeds: %v", err)
	}
}
