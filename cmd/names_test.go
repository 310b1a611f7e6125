package cmd

import (
	"encoding/csv"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"ablate/experiments/results"
)

// hostile are names that do harm where they are taken for something else: markup,
// a formula, a path, an escape sequence.
var hostile = []string{
	`</script><script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `=cmd|'/c calc'!A1`, `+1+1`, `@SUM(A1)`, `../../outside`, `/absolute`, `..`, `.`, `con`,
	"a\nb\rc", "\x1b[31mred\x1b]0;title\a", "\u202egnp.exe", strings.Repeat("long", 75), `back\slash`, `quote"s and 'ticks'`, "nul\\0", "naïve · 日本", " ", "--out", "$(touch pwned)", "{{.Dir}}",
}

// quoted writes a name as a double-quoted YAML string.
func quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteString("\\" + string(r))
		case r < ' ' || r == 0x202e:
			fmt.Fprintf(&b, "\\u%04x", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String() + `"`
}

// TestHostileNames runs an experiment of each name, as a file would have it, end to
// end: nothing leaves the directory of runs, and nothing that is shown acts.
func TestHostileNames(t *testing.T) {
	w := newWorkbench(t)
	if err := os.Mkdir("inner", 0o777); err != nil {
		t.Fatal(err)
	}
	for i, name := range hostile {
		text := strings.Replace(tinyExperiment, "name: places", "name: "+quoted(name), 1)
		text = strings.Replace(text, "question: Which one?", "question: "+quoted(name)+"\npaper: "+quoted(name)+"\nexpect: "+quoted(name), 1)
		text = strings.Replace(text, "axes:", "  salt: "+quoted(name)+"\naxes:", 1)
		text = strings.Replace(text, "steps: 6", "steps: 1", 1)
		w.write("hostile.yaml", text)
		runs := "inner/runs"
		code, stdout, stderr := w.run("run", "hostile.yaml", "--out", runs, "--progress", "plain", "model.placement=pre")
		if code != exitDone {
			t.Errorf("%q ends with %d: %s", name, code, stderr)
			continue
		}
		harmless(t, name, stdout+stderr)
		dir := filepath.Join(runs, results.PathName(name))
		checkPageOf(t, name, w.read(filepath.Join(dir, results.ReportFile)))
		checkTables(t, dir)
		commands := [][]string{{"show", dir}, {"show", dir, "--json"}, {"report", dir}, {"plot", "loss", dir, "--file", "inner/plot.svg"}}
		if i > 1 { // drawing takes its time, and draws what run has drawn
			commands = commands[:2]
		}
		for _, args := range commands {
			code, stdout, stderr := w.run(args...)
			if code != exitDone {
				t.Errorf("%q: ablate %v ends with %d: %s", name, args, code, stderr)
			}
			harmless(t, name, stdout+stderr)
		}
	}
	if got := w.entries(); got != "experiment.yaml hostile.yaml inner run.yaml text.txt" {
		t.Errorf("the directory holds %s", got)
	}
	if made, _ := os.ReadDir("inner/runs"); len(made) != len(hostile) {
		t.Errorf("%d names made %d directories", len(hostile), len(made))
	}
}

// harmless looks for what a terminal would act upon.
func harmless(t *testing.T, name, text string) {
	t.Helper()
	for _, r := range text {
		if r != '\n' && (unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r)) {
			t.Errorf("%q: %U is printed in %q", name, r, text)
			return
		}
	}
}

var script = regexp.MustCompile(`(?i)<script|<img|onerror\s*=\s*alert\(1\)>`)

// checkPageOf looks for markup that came from the name.
func checkPageOf(t *testing.T, name, html string) {
	t.Helper()
	if script.MatchString(html) && strings.ContainsAny(name, "<>") {
		for _, at := range script.FindAllStringIndex(html, -1) {
			if context := html[at[0]:min(len(html), at[1]+20)]; strings.Contains(context, "alert") || strings.HasPrefix(context, "<img") {
				t.Errorf("%q is markup on the page: %q", name, context)
			}
		}
	}
	if strings.Contains(html, "https://") && regexp.MustCompile(`(?i)(src|href)="https?:`).MatchString(html) {
		t.Errorf("%q: the page asks others", name)
	}
}

// checkTables looks for cells that a spreadsheet would run.
func checkTables(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".csv" {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		rows, err := csv.NewReader(f).ReadAll()
		for _, row := range rows {
			for _, cell := range row {
				if cell != "" && strings.ContainsRune("=+@", rune(cell[0])) {
					t.Errorf("%s: a cell is %q", path, cell)
				}
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestLinksOutOfTheRun: a symbolic link below the directory of an experiment leads
// no writer out of it.
func TestLinksOutOfTheRun(t *testing.T) {
	w := newWorkbench(t)
	w.want(exitDone, "run experiment.yaml --progress off --index 0")
	outside := filepath.Join(w.dir, "outside")
	figures := filepath.Join(w.dir, "runs", "places", results.FiguresDir)
	if err := os.RemoveAll(figures); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(outside, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, figures); err != nil {
		t.Skip(err)
	}
	if code, _, _ := w.run("report", "runs/places"); code == exitDone {
		t.Error("the report was written through a link")
	}
	if left, _ := os.ReadDir(outside); len(left) > 0 {
		t.Errorf("%v was written outside", left)
	}
}

// TestReadOnlyOutput: without the right to write there is one error, before any work.
func TestReadOnlyOutput(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	w := newWorkbench(t)
	if err := os.Mkdir("locked", 0o555); err != nil {
		t.Fatal(err)
	}
	w.want(exitUsage, "train run.yaml --out locked/runs", "--out locked/runs", "permission denied")
}
