package results_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"ablate/experiments/results"
	"ablate/experiments/results/resultstest"
	"ablate/experiments/stats"
	"ablate/train/metrics"
)

func load(t *testing.T, dir string) *results.Experiment {
	t.Helper()
	e, err := results.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// recorded is the run that has left some records.
func recorded(t *testing.T, record func(*metrics.Files)) *results.Run {
	t.Helper()
	dir := t.TempDir()
	sink, err := metrics.OpenFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	record(sink)
	if err := sink.Close(); err != nil {
		t.Fatal(err)
	}
	return load(t, dir).Arms[0].Runs[0]
}

func TestLoadAndTable(t *testing.T) {
	dir := t.TempDir()
	resultstest.Depth().Write(t, dir)
	e := load(t, dir)
	if e.Name != "depth" || len(e.Arms) != 6 || len(e.Show) != 5 || !strings.HasPrefix(e.Paper, "Xiong") {
		t.Fatalf("loaded as %+v", e)
	}
	var names []string
	for _, a := range e.Arms {
		names = append(names, a.Name())
	}
	if want := []string{"post · 2 layers", "post · 8 layers", "post · 24 layers", "pre · 2 layers", "pre · 8 layers", "pre · 24 layers"}; !slices.Equal(names, want) {
		t.Errorf("arms %v, want %v", names, want)
	}
	tab, err := e.Table()
	if err != nil {
		t.Fatal(err)
	}
	col := func(key string) int {
		return slices.IndexFunc(tab.Columns, func(c results.Column) bool { return c.Key == key })
	}
	bad, good := tab.Rows[2], tab.Rows[5]
	if bad[col("n")] != int64(1) || bad[col("diverged")] != int64(1) || good[col("n")] != int64(2) || good[col("diverged")] != int64(0) {
		t.Errorf("the diverged run is not counted apart: %v, %v", bad, good)
	}
	if ppl := bad[col("val_ppl")].(stats.Estimate); ppl.N != 1 || ppl.HasInterval() || math.IsNaN(ppl.Mean) {
		t.Errorf("the diverged run entered the mean: %+v", ppl)
	}
	if g := good[col("grad_first")].(stats.Estimate); g.N != 2 || !(g.Lo < g.Mean && g.Mean < g.Hi) {
		t.Errorf("gradient of the first block: %+v", g)
	}
}

// TestInfinitePerplexity: a loss of 800 nats is finite and its perplexity is not. The run has finished all the same, and
// takes the mean with it.
func TestInfinitePerplexity(t *testing.T) {
	run := func(seed int64, loss float64) *results.Run {
		return &results.Run{
			Cell:    results.Cell{Seed: seed, Status: metrics.Done},
			Summary: &metrics.Summary{Status: metrics.Done, ValLoss: metrics.Known(loss), ValPPL: metrics.Known(math.Exp(loss))},
		}
	}
	a := &results.Arm{Runs: []*results.Run{run(1, 1), run(2, 800), run(3, 2), {Cell: results.Cell{Seed: 4, Status: metrics.Diverged}}, {Cell: results.Cell{Seed: 5}}}}
	ppl := a.Estimate(func(s *metrics.Summary) metrics.Value { return s.ValPPL })
	if text := results.Interval(ppl); ppl.N != 3 || a.Finished() != 3 || text != "+Inf" {
		t.Errorf("%d of %d runs have a mean perplexity of %s: %+v", ppl.N, a.Finished(), text, ppl)
	}
	tab, err := (&results.Experiment{Arms: []*results.Arm{a}}).Table()
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]int64{"n": 3, "diverged": 1, "unfinished": 1} {
		i := slices.IndexFunc(tab.Columns, func(c results.Column) bool { return c.Key == key })
		if got := tab.Rows[0][i]; got != want {
			t.Errorf("%s is %v, want %d", key, got, want)
		}
	}
}

