package cmd

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ablate/experiments/results"
)

// TestJSONIsOneDocument: with --json, standard output is exactly one document,
// whatever the command and however it ends; or nothing, where it never began.
func TestJSONIsOneDocument(t *testing.T) {
	w := newWorkbench(t)
	w.want(exitDone, "run experiment.yaml --progress off")
	w.want(exitDone, "train run.yaml --progress off")
	cell := w.cellDirs("tiny")[0]
	for _, args := range []string{
		"train run.yaml", "train run.yaml --progress json", "train run.yaml --fail-if val_ppl>1", "train run.yaml train.lr=1e30 train.weight_decay=0",
		"run experiment.yaml", "run experiment.yaml --dry-run", "run experiment.yaml --index 1 --force --progress bar", "report runs/places", "show runs/places", "show " + cell,
		"plot grads runs/places --file f.svg", "inspect run.yaml", "presets", "presets t5-small", "experiments", "experiments depth", "config keys", "config print run.yaml", "config schema",
	} {
		_, stdout, stderr := w.run(append(strings.Fields(args), "--json")...)
		if d := json.NewDecoder(strings.NewReader(stdout)); true {
			var v any
			if err := d.Decode(&v); err != nil {
				t.Errorf("ablate %s --json prints %.80q: %v; %s", args, stdout, err, stderr)
			} else if _, err := d.Token(); err != io.EOF {
				t.Errorf("ablate %s --json prints more than one document", args)
			}
		}
		if strings.Contains(args, "json") {
			for line := range strings.Lines(stderr) {
				if !json.Valid([]byte(line)) {
					t.Errorf("ablate %s: an event is %q", args, line)
				}
			}
		}
	}
	for _, args := range []string{"train nosuch.yaml", "run experiment.yaml model.heads=3", "train run.yaml --nosuch", "nosuch"} {
		if _, stdout, _ := w.run(append(strings.Fields(args), "--json")...); stdout != "" {
			t.Errorf("ablate %s prints %q", args, stdout)
		}
	}
}

// TestPlainProgress: into a pipe or a file, in CI, under TERM=dumb and NO_COLOR, and
// when asked for, progress is lines without control characters.
func TestPlainProgress(t *testing.T) {
	w := newWorkbench(t)
	for _, env := range []string{"TERM=xterm-256color", "TERM=dumb", "CI=true", "NO_COLOR=1", "COLUMNS=20"} {
		for _, mode := range []string{"auto", "plain", "off"} {
			name, value, _ := strings.Cut(env, "=")
			t.Setenv(name, value)
			_, stdout, stderr := w.run("train", "run.yaml", "--force", "--progress", mode, "train.steps=3")
			for _, text := range []string{stdout, stderr} {
				if i := strings.IndexFunc(text, func(r rune) bool { return r < ' ' && r != '\n' }); i >= 0 {
					t.Errorf("%s, %s: %q is printed", env, mode, text[max(0, i-20):i+1])
				}
			}
			if lines := strings.Count(stderr, "\n"); mode == "off" && lines > 0 || lines > 10 {
				t.Errorf("%s, %s: %d lines for a short run", env, mode, lines)
			}
			os.Unsetenv(name)
		}
	}
}

// TestCut: words beside a bar never make it wrap.
func TestCut(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{{"step 1/2", 20, "step 1/2"}, {"step 1/2", 8, "step 1/2"}, {"step 1/2", 5, "step…"}, {"ä ö ü", 3, "ä …"}, {"unknown width", 0, "unknown width"}} {
		if got := cut(c.text, c.width); got != c.want {
			t.Errorf("cut(%q, %d) is %q, want %q", c.text, c.width, got, c.want)
		}
	}
}

// TestHelpNamesEveryFlag: each command explains itself, and a stranger finds the
// commands from the first one.
func TestHelpNamesEveryFlag(t *testing.T) {
	w := newWorkbench(t)
	root := w.want(exitDone, "")
	a := &app{}
	for _, c := range a.commands() {
		if !regexp.MustCompile(`(?m)^  ` + c.Name() + ` `).MatchString(root) {
			t.Errorf("ablate does not list %s", c.Name())
		}
		if help := w.want(exitDone, c.Name()+" --help"); !strings.Contains(help, c.Short) && !strings.Contains(help, c.Long) {
			t.Errorf("%s --help is %q", c.Name(), help)
		}
	}
	if _, err := os.Stat(results.CellsDir); err == nil {
		t.Error("help has made cells")
	}
}

// TestProfilesAreNamed: what was run quickly says so, and what leaves a report with another run of the same name is counted.
func TestProfilesAreNamed(t *testing.T) {
	w := newWorkbench(t)
	w.write("quick.yaml", strings.Replace(tinyExperiment, "seeds: [1, 2]", "seeds: [1, 2]\nquick: {seeds: [1]}", 1))
	for _, c := range []struct {
		args    string
		quick   bool
		dropped string
	}{
		{"run experiment.yaml name=none", false, ""},
		{"run quick.yaml", true, ""},
		{"run quick.yaml", true, ""},
		{"run runs/places/experiment.yaml", true, ""}, // what was run, by its own file
		{"run quick.yaml --profile full", false, ""},  // it has those cells, and more
		{"run quick.yaml model.placement=pre", true, "of which 3 are not part of this one"},
	} {
		code, stdout, stderr := w.run(append(strings.Fields(c.args), "--progress", "off")...)
		dir := "runs/places"
		if strings.Contains(c.args, "none") {
			dir = "runs/none"
		}
		page, err := os.ReadFile(filepath.Join(dir, results.ReportFile))
		if err != nil || code != exitDone {
			t.Fatalf("%s: %d, %v: %s", c.args, code, err, stderr)
		}
		inHead, inNotes := strings.Contains(string(page), ", quick profile · ") || strings.Contains(string(page), ", quick profile</p>"), strings.Contains(string(page), "quick profile:")
		if strings.Contains(stdout, "quick profile:") != c.quick || inHead != c.quick || inNotes != c.quick {
			t.Errorf("%s names the quick profile: %v\n%s", c.args, !c.quick, stdout)
		}
		if c.dropped == "" && stderr != "" || !strings.Contains(stderr, c.dropped) {
			t.Errorf("%s says %q, want %q", c.args, stderr, c.dropped)
		}
	}
}
