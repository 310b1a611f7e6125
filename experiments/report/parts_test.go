package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"ablate/experiments/results"
	"ablate/experiments/results/resultstest"
	"ablate/train/metrics"
)

func labels(ticks []plot.Tick) (out []string) {
	for _, t := range ticks {
		if !t.IsMinor() {
			out = append(out, strings.NewReplacer(up, "^", down, "").Replace(t.Label))
		}
	}
	return out
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		ticker plot.TickerFunc
		lo, hi float64
		want   string
	}{
		{linearTicks(4), 0, 300, "0 100 200 300"},
		{linearTicks(5), 10.46, 11.6, "10.5 11.0 11.5"},
		{linearTicks(5), -1, 1, "–1.0 –0.5 0.0 0.5 1.0"},
		{logTicks, 0.9, 110, "1 10 100"},
		{logTicks, 4, 130, "5 10 20 50 100"},
		{logTicks, 0.013, 0.9, "0.02 0.05 0.1 0.2 0.5"},
		{logTicks, 1e-5, 1.1, "10^–5 10^–4 10^–3 10^–2 10^–1 10^0"},
		{logTicks, 9.5, 11.2, "9.5 10.0 10.5 11.0"},
		{logTicks, 2e-6, 3e-5, "2·10^–6 5·10^–6 10^–5 2·10^–5"},
	} {
		if got := strings.Join(labels(c.ticker(c.lo, c.hi)), " "); got != c.want {
			t.Errorf("%v to %v: %q, want %q", c.lo, c.hi, got, c.want)
		}
	}
	// Ranges that training never gives, and files may: no panic, no endless list.
	for _, ticker := range []plot.TickerFunc{linearTicks(5), logTicks} {
		for _, r := range [][2]float64{{1 / extreme, extreme}, {1e149, 1e149 * (1 + 1e-15)}, {1, 1 + 1e-15}, {5, 5}} {
			if n := len(ticker(r[0], r[1])); n > 10000 {
				t.Errorf("%v: %d ticks", r, n)
			}
		}
	}
}

func TestWrapAndFit(t *testing.T) {
	width := func(s string) vg.Length { return vg.Length(len(s)) }
	if got := wrap("at the end (step\u00a0290)", width, 12); !slices.Equal(got, []string{"at the end", "(step\u00a0290)"}) {
		t.Errorf("wrapped as %q", got)
	}
	for _, s := range []string{"", "short", "a name that is much too long for its place, number 13", strings.Repeat("W", 200)} {
		got := fit(s, tickStyle, 100)
		if w := tickStyle.Width(got); w > 100 {
			t.Errorf("%q is %v wide", got, w)
		}
		if tickStyle.Width(s) <= 100 && got != s {
			t.Errorf("%q fits, and became %q", s, got)
		}
	}
	if a, b := fit("a name that is long, number 13", tickStyle, 60), fit("a name that is long, number 14", tickStyle, 60); a == b {
		t.Errorf("two names both became %q", a)
	}
}

func TestColours(t *testing.T) {
	for i, m := range [][2]float64{{0, 0}, {1, 1}, {-3, 0}, {9, 1}} {
		if along(viridis, m[0]) != along(viridis, m[1]) {
			t.Errorf("%d: ends of a colour map are not held", i)
		}
	}
	for n := 1; n <= 12; n++ {
		seen := map[ink]bool{}
		for i := range n {
			seen[ordered(i, n)] = true
		}
		if len(seen) != n {
			t.Errorf("%d depths have %d colours", n, len(seen))
		}
	}
	h := heat{lo: 1e-3, hi: 10}
	for v, want := range map[float64]int{1e-3: 0, 1e-9: 0, 10: shades - 1, 1e9: shades - 1, 0.1: shades / 2, 0: -1, -1: -1, math.Inf(1): -2} {
		if got := h.shade(v); got != want {
			t.Errorf("shade of %v is %d, want %d", v, got, want)
		}
	}
}