// A report can be drawn while cells are still running, and of a single run.
func TestLoadPartial(t *testing.T) {
	dir := t.TempDir()
	resultstest.Depth().Write(t, dir)
	id := load(t, dir).Arms[0].Runs[0].ID
	cell := filepath.Join(dir, "cells", id)

	one := load(t, cell)
	if len(one.Arms) != 1 || len(one.Axes) != 0 || one.Name != id || !one.Arms[0].Runs[0].Finished() {
		t.Errorf("a single run loads as %+v", one)
	}
	if _, err := one.Table(); err != nil {
		t.Error(err)
	}

	for _, name := range []string{results.SummaryFile, metrics.StepsFile, metrics.LayersFile, results.ManifestFile} {
		if err := os.Remove(filepath.Join(cell, name)); err != nil {
			t.Fatal(err)
		}
		e := load(t, dir)
		if _, err := e.Table(); err != nil {
			t.Errorf("without %s: %v", name, err)
		}
		if r := e.Arms[0].Runs[0]; r.Finished() != (name != results.SummaryFile && r.Summary != nil) {
			t.Errorf("without %s the run counts as finished", name)
		}
	}

	if err := os.Remove(filepath.Join(dir, results.CellsFile)); err != nil {
		t.Fatal(err)
	}
	if e := load(t, dir); len(e.Arms) != 12 || !slices.Equal(e.Axes, []string{"run"}) {
		t.Errorf("without cells.json there are %d arms over %v, want one for each run", len(e.Arms), e.Axes)
	}
	if _, err := results.Load(t.TempDir()); err == nil || !strings.Contains(err.Error(), results.CellsFile) {
		t.Errorf("an empty directory: %v", err)
	}
}

func TestFaultyFilesAreNamed(t *testing.T) {
	for name, content := range map[string]string{
		results.ExperimentFile: "name: [\n",
		results.CellsFile:      `{"format":1,"cells":[{"id":"../../etc"}]}`,
	} {
		dir := t.TempDir()
		resultstest.Depth().Write(t, dir)
		if err := results.WriteFile(dir, name, []byte(content)); err != nil {
			t.Fatal(err)
		}
		if _, err := results.Load(dir); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v, want an error that names the file", name, err)
		}
	}
}

