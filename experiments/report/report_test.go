package report

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ablate/experiments/results"
	"ablate/experiments/results/resultstest"
	"ablate/train/metrics"
)

func fabricate(t *testing.T, s resultstest.Spec) string {
	t.Helper()
	dir := t.TempDir()
	s.Write(t, dir)
	return dir
}

func load(t *testing.T, dir string) *source {
	t.Helper()
	e, err := results.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return newSource(e)
}

// read returns every file of a directory but the runs, by name.
func read(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && d.Name() == results.CellsDir {
				return fs.SkipDir
			}
			return err
		}
		b, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		files[filepath.ToSlash(rel)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// wellFormed parses XML to its end and returns the text between its tags.
func wellFormed(t *testing.T, name, text string) string {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	var words strings.Builder
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return words.String()
		}
		if err != nil {
			t.Fatalf("%s is not XML: %v", name, err)
		}
		if c, ok := token.(xml.CharData); ok {
			words.Write(c)
		}
	}
}

// hard is an experiment with everything that goes wrong: an arm that diverged
// whole, zeros, NaN and absurd numbers in profiles, and names that attack.
func hard() resultstest.Spec {
	s := resultstest.Depth()
	s.YAML = "name: </title><script>alert(1)</script>\nquestion: '\"><img src=x onerror=alert(2)>'\nshow: [val_ppl, grad_profile, stream_profile, loss_curves, grad_heatmap, <b>lr_range]\n"
	for _, a := range s.Arms {
		if a[0] == "pre" {
			a[0] = "</text></svg><script>alert(3)</script>=cmd|x"
		}
	}
	s.Diverge = func(v []any, seed int64) bool { return v[0] == "post" && v[1] == 24 }
	s.Unstable = func(v []any, step int64, layer int) float64 {
		switch {
		case v[0] == "post" && v[1] == 8 && layer == 3:
			return 0
		case v[0] == "post" && v[1] == 24 && step > 100 && layer > 20:
			return math.NaN()
		case v[0] != "post" && v[1] == 24 && step == 150:
			return 1e305
		case v[0] != "post" && v[1] == 24 && step == 160:
			return 1e-320
		}
		return 1
	}
	return s
}

func TestWrite(t *testing.T) {
	for name, spec := range map[string]resultstest.Spec{"depth": resultstest.Depth(), "activations": resultstest.Activations(), "hard": hard()} {
		t.Run(name, func(t *testing.T) {
			dir := fabricate(t, spec)
			if err := Write(dir); err != nil {
				t.Fatal(err)
			}
			files := read(t, dir)
			html := files[results.ReportFile]
			for _, f := range load(t, dir).Show {
				if _, err := find(f); err != nil {
					continue
				}
				wellFormed(t, f, files["figures/"+f+".svg"])
				if _, err := png.Decode(strings.NewReader(files["figures/"+f+".png"])); err != nil {
					t.Errorf("%s.png: %v", f, err)
				}
				rows, err := csv.NewReader(strings.NewReader(files["figures/"+f+".csv"])).ReadAll()
				if err != nil || len(rows) < 7 {
					t.Errorf("%s.csv: %d rows, %v", f, len(rows), err)
				}
				if !strings.Contains(html, `<figure id="`+f+`">`) {
					t.Errorf("the page has no %s", f)
				}
			}
			checkPage(t, html)
			if err := Write(dir); err != nil {
				t.Fatal(err)
			}
			for name, again := range read(t, dir) {
				if again != files[name] {
					t.Errorf("%s is not the same when it is drawn again", name)
				}
			}
		})
	}
}

// checkPage looks for what a page must not have, whatever the names of its runs.
func checkPage(t *testing.T, html string) {
	t.Helper()
	if !strings.HasPrefix(html, "<!DOCTYPE html>") || strings.Contains(html, "ZgotmplZ") {
		t.Error("the template did not come out whole")
	}
	for _, bad := range []string{"<script", "<img", "onerror=alert(2)>\n", "<b>", "javascript:"} {
		if strings.Contains(html, bad) {
			t.Errorf("the page contains %q", bad)
		}
	}
	for _, address := range regexp.MustCompile(`(?:src|href|xlink:href)="([^"]*)"|url\(([^)]*)\)|@import`).FindAllStringSubmatch(html, -1) {
		if !strings.HasPrefix(address[1], "figures/") && !strings.HasPrefix(address[1], "tables/") {
			t.Errorf("the page refers to %q", address[0])
		}
	}
	for _, svg := range regexp.MustCompile(`(?s)<svg .*?</svg>`).FindAllString(html, -1) {
		wellFormed(t, "a figure of the page", svg)
		if strings.Contains(svg, "NaN,") || strings.Contains(svg, ",NaN") || strings.Contains(svg, "Inf,") {
			t.Error("a figure has coordinates that are no numbers")
		}
	}
}

// Every colour of a figure on the page is a variable, and what is neither a
// heat map's nor its zero has another value in the dark.
func TestDark(t *testing.T) {
	dir := fabricate(t, resultstest.Depth())
	s := load(t, dir)
	figures, _, err := s.figures()
	if err != nil {
		t.Fatal(err)
	}
	rules := darkColours(figures)
	heat := map[string]bool{}
	for i := -2; i < shades; i++ {
		heat[hexOf(shadeColour(i))] = true
	}
	for _, f := range figures {
		svg, err := f.inline(wide, "wide")
		if err != nil {
			t.Fatal(err)
		}
		if bare := regexp.MustCompile(`[:"]#[0-9A-F]{6}`).FindString(svg); bare != "" {
			t.Errorf("%s has the bare colour %s", f.name, bare)
		}
		for _, m := range regexp.MustCompile(`var\(--c([0-9A-F]{6})`).FindAllStringSubmatch(svg, -1) {
			if !heat[m[1]] && !strings.Contains(rules, "--c"+m[1]+":") {
				t.Errorf("%s: no dark partner for #%s", f.name, m[1])
			}
		}
	}
}

