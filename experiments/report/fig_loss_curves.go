package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"ablate/experiments/results"
	"ablate/train/metrics"
)

// curvePoints is about how many points a loss curve has: fewer, and a spike
// would be averaged away; more, and it is noise.
const curvePoints = 128

// lossCurves is the training loss over steps, with the evaluations on it.
func lossCurves(s *source) (*figure, error) {
	groups := s.panelGroups()
	width, last, err := s.curveWidth()
	if err != nil || last == 0 {
		return nil, err
	}
	smoothed := "each step"
	if width > 1 {
		smoothed = fmt.Sprintf("the mean of %d steps", width)
		if last%width != 0 {
			smoothed += ", the last of fewer"
		}
	}
	f := &figure{
		name: "loss_curves",
		caption: "Training loss, a point being " + smoothed + ". Line: mean over the seeds that finished; band: their range; dots: mean validation loss; " +
			"dotted: a run that diverged, with a cross on the upper edge where its loss was no longer finite. " +
			"A triangle on the upper edge is a spike: one step's loss above the mean of the 64 before it by 6 of their standard deviations; it is in every number." + s.alongWords(),
		sheet: &sheet{title: "Loss during training", cols: min(len(groups), 3), xLabel: "step", yLabel: "loss, nats per token", height: 1.7 * vg.Inch,
			x: axis{lo: 0, hi: float64(last), ticks: linearTicks(4)}, legend: s.depthKeys()},
		data: curveTable(s),
	}
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, g := range groups {
		p := panel{title: g.label}
		for i, m := range g.arms {
			set, err := newCurveSet(m, width)
			if err != nil {
				return nil, err
			}
			for _, y := range set.values() {
				if drawable(y) {
					lo, hi = min(lo, y), max(hi, y)
				}
			}
			p.marks = append(p.marks, set.marks(s.colour(m, i), s.stroke(i), f.sheet, m)...)
			set.rows(f.data, m)
		}
		f.sheet.panels = append(f.sheet.panels, p)
	}
	if lo > hi {
		return nil, nil
	}
	f.sheet.y = lossAxis(lo, hi)
	return f, nil
}

// lossAxis is linear, unless one run has exploded: the others would be flat on the ground.
func lossAxis(lo, hi float64) axis {
	const exploded = 20 // times the least: losses that fall to that share of where they began are rare
	if lo > 0 && hi > exploded*lo {
		return logAxis(lo, hi)
	}
	room := max(0.04*(hi-lo), 0.01)
	return axis{lo: lo - room, hi: hi + room, ticks: linearTicks(5), grid: true}
}

// curveWidth is how many steps a point covers in all curves, so that they can
// be laid over each other, and the last step of any.
func (s *source) curveWidth() (width, last int64, err error) {
	width = 1
	for _, a := range s.Arms {
		for _, r := range a.Runs {
			c, err := r.Curves()
			if err != nil {
				return 0, 0, err
			}
			width, last = max(width, c.Width), max(last, c.Steps)
		}
	}
	for last/width > 2*curvePoints {
		width *= 2
	}
	return width, last, nil
}

// A curveSet is the courses of one arm's runs.
type curveSet struct {
	finished, diverged []*results.Curves
	seeds              []int64 // of all, finished first
}

func newCurveSet(m member, width int64) (set curveSet, err error) {
	var lost []int64
	for _, r := range m.Runs {
		c, err := r.Curves()
		if err != nil {
			return set, err
		}
		c = c.Widened(width)
		switch r.Status {
		case metrics.Done:
			set.finished, set.seeds = append(set.finished, c), append(set.seeds, r.Seed)
		case metrics.Diverged:
			set.diverged, lost = append(set.diverged, c), append(lost, r.Seed)
		}
	}
	set.seeds = append(set.seeds, lost...)
	return set, nil
}

func (set curveSet) all() []*results.Curves {
	return append(append([]*results.Curves(nil), set.finished...), set.diverged...)
}

// values are all that has to fit on the axis.
func (set curveSet) values() (ys []float64) {
	for _, c := range set.all() {
		for _, v := range c.Train {
			ys = append(ys, v.Float())
		}
		for _, v := range c.Val {
			ys = append(ys, v.ValLoss.Float())
		}
	}
	return ys
}

