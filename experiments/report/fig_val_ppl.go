package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"ablate/experiments/results"
	"ablate/experiments/stats"
	"ablate/train/metrics"
)

// valPPL is the final validation perplexity of every arm: against depth where
// depth is an axis, as a dot plot otherwise.
func valPPL(s *source) (*figure, error) {
	lo, hi, found := pplRange(s)
	if !found || len(s.Arms) == 1 && len(s.Arms[0].Runs) == 1 {
		return nil, nil // one number is no figure
	}
	f := &figure{
		name:    "val_ppl",
		caption: "Perplexity on the whole validation split after the last step. Filled mark: mean over seeds; bar: 95 % t interval, cut off where it leaves the frame; small dots: single seeds. A cross counts runs that diverged, which enter no mean, or stands on the edge for a mean that is infinite." + s.alongWords(),
		sheet:   &sheet{title: "Final validation perplexity", cols: 1},
		data:    pplTable(s),
	}
	y := axis{lo: lo, hi: hi, log: lo > 0 && hi/lo > 4, ticks: linearTicks(5), grid: true}
	if y.log {
		y.ticks = plot.TickerFunc(logTicks)
	}
	if s.depths == nil {
		pplDots(s, f.sheet, y)
	} else {
		pplOverDepth(s, f.sheet, y)
	}
	return f, nil
}

// pplRange covers all means and seeds, and of the intervals what does not
// stretch that more than twofold: two seeds can have an interval that would
// press everything else flat.
func pplRange(s *source) (lo, hi float64, found bool) {
	lo, hi = math.Inf(1), math.Inf(-1)
	var ends []float64
	for _, a := range s.Arms {
		e := a.Estimate(ppl)
		if e.HasInterval() && drawable(e.Lo) && drawable(e.Hi) {
			ends = append(ends, e.Lo, e.Hi)
		}
		for _, v := range a.Finite(ppl) {
			v = min(v, extreme/10)
			lo, hi, found = min(lo, v), max(hi, v), true
		}
	}
	room := max(hi-lo, 0.02*math.Abs(hi), 1e-9)
	low, high := lo, hi
	for _, v := range ends {
		low, high = min(low, max(v, lo-room/2)), max(high, min(v, hi+room/2))
	}
	return max(low-0.06*room, lo/2), high + 0.1*room, found
}

// wordyDepths is up to how many depths there is room for words at each.
const wordyDepths = 4

// pplOverDepth draws a line for each group against the number of layers.
func pplOverDepth(s *source, sh *sheet, y axis) {
	first, last := s.depths[0], s.depths[len(s.depths)-1]
	sh.xLabel, sh.yLabel, sh.height, sh.y = "layers", "validation perplexity", 2.5*vg.Inch, y
	sh.x = axis{lo: first / 1.25, hi: last * 1.25, log: true, ticks: ticksAt(s.depths)}
	var marks []plot.Plotter
	notes := map[float64]int{} // so far, by depth
	for i, g := range s.groups {
		c := category(i)
		shift := vg.Length(float64(i)-float64(len(s.groups)-1)/2) * 5
		mean := line{colour: c.light, width: 1.4, dashes: stroke(i)}
		for _, m := range g.arms {
			marks = append(marks, seeds(m, m.depth, vg.Point{X: shift}, c, sh, false)...)
			e := m.Estimate(ppl)
			if e.N > 0 {
				mean.x, mean.y = append(mean.x, m.depth), append(mean.y, e.Mean)
			}
			if drawable(e.Mean) {
				marks = append(marks, dot{x: m.depth, y: e.Mean, shift: vg.Point{X: shift}, shape: shape(i), radius: 3, colour: c.light,
					words: g.label + ", " + m.label + ": " + describe(e), hovers: &sh.hovers})
			}
			if n := m.Count(metrics.Diverged); n > 0 {
				text := diverged(n, len(m.Runs))
				if len(s.depths) > wordyDepths {
					text = fmt.Sprintf("%d/%d", n, len(m.Runs))
				}
				marks = append(marks, note{x: m.depth, shift: shift, row: notes[m.depth], text: text, colour: c.light})
				notes[m.depth]++
			}
		}
		marks = append([]plot.Plotter{shifted{mean, shift}}, marks...)
		sh.legend = append(sh.legend, key{text: g.label, colour: c, shape: shape(i), dashes: stroke(i)})
	}
	sh.panels = []panel{{marks: marks}}
}

// shifted moves a plotter sideways by a length of paper.
type shifted struct {
	plot.Plotter
	by vg.Length
}

