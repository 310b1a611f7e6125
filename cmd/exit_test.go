package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"ablate/experiments/results"
	"ablate/train/metrics"
)

// TestExitCodes: the contract with scripts, one command line each.
func TestExitCodes(t *testing.T) {
	w := newWorkbench(t)
	w.write("short.txt", strings.Repeat("x", 40))
	w.write("empty.txt", "")
	w.write("file", "")

	s := w.summary(w.want(exitDone, "train run.yaml --json"))
	if s.Status != metrics.Done || s.Steps != 6 || len(s.WeightsSHA256) != 64 || !s.ValPPL.Finite() {
		t.Errorf("the summary is %+v", s)
	}
	if again := w.summary(w.want(exitDone, "train run.yaml --json", "was finished")); again != s {
		t.Errorf("again it is %+v", again)
	}
	checkpoint := filepath.Join(s.Dir, results.CheckpointsDir, "step-6")

	w.want(exitUsage, "train run.yaml model.heads=3", "model.heads=3: 3 does not divide d_model 16")
	w.want(exitUsage, "train nosuch.yaml", "nosuch.yaml")
	w.want(exitUsage, "train run.yaml run.yaml", "one file is wanted")
	w.want(exitUsage, "train", "one file is wanted")
	w.want(exitUsage, "run experiment.yaml --index 4", "cells 0 to 3")
	w.want(exitUsage, "train run.yaml --fail-if val_ppl", "a condition is METRIC")
	w.want(exitUsage, "train run.yaml --threads -1", "--threads -1")
	w.want(exitUsage, "train run.yaml --resume=", "--resume: it is empty")
	w.want(exitUsage, "train nosuch.yaml --log-format json", `"level":"ERROR","msg":"open nosuch.yaml: no such file`, `"exit_code":2}`)
	w.want(exitUsage, "train run.yaml --log-format json --nosuch", `"exit_code":2}`)
	w.want(exitUsage, "report .", "holds neither an experiment")
	w.want(exitUsage, "show .", "holds neither an experiment")
	if code := exitCode(fmt.Errorf("file: %w", &fs.PathError{Op: "open", Path: "file", Err: syscall.EACCES})); code != exitResources {
		t.Errorf("what is forbidden ends with %d", code)
	}
	w.want(exitData, "train run.yaml data.path=nosuch.txt", `"nosuch.txt"`, "no such file")
	w.want(exitData, "train run.yaml data.path=empty.txt", "needs at least 17 tokens, has 0")
	w.want(exitData, "train run.yaml data.path=short.txt", "needs at least 17 tokens")
	w.want(exitDiverged, "train run.yaml train.lr=1e30 train.weight_decay=0 --out diverged", "diverged after", "layer")
	w.want(exitDiverged, "train run.yaml train.lr=1e30 train.weight_decay=0 --out diverged", "diverged after") // found finished
	w.want(exitCheckpoint, "train run.yaml --resume nosuch --out other", `checkpoint "nosuch"`)
	w.want(exitCheckpoint, "train run.yaml model.d_ff=8 --out other --resume "+checkpoint, "d_ff: 43 in the checkpoint, 8 here")
	if runtime.GOOS == "linux" {
		w.want(exitResources, "train run.yaml model.d_model=131072 --out other", "not enough memory", "weights and gradients")
	}
	rows, err := os.ReadFile(filepath.Join(s.Dir, metrics.StepsFile))
	if err != nil {
		t.Fatal(err)
	}
	w.write(filepath.Join(s.Dir, metrics.StepsFile), "{}\n"+string(rows))
	if err := os.Remove(filepath.Join(s.Dir, results.SummaryFile)); err != nil {
		t.Fatal(err)
	}
	w.want(exitCheckpoint, "train run.yaml", "belongs to another run", "no row of metrics.jsonl ends at its")
	w.write(filepath.Join(s.Dir, metrics.StepsFile), string(rows))
	w.want(exitGate, "train run.yaml --fail-if val_ppl>1", `--fail-if "val_ppl>1"`, "val_ppl is ")
	w.want(exitDone, "train run.yaml --fail-if val_ppl>1e9 --fail-if steps<6")
}

// TestNoResultWithoutWork: what is refused leaves nothing behind.
func TestNoResultWithoutWork(t *testing.T) {
	w := newWorkbench(t)
	w.write("file", "")
	before := w.entries()
	for _, args := range []string{
		"train run.yaml --out file", "train run.yaml --out file/below", "run experiment.yaml --out file", "train run.yaml train.steps=0",
		"train run.yaml data.path=nosuch.txt", "run experiment.yaml model.heads=3", "run nosuch", "run experiment.yaml --profile fast",
		"run experiment.yaml --index=-1", "train run.yaml --fail-if x>1", "run experiment.yaml --dry-run",
	} {
		code, _, _ := w.run(strings.Fields(args)...)
		if code == exitDone != strings.Contains(args, "--dry-run") || w.entries() != before {
			t.Errorf("ablate %s ends with %d and leaves %s", args, code, w.entries())
		}
	}
	w.want(exitUsage, "train run.yaml --out file", "--out file: file is not a directory")
	w.want(exitUsage, "train run.yaml data.path=nosuch.txt --out file/x/y", "not a directory") // before the data is looked for
}