func TestAnswer(t *testing.T) {
	words := func(spec resultstest.Spec) string {
		a := load(t, fabricate(t, spec)).answer()
		text := a.Lead + "\n" + strings.Join(a.Notes, "\n")
		for _, i := range a.Items {
			text += "\n" + i.Where + ": " + i.Text
		}
		return strings.ReplaceAll(text, "\u00a0", " ")
	}
	apart := resultstest.Depth()
	apart.Arms, apart.Seeds, apart.Diverge = [][]any{{"post", 2}, {"pre", 24}}, []int64{1, 2, 3, 4, 5}, nil
	for _, c := range []struct {
		name  string
		spec  resultstest.Spec
		wants []string
	}{
		{"apart", apart, []string{"No verdict is given: this report measures, and leaves the judgement to its reader."}},
		{"depth", resultstest.Depth(), []string{
			"The smallest mean validation perplexity measured is that of pre with 24 layers, 8.71 ± 0.11 (95 % interval, n = 2).",
			"No verdict is given: the arm with the fewest finished runs has 1, and a verdict needs at least 5 in each.",
			"Diverged runs: 1.",
			"24 layers: post 21.53 (n = 1), 1 of 2 diverged; pre 8.71 ± 0.11 (n = 2), loss −0.9041 nats relative to post (one shared seed)",
			"relative to post by seed (n = 2, 0 is inside the interval)",
		}},
		{"activations", resultstest.Activations(), []string{
			"No verdict is given where the 95 % interval of an arm overlaps with another's, as do those of all 6 arms.",
			"gelu: 11.07 ± 0.21 (n = 5), loss +0.036 ± 0.026 nats relative to relu by seed (n = 5, 0 is outside the interval)",
		}},
	} {
		got := words(c.spec)
		for _, want := range c.wants {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in\n%s", c.name, want, got)
			}
		}
	}
}