func TestCellsCheckReportsAll(t *testing.T) {
	c := results.Cells{Format: 9, Axes: []string{"a"}, Cells: []results.Cell{
		{Index: 0, ID: "0123456789ab", Values: []any{1}, Status: results.Pending},
		{Index: 5, ID: "0123456789ab", Values: nil, Status: "fine"},
		{Index: 2, ID: "../012345678", Values: []any{1}, Status: metrics.Done},
	}}
	err := c.Write(t.TempDir())
	for _, want := range []string{"format 9", "index 5", "same id", "0 values for 1 axes", `"fine"`, `"../012345678"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not speak of %s", err, want)
		}
	}
}

func TestPathName(t *testing.T) {
	for _, name := range []string{"depth", "a.b-c_1", "Tiny2"} {
		if got := results.PathName(name); got != name {
			t.Errorf("PathName(%q) = %q; nothing was wrong with it", name, got)
		}
	}
	seen := map[string]string{}
	for _, name := range []string{"", ".", "..", "../x", "..\\x", "/etc/passwd", "a/b", "a_b/", "a\nb", "a b", "</script><script>", "=cmd|x", "CON", "con.txt",
		"lpt1", ".hidden", "x.", "é", strings.Repeat("x", 300), strings.Repeat("x", 301), "\x00"} {
		got := results.PathName(name)
		if got == "" || strings.Trim(got, ".") == "" || got[0] == '.' || strings.ContainsAny(got, "/\\\x00<>|:\n ") || len(got) > 80 || !filepath.IsLocal(got) {
			t.Errorf("PathName(%q) = %q", name, got)
		}
		if other, dup := seen[got]; dup {
			t.Errorf("%q and %q both become %q", name, other, got)
		}
		seen[got] = name
	}
}

func TestWriteFileStaysInside(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	if runtime.GOOS != "windows" {
		if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
			t.Fatal(err)
		}
		if err := results.WriteFile(dir, "link/x", nil); err == nil {
			t.Error("wrote through a symbolic link that leads out")
		}
	}
	for _, name := range []string{"../x", "/etc/x", "a/../../x"} {
		if err := results.WriteFile(dir, name, nil); err == nil {
			t.Errorf("wrote %s", name)
		}
	}
	for _, want := range []string{"old", "new"} {
		if err := results.WriteFile(dir, "a/b/c.json", []byte(want)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, "a", "b", "c.json")); err != nil || string(got) != want {
			t.Errorf("read %q, %v", got, err)
		}
	}
	left, err := os.ReadDir(filepath.Join(dir, "a", "b"))
	if err != nil || len(left) != 1 {
		t.Errorf("temporary files are left: %v, %v", left, err)
	}
	if err := results.WriteFile(filepath.Join(dir, "absent"), "x", nil); err == nil {
		t.Error("made the experiment's directory, which is not its business")
	}
}

func TestLabel(t *testing.T) {
	for _, c := range []struct {
		v    any
		want string
	}{
		{"pre", "pre"}, {24, "24"}, {1e-3, "0.001"}, {json.Number("1e-3"), "1e-3"}, {true, "true"}, {nil, "null"},
		{map[string]any{"kind": "xavier"}, "xavier"}, {map[string]any{"kind": "mix", "k": 3.0}, "mix(k=3)"},
		{map[string]any{"b": 1, "a": "x"}, "{a=x, b=1}"}, {[]any{"a", 1}, "[a, 1]"},
		{"two\nlines\x1b[31m\u202e", `"two\nlines\x1b[31m\u202e"`}, {"\xff", `"\xff"`}, {`"a"`, `"\"a\""`}, {`a "b"`, `a "b"`},
	} {
		if got := results.Label(c.v); got != c.want {
			t.Errorf("Label(%v) = %q, want %q", c.v, got, c.want)
		}
	}
}

// TestArmsThatLookAlike: arms are what their values are, whatever can be shown of them.
func TestArmsThatLookAlike(t *testing.T) {
	spec := resultstest.Activations()
	spec.Arms = [][]any{{"\x01"}, {"\x02"}, {"\t=1"}, {" =1"}, {"\ufffd"}}
	dir := t.TempDir()
	spec.Write(t, dir)
	labels := map[string]bool{}
	for _, a := range load(t, dir).Arms {
		labels[a.Name()] = true
		if len(a.Runs) != len(spec.Seeds) {
			t.Errorf("arm %q has %d runs", a.Name(), len(a.Runs))
		}
	}
	if len(labels) != len(spec.Arms) {
		t.Errorf("%d arms are shown as %v", len(spec.Arms), labels)
	}
}

func TestNumbers(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 1: "1.000", 9.99996: "10.00", 123456: "123456", 0.00012345: "1.23e-04", 1234567: "1.23e+06", -0.5: "-0.5000", math.Inf(1): "+Inf"} {
		if got := results.Number(x); got != want {
			t.Errorf("Number(%v) = %q, want %q", x, got, want)
		}
	}
	for _, c := range []struct {
		e    stats.Estimate
		want string
	}{
		{stats.T95(nil), "–"},
		{stats.T95([]float64{12.345}), "12.35"},
		{stats.Estimate{N: 3, Mean: 12.345, Lo: 12.345 - 0.0456, Hi: 12.345 + 0.0456}, "12.345 ± 0.046"},
		{stats.Estimate{N: 3, Mean: 1234.5, Lo: 1234.5 - 321, Hi: 1234.5 + 321}, "1234 ± 321"},
		{stats.Estimate{N: 2, Mean: 5, Lo: 5, Hi: 5}, "5.000 ± 0"},
		{stats.Estimate{N: 2, Mean: 1, Lo: 0.5, Hi: 2}, "1.000 [0.5000, 2.000]"},
	} {
		if got := results.Interval(c.e); got != c.want {
			t.Errorf("Interval(%+v) = %q, want %q", c.e, got, c.want)
		}
	}
}

func hostile() *results.Table {
	return &results.Table{
		Columns: []results.Column{{Key: "name", Title: "na_me", Text: true}, {Key: "x", Title: "x"}, {Key: "e", Title: "e"}},
		Rows: [][]any{
			{`=cmd|' /C calc'!A0`, metrics.Known(math.NaN()), stats.T95(nil)},
			{`</script><b>|_*`, metrics.Known(-1.5), stats.T95([]float64{1})},
			{`50% \ {x} & $y ^~`, metrics.Value{}, stats.T95([]float64{1, 1})},
			{"-1e3", metrics.Known(math.Inf(-1)), stats.T95([]float64{2})},
			{"@x,\"y\"\nz", metrics.Known(2), stats.T95([]float64{2})},
		},
	}
}

func format(t *testing.T, tab *results.Table, name string) string {
	t.Helper()
	var b bytes.Buffer
	if err := tab.Write(&b, name); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestFormatsEscape(t *testing.T) {
	rows, err := csv.NewReader(strings.NewReader(format(t, hostile(), "csv"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		{"name", "x", "e", "e_n", "e_sd", "e_lo", "e_hi", "e_median"},
		{`'=cmd|' /C calc'!A0`, "NaN", "", "0", "", "", "", ""},
		{`</script><b>|_*`, "-1.5", "1", "1", "", "", "", "1"},
		{`50% \ {x} & $y ^~`, "", "1", "2", "0", "1", "1", "1"},
		{"-1e3", "-Inf", "2", "1", "", "", "", "2"},
		{`'@x,"y" z`, "2", "2", "1", "", "", "", "2"},
	}
	if !reflect.DeepEqual(rows, want) {
		t.Errorf("csv:\n%q\nwant\n%q", rows, want)
	}

	var list []map[string]any
	if err := json.Unmarshal([]byte(format(t, hostile(), "json")), &list); err != nil {
		t.Fatal(err)
	}
	if len(list) != 5 || list[0]["x"] != "NaN" || list[2]["x"] != nil || list[0]["name"] != `=cmd|' /C calc'!A0` {
		t.Errorf("json: %v", list)
	}

	md := format(t, hostile(), "md")
	if !strings.Contains(md, `&lt;/script&gt;&lt;b&gt;\|\_\*`) || strings.Count(md, "\n") != 7 {
		t.Errorf("markdown:\n%s", md)
	}
	tex := format(t, hostile(), "latex")
	if !strings.Contains(tex, `50\% \textbackslash{} \{x\} \& \$y \textasciicircum{}\textasciitilde{}`) || !strings.Contains(tex, `na\_me & x & e \\`) {
		t.Errorf("latex:\n%s", tex)
	}
	for _, line := range strings.Split(strings.TrimSpace(format(t, hostile(), "text")), "\n") {
		if strings.ContainsAny(line, "\x1b\r\t") {
			t.Errorf("text lets a control character through: %q", line)
		}
	}
	if err := hostile().Write(new(bytes.Buffer), "xml"); err == nil || !strings.Contains(err.Error(), "latex") {
		t.Errorf("an unknown format: %v; want the list of known ones", err)
	}
}

