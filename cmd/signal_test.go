//go:build unix

package cmd

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ablate/experiments/results"
	"ablate/train/metrics"
)

// longRun is tinyRun with enough steps to be met on the way.
const longRun = "train.steps=1200 train.eval_every=100 train.checkpoint_every=150 probe.every=50 --progress json --json"

// watched is the standard error of a process that is looked at while it runs.
type watched struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (w *watched) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.Write(b)
}

// waitFor waits until the process has said something.
func (w *watched) waitFor(t *testing.T, text string) {
	t.Helper()
	for begun := time.Now(); time.Since(begun) < time.Minute; time.Sleep(time.Millisecond) {
		w.mu.Lock()
		found := strings.Contains(w.buf.String(), text)
		w.mu.Unlock()
		if found {
			return
		}
	}
	t.Fatalf("it never said %q but %q", text, w.buf.String())
}

// startWatched is start with a standard error that can be waited for.
func (w *workbench) startWatched(t *testing.T, args string) (*process, *watched) {
	t.Helper()
	r, wr, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := w.prepare(strings.Fields(args)...)
	p.Stderr = wr
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	wr.Close()
	t.Cleanup(func() { p.Process.Kill() })
	out := new(watched)
	go func() {
		defer r.Close()
		var b [4096]byte
		for {
			n, err := r.Read(b[:])
			out.Write(b[:n])
			if err != nil {
				return
			}
		}
	}()
	return p, out
}