// TestExperimentExitCodes: a diverged cell is a result; a failed one is not, and
// keeps none of the others from running.
func TestExperimentExitCodes(t *testing.T) {
	w := newWorkbench(t)
	w.write("rates.yaml", strings.Replace(tinyExperiment, "model.placement: [post, pre]", "train.lr: [1e-3, 1e30]", 1))
	diverging := "run rates.yaml train.weight_decay=0 --progress off --out diverging"
	w.want(exitDone, diverging)
	w.want(exitGate, diverging+" --fail-if val_loss>99", "val_loss is unknown")
	w.want(exitDone, "run experiment.yaml --index 1 --progress off")
	table := w.want(exitDone, "run experiment.yaml --progress off")
	if !strings.Contains(table, "post") || !strings.Contains(table, "report: ") {
		t.Errorf("the table is %q", table)
	}

	bad := filepath.Join(w.cellDirs("places")[2], metrics.StepsFile)
	os.Remove(filepath.Join(filepath.Dir(bad), results.SummaryFile))
	if err := errors.Join(os.Rename(bad, bad+".away"), os.Mkdir(bad, 0o777)); err != nil {
		t.Fatal(err)
	}
	// The report of the others cannot read that file either: a directory is no loss curve.
	code, _, stderr := w.run("run", "experiment.yaml", "--progress", "off")
	if code != exitInternal || !strings.Contains(stderr, metrics.StepsFile) {
		t.Errorf("a failed cell: %d, %s", code, stderr)
	}
	if err := errors.Join(os.Remove(bad), os.Rename(bad+".away", bad)); err != nil {
		t.Fatal(err)
	}
	w.want(exitDone, "run experiment.yaml --progress plain", "was finished", "done: val ppl")
}

// TestIndexFromTheEnvironment: batch systems number the cells.
func TestIndexFromTheEnvironment(t *testing.T) {
	w := newWorkbench(t)
	t.Setenv("SLURM_ARRAY_TASK_ID", "2")
	w.want(exitDone, "run experiment.yaml --progress off")
	if n := len(w.cellDirs("places")); n != 1 {
		t.Errorf("%d cells were run", n)
	}
	w.want(exitDone, "run experiment.yaml --progress off --index 3") // the flag has the last word
	if n := len(w.cellDirs("places")); n != 2 {
		t.Errorf("%d cells were run", n)
	}
	t.Setenv("SLURM_ARRAY_TASK_ID", "7")
	w.want(exitUsage, "run experiment.yaml", "SLURM_ARRAY_TASK_ID 7", "cells 0 to 3")
	t.Setenv("SLURM_ARRAY_TASK_ID", "two")
	w.want(exitUsage, "run experiment.yaml", "SLURM_ARRAY_TASK_ID=two: not an integer")
	t.Setenv("SLURM_ARRAY_TASK_ID", "")
	t.Setenv("JOB_COMPLETION_INDEX", "0")
	w.want(exitDone, "run experiment.yaml --progress off")
	if n := len(w.cellDirs("places")); n != 3 {
		t.Errorf("%d cells were run", n)
	}
}

// TestDamagedCheckpoints: automatic resumption falls back and says so, an explicit
// one fails.
func TestDamagedCheckpoints(t *testing.T) {
	w := newWorkbench(t)
	s := w.summary(w.want(exitDone, "train run.yaml --json --progress off"))
	want := w.outcome("runs")
	if err := os.Remove(filepath.Join(s.Dir, results.SummaryFile)); err != nil {
		t.Fatal(err)
	}
	newest := filepath.Join(s.Dir, results.CheckpointsDir, "step-6")
	file := filepath.Join(newest, "state.ckpt")
	text := w.read(file)
	w.write(file, text[:len(text)-1000]+strings.Repeat("\x00", 1000))
	w.want(exitCheckpoint, "train run.yaml --resume "+newest, "checksum")
	w.want(exitDone, "train run.yaml --progress plain", "passed over", "checksum", "continues at step 4")
	if got := w.outcome("runs"); got != want {
		t.Error("the run ended otherwise")
	}

	// Rows that were lost cannot be continued to the same bytes: it is said, and nothing is thrown away.
	if err := errors.Join(os.Remove(filepath.Join(s.Dir, results.SummaryFile)), os.Truncate(filepath.Join(s.Dir, metrics.StepsFile), 100)); err != nil {
		t.Fatal(err)
	}
	w.want(exitCheckpoint, "train run.yaml", "there are 100 and ", "--resume never trains from the start")
	w.want(exitDone, "train run.yaml --resume never")
	if got := w.outcome("runs"); got != want {
		t.Error("from the start the run ended otherwise")
	}
}
