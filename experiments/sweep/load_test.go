package sweep

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"ablate/data"
	"ablate/experiments/config"
	"ablate/experiments/results"
	"ablate/graph"
	"ablate/nn"
	"ablate/train"
)

func TestLoad(t *testing.T) {
	p := plan(t, small(), "quick")
	dir := t.TempDir()
	out := run(t, p, dir, Options{})
	cell := filepath.Join(dir, filepath.FromSlash(results.CellDir(p.Cells[0].ID)))

	l, err := Load(cell)
	if err != nil {
		t.Fatal(err)
	}
	if got := train.WeightsSHA256(l.Params); got != out[0].Summary.WeightsSHA256 || l.Step != 6 {
		t.Errorf("weights %s of step %d, the run ended with %s", got, l.Step, out[0].Summary.WeightsSHA256)
	}
	c, changed, err := l.Corpus()
	if err != nil || changed {
		t.Fatalf("changed %v, %v", changed, err)
	}
	team := graph.NewTeam(1)
	defer team.Close()
	prog, err := l.Eval(team, 2, l.Config.Model.Context)
	if err != nil {
		t.Fatal(err)
	}
	loss, _ := train.Evaluate(prog, c.Validation.Windows(l.Config.Model.Context, 0), nil)
	if want := out[0].Summary.ValLoss.Float(); loss != want {
		t.Errorf("loss %v, the run ended with %v", loss, want)
	}
	l.Config.Model.Layers, l.Config.Model.HeadDim = 1<<14, 1<<20 // a cache of terabytes
	if _, err := l.Generator(team, nn.GeneratorOptions{Capacity: 1 << 20}); runtime.GOOS == "linux" {
		if _, ok := errors.AsType[*Resources](err); !ok {
			t.Errorf("a text that is too long: %v", err)
		}
	}
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "4 runs are here; name one") {
		t.Errorf("four runs: %v", err)
	}
	testLoadFallsBack(t, cell)
}

// testLoadFallsBack spoils the newest checkpoint, then all.
func testLoadFallsBack(t *testing.T, cell string) {
	t.Helper()
	leftover := filepath.Join(cell, results.CheckpointsDir, ".tmp-step-9")
	if err := os.Mkdir(leftover, 0o777); err != nil { // as a writer at work has it
		t.Fatal(err)
	}
	spoil := func(step string) {
		if err := os.WriteFile(filepath.Join(cell, results.CheckpointsDir, step, "state.ckpt"), []byte("spoilt"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	spoil("step-6")
	l, err := Load(cell)
	if err != nil || l.Step != 4 || len(l.Rejected) != 1 {
		t.Fatalf("%+v, %v", l, err)
	}
	if _, err := os.Stat(leftover); err != nil {
		t.Error("reading removed what another process writes")
	}
	spoil("step-4")
	if _, err := Load(cell); err == nil {
		t.Error("a spoilt checkpoint is used")
	} else if _, ok := errors.AsType[*train.CorruptError](err); !ok {
		t.Errorf("no usable checkpoint: %v", err)
	}
}

func TestLoadLaysSettingsOver(t *testing.T) {
	p := plan(t, small(), "quick")
	dir := t.TempDir()
	run(t, p, dir, Options{Cells: []int{0}})
	load := func(settings ...string) (*Loaded, error) {
		over, err := config.ParseArgs(settings)
		if err != nil {
			t.Fatal(err)
		}
		return Load(dir, over)
	}
	l, err := load("model.position={kind: rope, scaling: {kind: yarn, factor: 4, original: 16}}")
	if err != nil {
		t.Fatal(err)
	}
	if s := l.Config.Model.Position[0].Scaling; s.Kind != "yarn" || s.Factor != 4 || s.BetaFast != 32 {
		t.Errorf("scaling %+v", s)
	}
	if _, err := load("model.layers=7"); err == nil {
		t.Error("a model of another shape is loaded")
	} else if _, ok := errors.AsType[*train.MismatchError](err); !ok {
		t.Errorf("another shape: %v", err)
	}
	text := filepath.Join(t.TempDir(), "other.txt")
	if err := os.WriteFile(text, []byte(strings.Repeat("other text ", 1000)), 0o666); err != nil {
		t.Fatal(err)
	}
	l, err = load("data={source: text, path: " + text + "}")
	if err != nil {
		t.Fatal(err)
	}
	if _, changed, err := l.Corpus(); !changed || err != nil {
		t.Errorf("other data: changed %v, %v", changed, err)
	}
	l.Config.Data.Path += ".not"
	if _, _, err := l.Corpus(); err == nil {
		t.Error("data that are not there are opened")
	} else if _, ok := errors.AsType[*data.Error](err); !ok {
		t.Errorf("missing data: %v", err)
	}
}