func TestEveryFormatIsListed(t *testing.T) {
	for _, name := range results.Formats() {
		if format(t, hostile(), name) == "" {
			t.Errorf("%s writes nothing", name)
		}
	}
}

func TestWithout(t *testing.T) {
	tab := hostile()
	tab.Columns = append(tab.Columns, results.Column{Key: "diverged", Title: "diverged"})
	for i := range tab.Rows {
		tab.Rows[i] = append(tab.Rows[i], int64(0))
	}
	if got := tab.Without("diverged", int64(0)); len(got.Columns) != 3 || len(got.Rows[0]) != 3 || len(tab.Rows[0]) != 4 {
		t.Errorf("a column of zeros stays: %v", got.Columns)
	}
	tab.Rows[1][3] = int64(1)
	if got := tab.Without("diverged", int64(0)); len(got.Columns) != 4 {
		t.Error("a column that says something went")
	}
}

// A long run keeps a bounded number of points, and the ones that were asked for.
func TestSeriesAreBounded(t *testing.T) {
	const n = 5000
	r := recorded(t, func(sink *metrics.Files) {
		for i := range int64(n) {
			lr := min(float64(i+1)/101, 1)
			sink.Step(metrics.Step{Step: i, LR: metrics.Known(lr), Loss: metrics.Known(float64(i)), ClipCoef: metrics.Known(float64(i % 2)), ValLoss: metrics.Known(1)})
			sink.Layers(metrics.Split([]metrics.Layer{
				{Step: i, Layer: 0, Module: metrics.ModuleBlock, Quantity: metrics.GradNorm, Value: metrics.Known(float64(i))},
				{Step: i, Layer: 1, Module: metrics.ModuleBlock, Quantity: metrics.GradNorm, Value: metrics.Known(0)},
				{Step: i, Layer: 1, Module: metrics.ModuleBlock, Param: "block.1.x", Quantity: metrics.GradNorm, Value: metrics.Known(-1)},
				{Step: i, Layer: 1 << 40, Module: metrics.ModuleBlock, Quantity: metrics.GradNorm, Value: metrics.Known(-1)},
			}))
		}
	})
	c, err := r.Curves()
	if err != nil {
		t.Fatal(err)
	}
	if c.WarmupEnd != 100 || c.Steps != n || c.Clipped != n/2 || c.Width != 16 || len(c.Train) != (n+15)/16 || len(c.Val) > 512 || c.Val[0].Step != 0 {
		t.Errorf("warm-up to %d, %d steps, %d clipped, %d bins of %d, %d evaluations", c.WarmupEnd, c.Steps, c.Clipped, len(c.Train), c.Width, len(c.Val))
	}
	if got := c.Train[1].Float(); got != 23.5 {
		t.Errorf("mean of steps 16..31 is %v, want 23.5", got)
	}
	for range 6 { // 5000 steps leave a short point at the end in most widths
		for i, got := range c.Train {
			from, n := c.Point(i)
			if want := float64(from) + float64(n-1)/2; from != int64(i)*c.Width || from+n != min(n+from, 5000) || math.Abs(got.Float()-want) > 1e-9 {
				t.Errorf("mean of steps %d..%d of width %d is %v, want %v", from, from+n-1, c.Width, got.Float(), want)
			}
		}
		if from, n := c.Point(len(c.Train) - 1); from+n != 5000 {
			t.Errorf("the last point of width %d ends at %d", c.Width, from+n)
		}
		before := c.Width
		if c = c.Widened(2 * c.Width); c.Width != 2*before {
			t.Errorf("width %d became %d", before, c.Width)
		}
	}
	p, err := r.Probes()
	if err != nil {
		t.Fatal(err)
	}
	steps := map[int64]bool{}
	for _, b := range p.Block {
		steps[b.Step] = true
		if len(b.Values) != 2 || b.Values[0].Float() != float64(b.Step) || b.Values[1].Float() != 0 {
			t.Fatalf("profile of step %d: %v", b.Step, b.Values)
		}
	}
	if len(p.Block) > 600 || !steps[0] || !steps[100] || !steps[n-1] {
		t.Errorf("%d profiles; 0, 100, last kept: %v %v %v", len(p.Block), steps[0], steps[100], steps[n-1])
	}
	if results.At(p.Block, 100).Step != 100 || results.Last(p.Block).Step != n-1 || results.Last(nil).Values != nil {
		t.Error("At or Last finds the wrong profile")
	}
}