// Plot implements plot.Plotter.
func (s shifted) Plot(c draw.Canvas, p *plot.Plot) {
	c.Min.X += s.by
	c.Max.X += s.by
	s.Plotter.Plot(c, p)
}

// pplDots draws a row for each arm, in the order of the experiment.
func pplDots(s *source, sh *sheet, y axis) {
	n := len(s.groups)
	sh.xLabel, sh.x = "validation perplexity", y
	sh.height = vg.Length(n)*18 + 10
	var names plot.ConstantTicks
	var marks []plot.Plotter
	for i, g := range s.groups {
		row := float64(n - 1 - i) // the first on top
		names = append(names, plot.Tick{Value: row, Label: fit(g.label, tickStyle, 1.5*vg.Inch)})
		for _, m := range g.arms {
			c := category(1)
			marks = append(marks, seeds(m, row, vg.Point{}, c, sh, true)...)
			e := m.Estimate(ppl)
			if drawable(e.Mean) {
				marks = append(marks, dot{x: e.Mean, y: row, shape: draw.CircleGlyph{}, radius: 3.2, colour: c.light,
					words: g.label + ": " + describe(e), hovers: &sh.hovers})
			}
			var words []string
			if e.N > 0 && !drawable(e.Mean) {
				words = append(words, "infinite mean")
			}
			if k := m.Count(metrics.Diverged); k > 0 {
				words = append(words, diverged(k, len(m.Runs)))
			}
			if len(words) > 0 {
				marks = append(marks, sideNote{row, strings.Join(words, ", "), category(0)})
			}
		}
	}
	slices.Reverse(names)
	sh.y = axis{lo: -0.6, hi: float64(n) - 0.4, ticks: names, grid: true}
	sh.panels = []panel{{marks: marks}}
}

// A sideNote is a note at the right edge of a row.
type sideNote struct {
	row    float64
	text   string
	colour ink
}

// Plot implements plot.Plotter.
func (n sideNote) Plot(c draw.Canvas, p *plot.Plot) {
	at := vg.Point{X: c.Max.X - 4, Y: c.Y(p.Y.Norm(n.row))}
	cross(c, at, n.colour.light)
	sty := tickStyle
	sty.Color, sty.XAlign, sty.YAlign = n.colour.light, draw.XRight, draw.YCenter
	c.FillText(sty, vg.Point{X: at.X - 6, Y: at.Y + opticalCentre}, n.text)
}

// seeds are the marks of an arm beside its mean: the interval and each run.
func seeds(m member, at float64, shift vg.Point, c ink, sh *sheet, lying bool) (marks []plot.Plotter) {
	if e := m.Estimate(ppl); e.HasInterval() {
		marks = append(marks, whisker{at: at, lo: e.Lo, hi: e.Hi, lying: lying, shift: shift.X, colour: c.light})
	}
	bySeed := m.Finite(ppl)
	for _, r := range m.Runs {
		v, ok := bySeed[r.Seed]
		if !ok {
			continue
		}
		d := dot{x: at, y: v, shift: shift, shape: draw.CircleGlyph{}, radius: 1.5, colour: fade(c.light, 0.6),
			words: fmt.Sprintf("%s, seed %d: %s", m.label, r.Seed, results.Number(v)), hovers: &sh.hovers}
		if lying {
			d.x, d.y, d.shift = v, at, vg.Point{Y: -5}
		} else {
			d.shift.X += 5
		}
		marks = append(marks, d)
	}
	return marks
}

func diverged(n, of int) string { return fmt.Sprintf("%d of %d diverged", n, of) }

func describe(e stats.Estimate) string {
	if e.HasInterval() {
		return fmt.Sprintf("%s (95 %% interval, n = %d)", results.Interval(e), e.N)
	}
	if e.N == 1 {
		return results.Number(e.Mean) + " (one run)"
	}
	return fmt.Sprintf("%s (n = %d)", results.Number(e.Mean), e.N)
}

// pplTable is the figure's numbers: the axes, and the estimate of each arm.
func pplTable(s *source) *results.Table {
	t := &results.Table{}
	for _, a := range s.Axes {
		t.Columns = append(t.Columns, results.Column{Key: a, Title: a, Text: true})
	}
	t.Columns = append(t.Columns, results.Column{Key: "runs", Title: "runs"}, results.Column{Key: "diverged", Title: "diverged"},
		results.Column{Key: "val_ppl", Title: "val ppl"})
	for _, a := range s.Arms {
		var row []any
		for _, l := range a.Labels {
			row = append(row, l)
		}
		t.Rows = append(t.Rows, append(row, int64(len(a.Runs)), int64(a.Count(metrics.Diverged)), a.Estimate(ppl)))
	}
	return t
}