func (set curveSet) marks(c ink, dashes []vg.Length, sh *sheet, m member) (marks []plot.Plotter) {
	for i, curve := range set.all() {
		for _, s := range curve.Spikes {
			marks = append(marks, edgeMark{x: float64(s.Step), colour: c.light, hovers: &sh.hovers,
				words: fmt.Sprintf("%s, seed %d: spike at step %d: %s", m.label, set.seeds[i], s.Step, results.Number(s.Loss))})
		}
	}
	for i, curve := range set.diverged {
		x, y := points(curve)
		seed := set.seeds[len(set.finished)+i]
		marks = append(marks, line{x: x, y: y, colour: c.light, width: 1, dashes: dotted, hovers: &sh.hovers, words: func(i int) string {
			return fmt.Sprintf("%s, seed %d (diverged), step %.0f: %s", m.label, seed, x[i], results.Number(y[i]))
		}})
	}
	if len(set.finished) == 0 {
		return marks
	}
	x, mean, lo, hi := meanCurve(set.finished)
	if len(set.finished) > 1 {
		marks = append(marks, band{x, lo, hi, fade(c.light, bandAlpha)})
	}
	marks = append(marks, line{x: x, y: mean, colour: c.light, width: 1.2, dashes: dashes})
	vx, vy := meanVal(set.finished)
	for i := range vx {
		marks = append(marks, dot{x: vx[i], y: vy[i], shape: draw.CircleGlyph{}, radius: 1.8, colour: c.light, hovers: &sh.hovers,
			words: fmt.Sprintf("%s, validation at step %.0f: %s", m.label, vx[i], results.Number(vy[i]))})
	}
	return marks
}

// points are a curve's training loss, each in the middle of its steps.
func points(c *results.Curves) (x, y []float64) {
	for i, v := range c.Train {
		from, n := c.Point(i)
		x, y = append(x, float64(from)+float64(n-1)/2), append(y, v.Float())
	}
	return x, y
}

// meanCurve is mean and range over curves, as far as the shortest goes.
func meanCurve(list []*results.Curves) (x, mean, lo, hi []float64) {
	shortest := slices.MinFunc(list, func(a, b *results.Curves) int { return cmp.Compare(a.Steps, b.Steps) })
	x, _ = points(shortest)
	for i := range x {
		sum, low, high := 0.0, math.Inf(1), math.Inf(-1)
		for _, c := range list {
			v := c.Train[i].Float()
			sum, low, high = sum+v, math.Min(low, v), math.Max(high, v)
		}
		mean, lo, hi = append(mean, sum/float64(len(list))), append(lo, low), append(hi, high)
	}
	return x, mean, lo, hi
}

// meanVal is the mean validation loss at the steps that all curves evaluated.
func meanVal(list []*results.Curves) (x, y []float64) {
	sum, count := map[int64]float64{}, map[int64]int{}
	for _, c := range list {
		for _, v := range c.Val {
			sum[v.Step] += v.ValLoss.Float()
			count[v.Step]++
		}
	}
	for _, v := range list[0].Val {
		if n := count[v.Step]; n == len(list) {
			x, y = append(x, float64(v.Step)), append(y, sum[v.Step]/float64(n))
		}
	}
	return x, y
}

func curveTable(s *source) *results.Table {
	t := &results.Table{}
	for _, a := range s.Axes {
		t.Columns = append(t.Columns, results.Column{Key: a, Text: true})
	}
	for _, k := range []string{"status", "seed", "curve", "step", "loss"} {
		t.Columns = append(t.Columns, results.Column{Key: k, Text: k == "status" || k == "curve"})
	}
	return t
}

// rows appends every run's points to the figure's table.
func (set curveSet) rows(t *results.Table, m member) {
	for i, c := range set.all() {
		status := metrics.Done
		if i >= len(set.finished) {
			status = metrics.Diverged
		}
		add := func(curve string, step, loss float64) {
			var row []any
			for _, l := range m.Labels {
				row = append(row, l)
			}
			t.Rows = append(t.Rows, append(row, string(status), set.seeds[i], curve, metrics.Known(step), metrics.Known(loss)))
		}
		x, y := points(c)
		for j := range x {
			add("train", x[j], y[j])
		}
		for _, s := range c.Spikes {
			add("spike", float64(s.Step), s.Loss)
		}
		for _, v := range c.Val {
			add("validation", float64(v.Step), v.ValLoss.Float())
		}
	}
}