func FuzzParseCells(f *testing.F) {
	f.Add([]byte(`{"format":1,"name":"x","axes":["a"],"cells":[{"index":0,"id":"0123456789ab","values":[{"kind":"x"}],"seed":1,"status":"done"}]}`))
	f.Add([]byte(`{"format":1,"axes":[],"cells":[]} x`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, in []byte) {
		c, err := results.ParseCells(in)
		if err != nil {
			return
		}
		for _, cell := range c.Cells {
			if !filepath.IsLocal(filepath.FromSlash(results.CellDir(cell.ID))) {
				t.Fatalf("id %q leads out", cell.ID)
			}
			results.Label(fmt.Sprint(cell.Values))
		}
	})
}

// TestWarmupEnd: a run that diverges while its learning rate rises has no moment after warm-up.
func TestWarmupEnd(t *testing.T) {
	for _, c := range []struct {
		rates []float64
		want  int64
	}{
		{[]float64{.1, .2, .3, .3, .2}, 2},
		{[]float64{.1, .2, .3, .3}, 2},
		{[]float64{.1, .2, .3}, math.MaxInt64},
		{[]float64{.3, .3, .3}, 0},
		{[]float64{.3}, 0},
	} {
		r := recorded(t, func(sink *metrics.Files) {
			for i, lr := range c.rates {
				sink.Step(metrics.Step{Step: int64(i), LR: metrics.Known(lr), Loss: metrics.Known(1)})
				sink.Layers(metrics.Split([]metrics.Layer{{Step: int64(i), Module: metrics.ModuleBlock, Quantity: metrics.GradNorm, Value: metrics.Known(1)}}))
			}
		})
		curves, err := r.Curves()
		if err != nil {
			t.Fatal(err)
		}
		probes, err := r.Probes()
		if err != nil {
			t.Fatal(err)
		}
		if p := results.At(probes.Block, curves.WarmupEnd); curves.WarmupEnd != c.want || (len(p.Values) > 0) != (c.want < math.MaxInt64) {
			t.Errorf("rates %v: after warm-up is step %d, want %d, with a profile of %v", c.rates, curves.WarmupEnd, c.want, p.Values)
		}
	}
}