func TestAttest(t *testing.T) {
	s := load(t, fabricate(t, resultstest.Depth()))
	arms, differ, same := attest(s.Experiment)
	if len(arms) != 6 || differ[0].Key != "model.placement_formula" || differ[0].Values[0] != "N1(x + F(x))" || len(differ[0].Values) != 6 {
		t.Errorf("what differs begins with %+v", differ[0])
	}
	i := slices.IndexFunc(same, func(a attested) bool { return a.Key == "cpu.kernel_path" })
	if i < 0 || !slices.Equal(same[i].Values, []string{"portable"}) {
		t.Errorf("the kernel path is not among what all share: %+v", same)
	}
	for in, want := range map[string]string{"1": "1", "9999": "9999", "12345": "12\u2009345", "1234567": "1\u2009234\u2009567", "123456": "123\u2009456", "-12345": "-12345", "1e-4567": "1e-4567"} {
		if got := grouped(in); got != want {
			t.Errorf("grouped(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestDefinedPrefersTheRunsOwnWords(t *testing.T) {
	e := &results.Experiment{Arms: []*results.Arm{{Runs: []*results.Run{{Manifest: map[string]any{
		"metrics": map[string]any{"val_ppl": "as the run says", "zz": "another"}}}}}}}
	got := defined(e)
	i := slices.IndexFunc(got, func(d definition) bool { return d.Term == "perplexity" })
	if got[i].Meaning != "as the run says" || got[len(got)-1] != (definition{Term: "zz", Meaning: "another"}) || len(got) != len(definitions)+1 {
		t.Errorf("defined as %+v", got)
	}
}

func TestCommandDir(t *testing.T) {
	for in, want := range map[string]string{"runs/depth": "runs/depth", "/home/someone/runs/depth": "depth", "my runs/it's": `'my runs/it'\''s'`, "runs//x/": "runs/x"} {
		if got := commandDir(in); got != want {
			t.Errorf("commandDir(%q) = %q, want %q", in, got, want)
		}
	}
}

// The table of figures has no two lines with one name.
func TestKinds(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range kinds {
		if seen[k.name] || seen[k.alias] || k.build == nil {
			t.Errorf("the line of %s repeats a name, or builds nothing", k.name)
		}
		seen[k.name], seen[k.alias] = true, true
	}
}

// TestCurvePoints: every point stands in the middle of the steps that it is the mean of, the last one too.
func TestCurvePoints(t *testing.T) {
	for _, c := range []struct {
		steps int64
		width int64
		want  []float64
	}{{4, 1, []float64{0, 1, 2, 3}}, {8, 4, []float64{1.5, 5.5}}, {9, 4, []float64{1.5, 5.5, 8}}, {11, 4, []float64{1.5, 5.5, 9}}} {
		curves := &results.Curves{Steps: c.steps, Width: c.width}
		for range c.want {
			curves.Train = append(curves.Train, metrics.Known(1))
		}
		if x, y := points(curves); !slices.Equal(x, c.want) || len(y) != len(x) {
			t.Errorf("points of %d steps, %d each, stand at %v, want %v", c.steps, c.width, x, c.want)
		}
	}
}

// TestPlaces: a block of panels begins a row, its rows are as even as they can be, and the last of every column has
// the labels of the x axis.
func TestPlaces(t *testing.T) {
	for _, c := range []struct {
		panels, cols, block int
		width               vg.Length
		want                string
	}{
		{4, 3, 0, 7 * vg.Inch, "0,0 0,1 1,0 1,1"},
		{5, 3, 0, 7 * vg.Inch, "0,0 0,1 0,2 1,0 1,1"},
		{6, 2, 2, 7 * vg.Inch, "0,0 0,1 1,0 1,1 2,0 2,1"},
		{10, 5, 5, 7 * vg.Inch, "0,0 0,1 0,2 1,0 1,1 2,0 2,1 2,2 3,0 3,1"},
		{4, 2, 2, vg.Inch, "0,0 1,0 2,0 3,0"},
	} {
		s := &sheet{panels: make([]panel, c.panels), cols: c.cols, block: c.block}
		cols, below := s.columns(c.width), map[int]bool{}
		var got []string
		rows := 0
		for i := range c.panels {
			row, col, bottom := s.place(i, cols)
			got = append(got, fmt.Sprintf("%d,%d", row, col))
			rows = max(rows, row+1)
			if below[col] {
				t.Errorf("%+v: panel %d stands below the bottom", c, i)
			}
			below[col] = bottom
		}
		for col, bottom := range below {
			if !bottom {
				t.Errorf("%+v: column %d has no bottom", c, col)
			}
		}
		if text := strings.Join(got, " "); text != c.want || rows != s.rows(cols) {
			t.Errorf("%+v: %s in %d rows", c, text, s.rows(cols))
		}
	}
}

// TestZippedDepth: a learning rate that goes with the depth tells no groups apart; one that is crossed with it does.
func TestZippedDepth(t *testing.T) {
	spec := resultstest.Depth()
	spec.Axes = []string{"model.placement", "model.layers", "train.lr"}
	for i, lr := range []any{.004, .002, .001, .004, .002, .001} {
		spec.Arms[i] = append(spec.Arms[i], lr)
	}
	s := load(t, fabricate(t, spec))
	if len(s.groups) != 2 || s.groups[1].label != "pre" || s.groups[1].arms[2].label != "24 layers, lr 0.001" {
		t.Errorf("zipped: groups %+v", s.groups)
	}
	if keys := s.depthKeys(); len(keys) != 3 || keys[0].text != "2 layers, lr 0.004" || !strings.Contains(s.alongWords(), "train.lr") || s.answer().Items[2].Where != "24 layers, lr 0.001" {
		t.Errorf("zipped: legend %+v, caption %q", keys, s.alongWords())
	}
	spec.Arms = append(spec.Arms, []any{"pre", 24, .002})
	if s = load(t, fabricate(t, spec)); len(s.groups) != 6 || s.groups[5].label != "pre · lr 0.001" {
		t.Errorf("crossed: groups %+v", s.groups)
	}
}

// TestGroupsAreValues: what looks like another arm's label, or like nothing, is an arm of its own.
func TestGroupsAreValues(t *testing.T) {
	spec := resultstest.Activations()
	spec.Name, spec.Axes = "x", []string{"salt"}
	spec.Arms = [][]any{{""}, {"x"}, {"x "}, {"none"}}
	s := load(t, fabricate(t, spec))
	var labels []string
	for _, g := range s.groups {
		labels = append(labels, g.label)
	}
	if want := []string{`salt ""`, "x", `"x "`, "salt none"}; !slices.Equal(labels, want) {
		t.Errorf("groups %q, want %q", labels, want)
	}
}

func TestAxes(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range [][2]float64{{inf, -inf}, {0, 1}, {-1, 1}, {1, inf}, {inf, inf}, {math.NaN(), 1}, {1e-300, 1e300}, {2, 2}} {
		a := logAxis(c[0], c[1])
		if !(a.lo > 0 && a.lo < a.hi) || math.IsInf(a.hi, 0) {
			t.Errorf("a logarithmic axis over %v is %v to %v", c, a.lo, a.hi)
		}
	}
	for _, c := range []struct {
		lo, hi float64
		log    bool
	}{{2, 6, false}, {0, 6, false}, {5, 5, false}, {2, 8e9, true}} {
		if a := lossAxis(c.lo, c.hi); a.log != c.log || !(a.lo < c.lo && c.hi < a.hi) {
			t.Errorf("an axis over losses from %g to %g is %+v", c.lo, c.hi, a)
		}
	}
}
