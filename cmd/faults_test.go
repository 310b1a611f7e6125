package cmd

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ablate/train/metrics"
)

// Faults that were reported of other tools, on real models and from end to end:
// docs/reliability.md lists them with all tests that keep them away.

// stepsOf reads metrics.jsonl.
func (w *workbench) stepsOf(s metrics.Summary) (rows []metrics.Step) {
	w.t.Helper()
	f, err := os.Open(filepath.Join(s.Dir, metrics.StepsFile))
	if err != nil {
		w.t.Fatal(err)
	}
	defer f.Close()
	for row, err := range metrics.ReadSteps(f) {
		if err != nil {
			w.t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

// TestTargetsAreShiftedOnce trains on abcabc…: were targets shifted twice, or not at
// all, the loss would fall as well, and the continuation be another.
func TestTargetsAreShiftedOnce(t *testing.T) {
	w := newWorkbench(t)
	w.write("text.txt", strings.Repeat("abc", 700))
	s := w.summary(w.want(exitDone, "train run.yaml train.steps=300 train.lr=1e-2 train.batch=8 --json --progress off"))
	if !(s.ValPPL.Float() < 1.1) {
		t.Fatalf("nothing was learnt: %+v", s)
	}
	for prompt, want := range map[string]string{"abcab": "cabcabcabcab", "abcabc": "abcabcabcabc", "bcabca": "bcabcabcabca"} {
		if got := w.want(exitDone, "generate "+s.Dir+" --temperature 0 --tokens 12 --prompt "+prompt); !strings.Contains(got, prompt+want) && !strings.HasPrefix(strings.TrimSpace(got), want) {
			t.Errorf("%s is continued as %q, want %s", prompt, got, want)
		}
	}
}

// TestMicroBatchesAddUp: eight sequences are one step, however they are cut. Only the
// order of the sums differs.
func TestMicroBatchesAddUp(t *testing.T) {
	w := newWorkbench(t)
	var want metrics.Step
	for _, cut := range [][2]int{{8, 1}, {4, 2}, {1, 8}} {
		s := w.summary(w.want(exitDone, fmt.Sprintf("train run.yaml train.batch=%d train.accumulate=%d train.steps=2 --json --progress off", cut[0], cut[1])))
		row := w.stepsOf(s)[1]
		if s.Tokens != 2*8*16 {
			t.Errorf("%v: %d tokens", cut, s.Tokens)
		}
		if cut[1] == 1 {
			want = row
			continue
		}
		for name, pair := range map[string][2]metrics.Value{"loss": {row.Loss, want.Loss}, "grad_norm": {row.GradNorm, want.GradNorm}} {
			if a, b := pair[0].Float(), pair[1].Float(); !(math.Abs(a-b) <= 1e-5*b) {
				t.Errorf("%d × %d: %s is %v, want %v", cut[1], cut[0], name, a, b)
			}
		}
	}
}

// TestNormsAreBeforeClippingAndCountOnce: grad_norm is that of the whole gradient
// before clipping, with the factor beside it; a tied matrix is in it once.
func TestNormsAreBeforeClippingAndCountOnce(t *testing.T) {
	w := newWorkbench(t)
	for _, tied := range []bool{true, false} {
		s := w.summary(w.want(exitDone, fmt.Sprintf("train run.yaml model.embedding.tied=%v train.clip=0.3 train.steps=4 probe.every=1 --json --progress off", tied)))
		f, err := os.Open(filepath.Join(s.Dir, metrics.LayersFile))
		if err != nil {
			t.Fatal(err)
		}
		parts, total := map[int64]float64{}, map[int64]float64{}
		for row, err := range metrics.ReadLayers(f, metrics.GradNorm) {
			if err != nil {
				t.Fatal(err)
			}
			switch x := row.Value.Float(); {
			case row.Module == metrics.ModuleTotal:
				total[row.Step] = x
			case row.Module == metrics.ModuleBlock || row.Layer == metrics.NoLayer:
				parts[row.Step] += x * x
			}
		}
		f.Close()
		rows := w.stepsOf(s)
		for _, row := range rows[:4] {
			norm, coef := row.GradNorm.Float(), row.ClipCoef.Float()
			if want := min(1, 0.3/(norm+1e-6)); math.Abs(coef-want) > 1e-6 || !(norm > 0.3) {
				t.Errorf("tied %v, step %d: norm %v is scaled by %v, want %v", tied, row.Step, norm, coef, want)
			}
			if math.Abs(total[row.Step]-norm) > 1e-6*norm || math.Abs(math.Sqrt(parts[row.Step])-norm) > 1e-6*norm {
				t.Errorf("tied %v, step %d: norm %v, in layers %v, of parts %v", tied, row.Step, norm, total[row.Step], math.Sqrt(parts[row.Step]))
			}
			if row.LR.Float() <= 0 {
				t.Errorf("step %d has the learning rate %v", row.Step, row.LR)
			}
		}
	}
}

// TestDropoutIsForTraining: evaluations of a run with dropout do not draw, so the
// checkpoint's loss is the run's, whenever it is asked for.
func TestDropoutIsForTraining(t *testing.T) {
	w := newWorkbench(t)
	s := w.summary(w.want(exitDone, "train run.yaml model.dropout=0.5 --json --progress off"))
	for range 2 {
		var e struct {
			Loss metrics.Value `json:"val_loss"`
		}
		w.document(w.want(exitDone, "eval "+s.Dir+" --json"), &e)
		if d := math.Abs(e.Loss.Float() - s.ValLoss.Float()); !(d < 1e-6) {
			t.Errorf("eval gives %v, the run ended with %v", e.Loss, s.ValLoss)
		}
	}
}
