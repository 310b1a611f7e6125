package sweep

import (
	"os"
	"path/filepath"
	"testing"

	"ablate/experiments/results"
)

func TestEstimates(t *testing.T) {
	p := plan(t, tiny("axes:", "  model.layers: [1, 2]", "seeds: [1, 2]"), "full", "train.eval_every=3", "train.steps=7", "train.accumulate=2")
	rows, err := p.Estimates(Options{Threads: 2, Jobs: 1})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range rows {
		c := p.Cells[i]
		if r.Index != i || r.ID != c.ID || r.Cell != c.Label || r.Seed != c.Seed() || r.Params != c.Size.Params || r.Bytes != r.Memory.Total() {
			t.Errorf("row %d is %+v of %+v", i, r, c)
		}
		if r.Tokens != 7*2*2*16 || r.Memory.Weights != 3*4*r.Params || r.Memory.Optimizer != 2*4*r.Params || r.Memory.Batches != 2*2*16*8 || r.Memory.Arena <= 0 || r.FLOPs < 6*float64(r.Params)/2 {
			t.Errorf("row %d is %+v", i, r)
		}
		// Two evaluations of 64 targets during training, one of the whole validation split.
		want := r.FLOPs * (float64(r.Tokens) + float64(2*64+c.corpus.Validation.Len())/3)
		if r.Total != want || r.Seconds != want/(2*AssumedFLOPS()) {
			t.Errorf("row %d costs %g FLOP, %g s; want %g", i, r.Total, r.Seconds, want)
		}
	}
	if rows[0].Memory != rows[1].Memory || rows[0].Bytes >= rows[2].Bytes {
		t.Errorf("memory is %+v", rows)
	}

	one, err := p.Estimates(Options{Threads: 2, Cells: []int{3}})
	if err != nil || len(one) != 1 || one[0].Index != 3 {
		t.Errorf("one cell: %+v, %v", one, err)
	}
	if _, err := p.Estimates(Options{Cells: []int{9}}); err == nil {
		t.Error("there is no cell 9")
	}
}

// TestEstimatesTouchNothing: a dry run leaves no trace.
func TestEstimatesTouchNothing(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.Mkdir("testdata", 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("testdata", "text.txt"), make([]byte, 4000), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := plan(t, small(), "quick").Estimates(Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(results.CellsDir); !os.IsNotExist(err) {
		t.Error("cells were made")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("there is %v (%v)", left, err)
	}
}