// Zeros, NaN and diverged runs are in the numbers and on the drawing.
func TestNothingIsDropped(t *testing.T) {
	s := load(t, fabricate(t, hard()))
	f, err := gradProfile(s)
	if err != nil {
		t.Fatal(err)
	}
	numbers, err := f.csv()
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(numbers)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	has := func(status, value string) bool {
		return slices.ContainsFunc(rows, func(r []string) bool { return r[3] == status && r[8] == value })
	}
	if !has("done", "0") || !has("diverged", "NaN") {
		t.Errorf("zero is there: %v; NaN of a diverged run is there: %v", has("done", "0"), has("diverged", "NaN"))
	}
	if want := "=cmd|x"; !strings.HasSuffix(rows[len(rows)-1][0], want) || strings.HasPrefix(rows[len(rows)-1][0], "=") {
		t.Errorf("the arm's name in the CSV is %q", rows[len(rows)-1][0])
	}
	svg, err := f.inline(wide, "wide")
	if err != nil {
		t.Fatal(err)
	}
	words := wellFormed(t, "figure", svg)
	for _, want := range []string{"8 layers, 4 of 8: 0", "24 layers, seed 1 (diverged), 24 of 24, step 150: NaN"} {
		if !strings.Contains(words, want) {
			t.Errorf("the figure does not tell %q", want)
		}
	}
}

func TestPartialDirectories(t *testing.T) {
	dir := fabricate(t, resultstest.Depth())
	id := load(t, dir).Arms[0].Runs[0].ID
	single := filepath.Join(dir, results.CellDir(id))
	if err := Write(single); err != nil {
		t.Errorf("a single run: %v", err)
	}
	html := read(t, single)[results.ReportFile]
	if !strings.Contains(html, "1 arm, 1 run") || !strings.Contains(html, `id="loss_curves"`) {
		t.Error("the page of a single run lacks its course")
	}
	for _, name := range []string{metrics.LayersFile, results.ManifestFile, results.SummaryFile, metrics.StepsFile} {
		for _, a := range load(t, dir).Arms {
			for _, r := range a.Runs {
				if err := os.Remove(filepath.Join(dir, results.CellDir(r.ID), name)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := Write(dir); err != nil {
			t.Errorf("without %s: %v", name, err)
		}
	}
	if html := read(t, dir)[results.ReportFile]; !strings.Contains(html, "No run has finished") || !strings.Contains(html, "for which there are no numbers yet") {
		t.Error("a page without any result does not say so")
	}
}

func TestFaultyRunIsNamed(t *testing.T) {
	dir := fabricate(t, resultstest.Depth())
	path := filepath.Join(dir, results.CellDir(load(t, dir).Arms[1].Runs[1].ID), metrics.LayersFile)
	if err := os.WriteFile(path, []byte("{}\n{\"quantity\":\"grad_norm\",}\n{}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := Write(dir); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("got %v; want the file and the line", err)
	}
}

func TestPlot(t *testing.T) {
	dir, out := fabricate(t, resultstest.Depth()), t.TempDir()
	for _, k := range kinds {
		for magic, ext := range map[string]string{"<?xml": ".svg", "\x89PNG": ".PNG", "%PDF": ".pdf"} {
			for _, name := range []string{k.name, k.alias} {
				if name == k.alias && ext != ".svg" {
					continue // slow, and the same
				}
				file := filepath.Join(out, name+ext)
				if err := Plot(name, dir, file); err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				if b, err := os.ReadFile(file); err != nil || !bytes.HasPrefix(b, []byte(magic)) {
					t.Errorf("%s is no such file: %v", file, err)
				}
				if _, err := os.Stat(filepath.Join(out, name+".csv")); err != nil {
					t.Error(err)
				}
			}
		}
	}
	for _, c := range []struct{ name, dir, file, want string }{
		{"histogram", dir, "x.png", "val_ppl"},
		{"loss", dir, filepath.Join(out, "x.gif"), ".svg"},
		{"loss", dir, filepath.Join(out, "x"), ".svg"},
		{"loss", out, filepath.Join(out, "x.png"), results.CellsFile},
		{"loss", dir, filepath.Join(out, "absent", "x.png"), "absent"},
	} {
		if err := Plot(c.name, c.dir, c.file); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Plot(%q, …, %q): %v; want an error that speaks of %s", c.name, c.file, err, c.want)
		}
	}
}

// Many arms, more than there are colours, and two axes beside depth.
func TestManyArms(t *testing.T) {
	many := resultstest.Activations()
	many.Arms, many.YAML, many.Seeds, many.Steps = nil, "name: many\n", []int64{1, 2}, 60
	for i := range 14 {
		many.Arms = append(many.Arms, []any{fmt.Sprintf("activation number %d", i)})
	}
	grid := resultstest.Depth()
	grid.Axes = append(grid.Axes, "model.init")
	grid.Arms, grid.Steps = nil, 60
	for _, p := range []any{"post", "pre", "sandwich"} {
		for _, l := range []any{2, 4} {
			for _, init := range []any{"xavier", "gpt2"} {
				grid.Arms = append(grid.Arms, []any{p, l, init})
			}
		}
	}
	for _, s := range []resultstest.Spec{many, grid} {
		dir := fabricate(t, s)
		if err := Write(dir); err != nil {
			t.Fatal(err)
		}
		checkPage(t, read(t, dir)[results.ReportFile])
	}
}
