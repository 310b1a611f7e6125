package report

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ablate/experiments/results"
	"ablate/experiments/results/resultstest"
	"ablate/train/metrics"
)

// TestSpikesAreMarked: a spike of one run is a mark on the figure, a row of its
// numbers, and a count in the table; the loss stays in the curve.
func TestSpikesAreMarked(t *testing.T) {
	dir := fabricate(t, resultstest.Depth())
	run := load(t, dir).Arms[3].Runs[1]
	file := filepath.Join(dir, results.CellDir(run.ID), metrics.StepsFile)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`("step":200,.*?"loss":)[0-9.]+`)
	if err := os.WriteFile(file, row.ReplaceAll(text, []byte("${1}77.5")), 0o666); err != nil {
		t.Fatal(err)
	}

	f, err := lossCurves(load(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	svg, err := f.inline(wide, "wide")
	if err != nil {
		t.Fatal(err)
	}
	if words := wellFormed(t, "figure", svg); !strings.Contains(words, "seed 2: spike at step 200: 77.50") {
		t.Error("the figure has no mark at the spike")
	}
	numbers, err := f.csv()
	if err != nil || !strings.Contains(string(numbers), ",spike,200,77.5\n") {
		t.Errorf("the numbers have no spike, %v", err)
	}
	table, err := load(t, dir).Table()
	if err != nil {
		t.Fatal(err)
	}
	if shown := table.Eventful(); shown.Columns[len(shown.Columns)-1].Key != "spikes" || shown.Rows[3][len(shown.Columns)-1] != int64(1) {
		t.Errorf("the table counts %v under %v", shown.Rows[3], shown.Columns)
	}
}
