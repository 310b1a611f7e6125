package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"ablate/experiments/config"
	"ablate/experiments/results"
	"ablate/ops/kernel"
	"ablate/train"
	"ablate/train/metrics"
)

// singlePlan plans one run of the text in testdata, with settings.
func singlePlan(settings ...string) (*Plan, error) {
	base, err := config.ParseFile("tiny.yaml", []byte(strings.Join([]string{
		"model: {layers: 1, d_model: 16, heads: 2, context: 16}",
		"data: {source: text, path: testdata/text.txt, validation: 0.02}",
		"train: {batch: 2, eval_every: 3, checkpoint_every: 5, warmup: 2}",
		"probe: {every: 4}"}, "\n")))
	if err != nil {
		return nil, err
	}
	over, err := config.ParseArgs(settings)
	if err != nil {
		return nil, err
	}
	return Single(base, over)
}

func single(t *testing.T, settings ...string) *Plan {
	t.Helper()
	p, err := singlePlan(settings...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// runSingle runs it and returns the cell's directory with the outcome.
func runSingle(t *testing.T, dir string, o Options, settings ...string) (string, Outcome) {
	t.Helper()
	p := single(t, settings...)
	out := run(t, p, dir, o)
	return filepath.Join(dir, filepath.FromSlash(results.CellDir(p.Cells[0].ID))), out[0]
}

func manifestOf(t *testing.T, run string) (m struct {
	Continues map[string]any `json:"continues"`
	Resumed   []resumption   `json:"resumed"`
}) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(run, results.ManifestFile))
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestMoreStepsContinue: under a schedule that does not know the end, a run of more
// steps goes on from the shorter one beside it, to the bytes of a run that never
// stopped, records included.
func TestMoreStepsContinue(t *testing.T) {
	constant := func(steps string) []string { return []string{"train.schedule=constant", "train.steps=" + steps} }
	whole, _ := runSingle(t, t.TempDir(), Options{}, constant("13")...)
	dir := t.TempDir()
	short, _ := runSingle(t, dir, Options{}, constant("7")...)
	s := &stopper{at: 1 << 30}
	long, out := runSingle(t, dir, Options{Progress: s}, constant("13")...)
	if s.begun.Load() != 7 || short == long {
		t.Errorf("it began at step %d", s.begun.Load())
	}
	for _, name := range recorded {
		a, _ := os.ReadFile(filepath.Join(whole, name))
		b, _ := os.ReadFile(filepath.Join(long, name))
		if len(a) == 0 || string(a) != string(b) {
			t.Errorf("%s differs:\n%s\n%s", name, a, b)
		}
	}
	if want, err := readSummary(whole); err != nil || want.WeightsSHA256 != out.Summary.WeightsSHA256 || want.ID != out.Summary.ID || want.ValLoss != out.Summary.ValLoss {
		t.Errorf("it ends %+v, want %+v, %v", out.Summary, want, err)
	}
	if m := manifestOf(t, long); m.Continues["id"] != filepath.Base(short) || m.Continues["step"] != 7.0 || m.Continues["exact"] != true {
		t.Errorf("the manifest says %v", m.Continues)
	}
}

// TestMoreStepsOfADecayingSchedule: a cosine of another length gave other rates to
// the steps that were made, so nothing is continued unless that is asked for; then
// the run has an identity of its own, and names the one that it continues.
func TestMoreStepsOfADecayingSchedule(t *testing.T) {
	dir := t.TempDir()
	short, _ := runSingle(t, dir, Options{}, "train.steps=7")
	s := &stopper{at: 1 << 30}
	fresh, _ := runSingle(t, dir, Options{Progress: s}, "train.steps=13")
	if s.begun.Load() != 0 {
		t.Errorf("it began at step %d", s.begun.Load())
	}

	checkpoint := filepath.Join(short, results.CheckpointsDir, "step-7")
	s = &stopper{at: 9}
	var ctx context.Context
	ctx, s.stop = context.WithCancel(context.Background())
	p := single(t, "train.steps=13")
	out, err := Run(ctx, p, dir, Options{Resume: Resume(checkpoint), Progress: s})
	if err != nil || s.begun.Load() != 7 || out[0].Summary.Status != metrics.Interrupted {
		t.Fatalf("began at %d: %+v, %v", s.begun.Load(), out, err)
	}
	s = &stopper{at: 1 << 30}
	run, _ := runSingle(t, dir, Options{Resume: Resume(checkpoint), Progress: s}, "train.steps=13")
	if s.begun.Load() != 9 {
		t.Errorf("after an interruption it began at step %d", s.begun.Load())
	}
	if run == fresh || run == short {
		t.Errorf("its directory %s is that of another run", run)
	}
	if m := manifestOf(t, run); m.Continues["id"] != filepath.Base(short) || m.Continues["exact"] != false || len(m.Resumed) != 1 {
		t.Errorf("the manifest says %+v", m)
	}
	rows := 0
	f, err := os.Open(filepath.Join(run, metrics.StepsFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for row, err := range metrics.ReadSteps(f) {
		if err != nil || row.Step != int64(rows) {
			t.Errorf("row %d is of step %d, %v", rows, row.Step, err)
		}
		rows++
	}
	if rows != 14 {
		t.Errorf("%d rows, want one for each of 13 steps and the last evaluation", rows)
	}
}

// TestForeignCheckpoints: another model, data or seed, and a step that is past the
// end, are refused with what differs; nothing is made.
func TestForeignCheckpoints(t *testing.T) {
	short, _ := runSingle(t, t.TempDir(), Options{}, "train.steps=7")
	checkpoint := filepath.Join(short, results.CheckpointsDir, "step-7")
	other := filepath.Join(t.TempDir(), "other.txt")
	if err := os.WriteFile(other, []byte(strings.Repeat("another text ", 500)), 0o666); err != nil {
		t.Fatal(err)
	}
	for setting, want := range map[string]string{
		"model.d_model=8":    "model.d_model: 16 in the checkpoint, 8 here",
		"data.path=" + other: "data_hash: ",
		"seed=2":             "seed: 1 in the checkpoint, 2 here",
		"train.lr=0.5":       "train.lr: 0.001 in the checkpoint, 0.5 here",
		"train.steps=6":      "it stands at step 7, past the 6 steps of this run",
	} {
		settings := []string{setting, "train.steps=7"}
		if strings.HasPrefix(setting, stepsKey) {
			settings = settings[:1]
		}
		dir := t.TempDir()
		_, err := Run(context.Background(), single(t, settings...), dir, Options{Resume: Resume(checkpoint)})
		var mismatch *train.MismatchError
		if !errors.As(err, &mismatch) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", setting, err, want)
		}
		if made, _ := os.ReadDir(dir); len(made) > 0 {
			t.Errorf("%s: %v was made", setting, made)
		}
	}
}

// noted keeps the notes of a run.
type noted struct {
	*stopper
	mu    sync.Mutex
	texts []string
}

func (n *noted) Note(_ *Cell, text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.texts = append(n.texts, text)
}

// TestOtherKernelsAreRecorded: a run that goes on with other kernels than made its checkpoint says so, whether it is
// its own or another run's that it continues.
func TestOtherKernelsAreRecorded(t *testing.T) {
	if kernel.Path() == "portable" {
		t.Skip("there is one path only")
	}
	dir := t.TempDir()
	restore, err := kernel.ForcePath("portable")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	constant := []string{"train.schedule=constant", "train.warmup=2"}
	_, err = Run(ctx, single(t, append(constant, "train.steps=9")...), dir, Options{Progress: &stopper{at: 6, stop: cancel}})
	restore()
	if err != nil {
		t.Fatal(err)
	}
	want := "portable → " + kernel.Path()
	for _, c := range []struct {
		steps string
		found func(run string) string
	}{
		{"train.steps=8", func(run string) string { return fmt.Sprint(manifestOf(t, run).Continues["kernels"]) }},
		{"train.steps=9", func(run string) string { return manifestOf(t, run).Resumed[0].Kernels }},
	} {
		n := &noted{stopper: &stopper{at: 1 << 30}}
		run, _ := runSingle(t, dir, Options{Progress: n}, append(constant, c.steps)...)
		said := slices.ContainsFunc(n.texts, func(s string) bool { return strings.HasPrefix(s, "trained with portable kernels up to step 6") })
		if got := c.found(run); got != want || !said || n.begun.Load() != 6 {
			t.Errorf("%s: recorded is %q, said %q, begun at %d", c.steps, got, n.texts, n.begun.Load())
		}
	}
	for _, again := range []string{"train.steps=9", "train.steps=10"} { // from checkpoints of these kernels
		n := &noted{stopper: &stopper{at: 1 << 30}}
		runSingle(t, dir, Options{Progress: n}, append(constant, again)...)
		if slices.ContainsFunc(n.texts, func(s string) bool { return strings.Contains(s, "kernels") }) {
			t.Errorf("%s says %q", again, n.texts)
		}
	}
}

// TestHarmlessKeysAreRecorded: cadences may change in the middle of a run.
func TestHarmlessKeysAreRecorded(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if _, err := Run(ctx, single(t, "train.steps=9"), dir, Options{Progress: &stopper{at: 6, stop: cancel}}); err != nil {
		t.Fatal(err)
	}
	s := &stopper{at: 1 << 30}
	run, _ := runSingle(t, dir, Options{Progress: s}, "train.steps=9", "probe.every=3", "train.eval_every=4")
	if s.begun.Load() != 6 {
		t.Errorf("it began at step %d", s.begun.Load())
	}
	m := manifestOf(t, run)
	if len(m.Resumed) != 1 || m.Resumed[0].Step != 6 || m.Resumed[0].Changed["probe.every"] != "4 → 3" || m.Resumed[0].Changed["train.eval_every"] != "3 → 4" {
		t.Errorf("recorded is %+v", m.Resumed)
	}
}