// TestOneSignalSaves: each of the signals ends the run after the step with a
// checkpoint and exit code 75, and the same command ends with the bytes of a run
// that was never disturbed.
func TestOneSignalSaves(t *testing.T) {
	w := newWorkbench(t)
	w.want(exitDone, "train run.yaml --out whole "+longRun)
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGUSR1} {
		p, said := w.startWatched(t, "train run.yaml "+longRun)
		said.waitFor(t, `"event":"step"`)
		p.Process.Signal(s)
		if code := p.code(); code != exitInterrupted {
			t.Fatalf("%v ends it with %d: %s", s, code, said.buf.String())
		}
		if got := w.summary(p.stdout.String()); got.Status != metrics.Interrupted || got.Steps == 0 || got.Steps >= 1200 {
			t.Errorf("%v: %+v", s, got)
		}
	}
	got := w.summary(w.want(exitDone, "train run.yaml "+longRun))
	if got.Steps != 1200 || w.outcome("runs") != w.outcome("whole") {
		t.Errorf("after three interruptions it ends otherwise: %+v", got)
	}
	rows := 0
	f, err := os.Open(filepath.Join(got.Dir, metrics.StepsFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for row, err := range metrics.ReadSteps(f) {
		if err != nil || row.Step != int64(rows) {
			t.Fatalf("row %d is of step %d, %v", rows, row.Step, err)
		}
		rows++
	}
	if rows != 1201 {
		t.Errorf("%d rows for 1200 steps and the last evaluation", rows)
	}
}

// TestTwoSignalsStopAtOnce: the second signal does not wait for the step.
func TestTwoSignalsStopAtOnce(t *testing.T) {
	w := newWorkbench(t)
	large := "train run.yaml model.d_model=128 model.layers=4 train.batch=512 train.steps=40 train.eval_every=0 train.checkpoint_every=2 --progress json"
	p, said := w.startWatched(t, large)
	said.waitFor(t, `"event":"step"`)
	p.Process.Signal(syscall.SIGINT)
	said.waitFor(t, "once more to stop at once")
	p.Process.Signal(syscall.SIGTERM)
	if code := p.code(); code != 128+int(syscall.SIGTERM) {
		t.Errorf("it ends with %d: %s", code, said.buf.String())
	}
	p, said = w.startWatched(t, large) // nothing is locked, nothing is corrupt
	said.waitFor(t, `"event":"step"`)
	p.Process.Signal(syscall.SIGINT)
	if code := p.code(); code != exitInterrupted {
		t.Errorf("again: %d: %s", code, said.buf.String())
	}
}

// TestSignalBeforeTraining: while the data is still being read there is nothing to
// save, and nothing to wait for.
func TestSignalBeforeTraining(t *testing.T) {
	w := newWorkbench(t)
	makePipe(t, "pipe.yaml")
	p := w.start("train", "pipe.yaml")
	pipe := -1 // the end to write to, which there is as soon as somebody reads
	for begun := time.Now(); pipe < 0; time.Sleep(time.Millisecond) {
		var err error
		if pipe, err = syscall.Open("pipe.yaml", syscall.O_WRONLY|syscall.O_NONBLOCK, 0); err != nil && time.Since(begun) > time.Minute {
			t.Fatalf("it never reads: %v", err)
		}
	}
	defer syscall.Close(pipe)
	p.Process.Signal(syscall.SIGTERM)
	if code := p.code(); code != 128+int(syscall.SIGTERM) {
		t.Errorf("it ends with %d: %s", code, p.stderr.String())
	}
	if _, err := os.Stat(filepath.Join(w.dir, "runs")); err == nil {
		t.Error("it has made something")
	}
}

// TestSignalDuringEvaluation: the checkpoint of the last step is there before the
// last evaluation begins, so the evaluation alone is done again.
func TestSignalDuringEvaluation(t *testing.T) {
	w := newWorkbench(t)
	w.write("text.txt", strings.Repeat("the quick brown fox jumps over the lazy dog\n", 12000))
	args := "train run.yaml train.steps=3 train.eval_every=0 data.validation=0.9 --json --progress json"
	p, said := w.startWatched(t, args)
	waitFor(t, filepath.Join(w.dir, "runs", "tiny", results.CellsDir, "*", results.CheckpointsDir, "step-3"))
	p.Process.Signal(syscall.SIGTERM)
	if code := p.code(); code != exitInterrupted {
		t.Fatalf("it ends with %d: %s", code, said.buf.String())
	}
	if s := w.summary(p.stdout.String()); s.Steps != 3 || s.ValLoss != (metrics.Value{}) {
		t.Errorf("%+v", s)
	}
	if s := w.summary(w.want(exitDone, args)); s.Status != metrics.Done || !s.ValLoss.Finite() {
		t.Errorf("%+v", s)
	}
}

// TestSignalDuringReport: when all is trained, the report is finished.
func TestSignalDuringReport(t *testing.T) {
	w := newWorkbench(t)
	p := w.start("run", "experiment.yaml", "seeds=1", "model.placement=pre", "--progress", "off")
	waitFor(t, filepath.Join(w.dir, "runs", "places", results.CellsDir, "*", results.SummaryFile))
	p.Process.Signal(syscall.SIGINT)
	if code := p.code(); code != exitDone {
		t.Fatalf("it ends with %d: %s", code, p.stderr.String())
	}
	if html := w.read(filepath.Join("runs", "places", results.ReportFile)); !strings.HasSuffix(strings.TrimSpace(html), "</html>") {
		t.Error("the report is cut off")
	}
}

// TestSignalBetweenCells: an interrupted experiment says so with 75, and continues.
func TestSignalBetweenCells(t *testing.T) {
	w := newWorkbench(t)
	args := "run experiment.yaml train.steps=300 train.eval_every=0 train.checkpoint_every=50 --jobs 1 --progress off --json"
	w.want(exitDone, args+" --out whole")
	p := w.start(strings.Fields(args)...)
	waitFor(t, filepath.Join(w.dir, "runs", "places", results.CellsDir, "*", results.CheckpointsDir, "step-*"))
	p.Process.Signal(syscall.SIGTERM)
	if code := p.code(); code != exitInterrupted {
		t.Fatalf("it ends with %d: %s", code, p.stderr.String())
	}
	var doc struct{ Cells []metrics.Summary }
	w.document(p.stdout.String(), &doc)
	if len(doc.Cells) != 4 || doc.Cells[0].Status != metrics.Interrupted || doc.Cells[3].Status != results.Pending {
		t.Errorf("%+v", doc)
	}
	w.want(exitDone, args)
	if w.outcome("runs") != w.outcome("whole") {
		t.Error("the experiment ends otherwise")
	}
}

// TestReaderLeaves: whoever stops reading results or progress ends nothing but the
// writing of them, without a word.
func TestReaderLeaves(t *testing.T) {
	w := newWorkbench(t)
	closedPipe := func() *os.File {
		r, wr, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		return wr
	}
	for _, args := range []string{"config keys", "experiments --json", "train run.yaml --json --progress off", "help"} {
		p := w.prepare(strings.Fields(args)...)
		p.Stdout = closedPipe()
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		if code := p.code(); code != exitDone || p.stderr.Len() > 0 {
			t.Errorf("ablate %s | head ends with %d: %s", args, code, p.stderr.String())
		}
	}
	p := w.prepare("train", "run.yaml", "--force", "--json", "--progress", "plain")
	p.Stderr = closedPipe()
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	if code := p.code(); code != exitDone || w.summary(p.stdout.String()).Steps != 6 {
		t.Errorf("without a reader of its progress it ends with %d", code)
	}
}

// TestFullDisk: no room for results or records ends with 6 and a path. Checkpoints
// that were saved are good.
func TestFullDisk(t *testing.T) {
	w := newWorkbench(t)
	if f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0); err == nil {
		p := w.prepare("config", "keys")
		p.Stdout = f
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		if code := p.code(); code != exitResources {
			t.Errorf("a full disk below standard output ends with %d: %s", code, p.stderr.String())
		}
	}
	// A limit on the size of files, in blocks of 512 or 1024 bytes, cuts off records or checkpoints.
	want := w.summary(w.want(exitDone, "train run.yaml --json --progress off --out whole"))
	sizes := 0
	for _, blocks := range []int{1, 4, 20, 60} {
		p := w.prepare()
		p.Path, p.Args = "/bin/sh", []string{"sh", "-c", fmt.Sprintf(`ulimit -f %d && exec "$0" train run.yaml --progress off`, blocks), os.Args[0]}
		if err := p.Start(); err != nil {
			t.Skip(err)
		}
		code := p.code()
		if code == exitDone {
			break
		}
		sizes++
		if code != exitResources || !strings.Contains(p.stderr.String(), "runs/tiny/cells/") {
			t.Errorf("files of %d blocks: it ends with %d: %s", blocks, code, p.stderr.String())
		}
	}
	if sizes == 0 {
		t.Error("no size was too small")
	}
	if got := w.summary(w.want(exitDone, "train run.yaml --json --progress off")); got.WeightsSHA256 != want.WeightsSHA256 {
		t.Errorf("afterwards it ends %+v", got)
	}
}
