package cmd

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ablate/experiments/results"
	"ablate/train/metrics"
)

// crowd is how many processes start at once.
const crowd = 50

// startMany starts n processes at once.
func (w *workbench) startMany(n int, args ...string) []*process {
	all := make([]*process, n)
	for i := range all {
		all[i] = w.start(args...)
	}
	return all
}

// TestCrowdOnOneCell starts many processes on one run: one trains it; the others
// leave with 2, naming its process, or find it finished. It is trained once, to the
// bytes of a run that was alone.
func TestCrowdOnOneCell(t *testing.T) {
	if testing.Short() {
		t.Skip("starts fifty processes")
	}
	w := newWorkbench(t)
	w.want(exitDone, "train run.yaml --progress off --out alone")
	all := w.startMany(crowd, "train", "run.yaml", "--progress", "off", "--threads", "1", "--json")
	pids := map[string]bool{}
	for _, p := range all {
		pids[strconv.Itoa(p.Process.Pid)] = true
	}
	sums := map[string]int{}
	for _, p := range all {
		switch code := p.code(); code {
		case exitDone:
			sums[w.summary(p.stdout.String()).WeightsSHA256]++
		case exitUsage:
			_, after, ok := strings.Cut(p.stderr.String(), "is being written by process ")
			if pid, _, _ := strings.Cut(after, " "); ok && !pids[pid] {
				t.Errorf("%s is no process of these", pid)
			} else if !ok && !strings.Contains(p.stderr.String(), "is being written by another process") {
				t.Errorf("it leaves with %q", p.stderr.String())
			}
		default:
			t.Errorf("one ends with %d: %s", code, p.stderr.String())
		}
	}
	if len(sums) != 1 || w.outcome("runs") != w.outcome("alone") {
		t.Errorf("they end with %v, or other bytes", sums)
	}
}

// TestCrowdOnOneExperiment starts many processes on one experiment: every one ends
// well with the results of all cells, and each cell was run once.
func TestCrowdOnOneExperiment(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many processes")
	}
	w := newWorkbench(t)
	w.want(exitDone, "run experiment.yaml --progress off --out alone")
	all := w.startMany(crowd/6, "run", "experiment.yaml", "--progress", "plain", "--threads", "1", "--json")
	ran := 0
	for _, p := range all {
		if code := p.code(); code != exitDone {
			t.Errorf("one ends with %d: %s", code, p.stderr.String())
			continue
		}
		ran += strings.Count(p.stderr.String(), ": done: val ppl")
		var doc struct{ Cells []metrics.Summary }
		w.document(p.stdout.String(), &doc)
		for _, s := range doc.Cells {
			if s.Status != metrics.Done {
				t.Errorf("a cell is %+v", s)
			}
		}
	}
	if ran != 4 || w.outcome("runs") != w.outcome("alone") {
		t.Errorf("four cells were run %d times, or to other bytes", ran)
	}
	left, err := filepath.Glob(filepath.Join(w.dir, "runs", "places", ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
	if _, err := os.Stat(filepath.Join("runs", "places", results.ReportFile)); err != nil {
		t.Error(err)
	}
}
