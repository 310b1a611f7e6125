package cmd

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ablate/experiments/results"
	"ablate/train/metrics"
)

// beAblate makes this test binary the command itself.
const beAblate = "ABLATE_TEST_BE_ABLATE"

func TestMain(m *testing.M) {
	if os.Getenv(beAblate) != "" {
		Main()
	}
	for _, v := range indexVariables { // a batch system may run these tests
		os.Unsetenv(v)
	}
	os.Exit(m.Run())
}

// A workbench is a directory with a text and two configurations of tiny models.
type workbench struct {
	t   testing.TB
	dir string
}

const (
	tinyRun = `name: tiny
model: {layers: 1, d_model: 16, heads: 2, context: 16}
data: {source: text, path: text.txt, validation: 0.1}
train: {steps: 6, batch: 2, eval_every: 3, eval_tokens: 64, checkpoint_every: 2}
probe: {every: 2}
`
	tinyExperiment = `name: places
question: Which one?
base:
  model: {layers: 1, d_model: 16, heads: 2, context: 16}
  data: {source: text, path: text.txt, validation: 0.1}
  train: {steps: 6, batch: 2, eval_every: 3, eval_tokens: 64, checkpoint_every: 2}
axes:
  model.placement: [post, pre]
seeds: [1, 2]
show: [loss_curves]
`
)

// newWorkbench changes into a fresh directory with run.yaml, experiment.yaml and text.txt.
func newWorkbench(t *testing.T) *workbench {
	t.Helper()
	w := &workbench{t, t.TempDir()}
	t.Chdir(w.dir)
	w.write("text.txt", strings.Repeat("the quick brown fox jumps over the lazy dog\n", 60))
	w.write("run.yaml", tinyRun)
	w.write("experiment.yaml", tinyExperiment)
	return w
}

func (w *workbench) write(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o666); err != nil {
		w.t.Fatal(err)
	}
}

func (w *workbench) read(name string) string {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

// run runs a command line in this process.
func (w *workbench) run(args ...string) (code int, stdout, stderr string) {
	w.t.Helper()
	var out, err bytes.Buffer
	code = Run(args, &out, &err)
	return code, out.String(), err.String()
}

// want runs a command line, expects an exit code and texts on standard error,
// and returns standard output.
func (w *workbench) want(code int, args string, texts ...string) string {
	w.t.Helper()
	got, stdout, stderr := w.run(strings.Fields(args)...)
	if got != code {
		w.t.Errorf("ablate %s ends with %d, want %d:\n%s", args, got, code, stderr)
	}
	for _, text := range texts {
		if !strings.Contains(stderr, text) {
			w.t.Errorf("ablate %s does not say %q:\n%s", args, text, stderr)
		}
	}
	return stdout
}

// summary is the one JSON document that a training command printed.
func (w *workbench) summary(stdout string) (s metrics.Summary) {
	w.t.Helper()
	w.document(stdout, &s)
	return s
}

// document decodes a standard output that must be exactly one JSON document.
func (w *workbench) document(stdout string, v any) {
	w.t.Helper()
	d := json.NewDecoder(strings.NewReader(stdout))
	if err := d.Decode(v); err != nil {
		w.t.Fatalf("%q: %v", stdout, err)
	}
	if _, err := d.Token(); err != io.EOF {
		w.t.Errorf("more than one document: %q", stdout)
	}
}

// entries lists what is in the directory.
func (w *workbench) entries() string {
	w.t.Helper()
	var names []string
	entries, err := os.ReadDir(w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// A process is the command as a process of its own.
type process struct {
	*exec.Cmd
	t              testing.TB
	stdout, stderr bytes.Buffer
}

// prepare is a command line in the directory of the workbench, not yet started.
func (w *workbench) prepare(args ...string) *process {
	p := &process{Cmd: exec.Command(os.Args[0], args...), t: w.t}
	p.Dir = w.dir
	p.Env = append(os.Environ(), beAblate+"=1")
	p.Stdout, p.Stderr = &p.stdout, &p.stderr
	return p
}

// start starts a command line.
func (w *workbench) start(args ...string) *process {
	w.t.Helper()
	p := w.prepare(args...)
	if err := p.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { p.Process.Kill() })
	return p
}

// code waits for the end and returns the exit code; −1 for a death by signal.
func (p *process) code() int {
	p.t.Helper()
	p.Wait() // reports what ExitCode says
	return p.ProcessState.ExitCode()
}

// waitFor waits until something is there.
func waitFor(t testing.TB, pattern string) {
	t.Helper()
	for begun := time.Now(); time.Since(begun) < time.Minute; time.Sleep(time.Millisecond) {
		if found, err := filepath.Glob(pattern); err != nil {
			t.Fatal(err)
		} else if len(found) > 0 {
			return
		}
	}
	t.Fatalf("%s did not appear", pattern)
}

// cellDirs lists the directories of cells below runs/NAME.
func (w *workbench) cellDirs(name string) []string {
	w.t.Helper()
	dirs, err := filepath.Glob(filepath.Join(w.dir, "runs", name, results.CellsDir, "*"))
	if err != nil {
		w.t.Fatal(err)
	}
	return dirs
}

// outcome is everything of all cells below a directory of runs that must not depend
// on how often they were interrupted.
func (w *workbench) outcome(runs string) string {
	w.t.Helper()
	var b strings.Builder
	for _, name := range []string{metrics.StepsFile, metrics.LayersFile, results.SummaryFile} {
		files, err := filepath.Glob(filepath.Join(w.dir, runs, "*", results.CellsDir, "*", name))
		if err != nil || len(files) == 0 {
			w.t.Fatalf("no %s below %s: %v", name, runs, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				w.t.Fatal(err)
			}
			if name == results.SummaryFile {
				var s metrics.Summary
				if err := json.Unmarshal(text, &s); err != nil {
					w.t.Fatal(err)
				}
				s.Dir, s.TokensPerS, s.PeakRSSBytes = "", metrics.Value{}, 0 // of the session, not of the run
				text, _ = json.Marshal(s)
			}
			b.WriteString(filepath.Base(filepath.Dir(file)) + " " + name + "\n" + string(text))
		}
	}
	return b.String()
}
