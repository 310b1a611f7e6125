package report

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"ablate/experiments/results"
	"ablate/train/metrics"
)

// gradProfile is the gradient norm of every block over the depth of the model.
func gradProfile(s *source) (*figure, error) {
	return profiles(s, profileSpec{
		name: "grad_profile", title: "Gradient norm of each block", yLabel: "gradient norm of a block",
		caption: "L2 norm of the gradient of the mean token loss over all parameters of a block, before clipping.",
		of:      func(p *results.Probes) []results.Profile { return p.Block },
		x:       func(i, n int) float64 { return float64(i+1) / float64(n) }, // block i of n ends there
	})
}

// streamProfile is the gradient of the residual stream, by token, over depth.
func streamProfile(s *source) (*figure, error) {
	return profiles(s, profileSpec{
		name: "stream_profile", title: "Gradient of the residual stream, per token", yLabel: "stream gradient per token, RMS",
		caption: "RMS over tokens of the norm of the gradient of the summed loss at the residual stream, at the boundaries between blocks: free of batch size and length.",
		of:      func(p *results.Probes) []results.Profile { return p.Stream },
		x:       func(i, n int) float64 { return float64(i) / float64(max(n-1, 1)) }, // boundary i of n-1 blocks
	})
}

type profileSpec struct {
	name, title, yLabel, caption string
	of                           func(*results.Probes) []results.Profile
	x                            func(i, n int) float64 // share of the depth of the i-th of n values
}

// moments at which profiles are taken; a run without warm-up has no second one.
var moments = []string{"at initialisation", "after warm-up", "at the end"}

// moment returns a run's profile at one of the moments.
func moment(list []results.Profile, which int, warmupEnd int64) results.Profile {
	switch {
	case which == 0:
		return results.At(list, 0)
	case which == 2:
		return results.Last(list)
	case warmupEnd == 0:
		return results.Profile{}
	}
	return results.At(list, warmupEnd)
}

// profiles draws a row of panels for each moment, a column for each group, and
// a line for each arm.
func profiles(s *source, spec profileSpec) (*figure, error) {
	groups := s.panelGroups()
	f := &figure{
		name:    spec.name,
		caption: spec.caption + " Input left, output right. Line: geometric mean over the seeds that finished; band: their range; dotted: a run that diverged, up to its last probe. A cross on the upper edge is NaN or infinite, a triangle on the lower one zero." + s.alongWords(),
		sheet: &sheet{title: spec.title, cols: max(len(groups), 1), block: max(len(groups), 1), xLabel: "share of depth, l / L", yLabel: spec.yLabel, height: 1.35 * vg.Inch,
			x: axis{lo: 0, hi: 1, ticks: ticksAt([]float64{0, 0.25, 0.5, 0.75, 1})}, legend: s.depthKeys()},
		data: profileTable(s),
	}
	lo, hi := math.Inf(1), math.Inf(-1)
	for which, words := range moments {
		var row []panel
		empty := true
		for _, g := range groups {
			var p panel
			var steps span
			for i, m := range g.arms {
				set, err := newProfileSet(m, spec, which)
				if err != nil {
					return nil, err
				}
				steps.cover(set)
				lo, hi = min(lo, set.min()), max(hi, set.max())
				p.marks = append(p.marks, set.marks(spec, s.colour(m, i), s.stroke(i), f.sheet, m)...)
				set.rows(f.data, m, words, spec)
			}
			empty = empty && len(p.marks) == 0
			p.title = words + " (" + steps.String() + ")"
			if g.label != "" {
				p.title = g.label + ", " + p.title
			}
			row = append(row, p)
		}
		if !empty {
			f.sheet.panels = append(f.sheet.panels, row...)
		}
	}
	if len(f.data.Rows) == 0 {
		return nil, nil
	}
	f.sheet.y = logAxis(lo, hi)
	return f, nil
}

// panelGroups are the groups that get panels of their own: with a depth axis
// every one, without it all arms in one panel.
func (s *source) panelGroups() []group {
	if s.depths != nil {
		return s.groups
	}
	all := group{}
	for _, g := range s.groups {
		all.arms = append(all.arms, g.arms...)
	}
	return []group{all}
}

// logAxis covers positive numbers with a little room, and at least a factor of
// three; with nothing to cover it is one decade.
func logAxis(lo, hi float64) axis {
	if !(lo > 0 && lo <= hi && hi < math.Inf(1)) {
		lo, hi = 0.1, 1
	}
	lo, hi = max(lo, 1/extreme), min(hi, extreme)
	if pad := math.Sqrt(3 / (hi / lo)); pad > 1 {
		lo, hi = lo/pad, hi*pad
	}
	room := math.Pow(hi/lo, 0.05)
	return axis{lo: lo / room, hi: hi * room, log: true, ticks: plot.TickerFunc(logTicks), grid: true}
}

// span is the steps at which profiles of one moment were taken.
type span struct {
	lo, hi int64
	any    bool
}

func (s *span) cover(set profileSet) {
	for _, r := range set.finished {
		if !s.any {
			s.lo, s.hi, s.any = r.Step, r.Step, true
		}
		s.lo, s.hi = min(s.lo, r.Step), max(s.hi, r.Step)
	}
}

// String is "step 40", or "steps 290–300" where runs differ.
func (s *span) String() string {
	switch {
	case !s.any:
		return "no finished run"
	case s.lo == s.hi:
		return fmt.Sprintf("step\u00a0%d", s.lo)
	}
	return fmt.Sprintf("steps\u00a0%d–%d", s.lo, s.hi)
}

// A profileSet is the profiles of one arm at one moment.
type profileSet struct {
	finished, diverged []results.Profile
	seeds              []int64 // of all, finished first
}

func newProfileSet(m member, spec profileSpec, which int) (set profileSet, err error) {
	var lost []int64
	for _, r := range m.Runs {
		if r.Status != metrics.Done && r.Status != metrics.Diverged {
			continue
		}
		probes, err := r.Probes()
		if err != nil {
			return set, err
		}
		curves, err := r.Curves()
		if err != nil {
			return set, err
		}
		p := moment(spec.of(probes), which, curves.WarmupEnd)
		switch {
		case len(p.Values) == 0:
		case r.Status == metrics.Diverged:
			set.diverged, lost = append(set.diverged, p), append(lost, r.Seed)
		default:
			set.finished, set.seeds = append(set.finished, p), append(set.seeds, r.Seed)
		}
	}
	set.seeds = append(set.seeds, lost...)
	return set, nil
}

func (set profileSet) all() []results.Profile {
	return append(append([]results.Profile(nil), set.finished...), set.diverged...)
}

// min and max are over what has a place on a logarithmic axis.
func (set profileSet) min() float64 { return set.fold(math.Inf(1), math.Min) }
func (set profileSet) max() float64 { return set.fold(math.Inf(-1), math.Max) }

func (set profileSet) fold(x float64, f func(a, b float64) float64) float64 {
	for _, p := range set.all() {
		for _, v := range p.Values {
			if v.Finite() && drawable(v.Float()) && v.Float() > 0 {
				x = f(x, v.Float())
			}
		}
	}
	return x
}

// marks are a band and a line over the finished runs, and a dashed line for
// each diverged one.
func (set profileSet) marks(spec profileSpec, c ink, dashes []vg.Length, sh *sheet, m member) (marks []plot.Plotter) {
	xs := func(n int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = spec.x(i, n)
		}
		return x
	}
	for i, p := range set.diverged {
		ys := make([]float64, len(p.Values))
		for j, v := range p.Values {
			ys[j] = v.Float()
		}
		seed := set.seeds[len(set.finished)+i]
		marks = append(marks, line{x: xs(len(ys)), y: ys, colour: c.light, width: 1, dashes: dotted, hovers: &sh.hovers,
			words: func(i int) string {
				return fmt.Sprintf("%s, seed %d (diverged), %d of %d, step %d: %s", m.label, seed, i+1, len(ys), p.Step, results.Number(ys[i]))
			}})
	}
	if len(set.finished) == 0 {
		return marks
	}
	mean, lo, hi := acrossSeeds(set.finished)
	n := len(mean)
	if len(set.finished) > 1 {
		marks = append(marks, band{xs(n), lo, hi, fade(c.light, bandAlpha)})
	}
	return append(marks, line{x: xs(n), y: mean, colour: c.light, width: 1.4, dashes: dashes, hovers: &sh.hovers, words: func(i int) string {
		return fmt.Sprintf("%s, %d of %d: %s", m.label, i+1, n, results.Number(mean[i]))
	}})
}

// acrossSeeds is the geometric mean and the range at each depth. One seed at
// zero, or not finite, makes the mean so too: it is marked, not left out.
func acrossSeeds(list []results.Profile) (mean, lo, hi []float64) {
	n := 0
	for _, p := range list {
		n = max(n, len(p.Values))
	}
	for i := range n {
		sum, low, high, k := 0.0, math.Inf(1), math.Inf(-1), 0.0
		for _, p := range list {
			if i >= len(p.Values) {
				continue
			}
			if v, known := p.Values[i].Get(); known {
				sum, low, high, k = sum+math.Log(v), math.Min(low, v), math.Max(high, v), k+1
			}
		}
		mean, lo, hi = append(mean, math.Exp(sum/k)), append(lo, low), append(hi, high)
	}
	return mean, lo, hi
}

// profileTable is long: one row for each arm, moment, seed and depth.
func profileTable(s *source) *results.Table {
	t := &results.Table{}
	for _, a := range s.Axes {
		t.Columns = append(t.Columns, results.Column{Key: a, Text: true})
	}
	for _, k := range []string{"moment", "status", "seed", "step", "index", "depth", "value"} {
		t.Columns = append(t.Columns, results.Column{Key: k, Text: k == "moment" || k == "status"})
	}
	return t
}

// rows appends the set's numbers to the figure's table.
func (set profileSet) rows(t *results.Table, m member, words string, spec profileSpec) {
	for i, p := range set.all() {
		status := metrics.Done
		if i >= len(set.finished) {
			status = metrics.Diverged
		}
		for j, v := range p.Values {
			var row []any
			for _, l := range m.Labels {
				row = append(row, l)
			}
			t.Rows = append(t.Rows, append(row, words, string(status), set.seeds[i], p.Step, int64(j),
				metrics.Known(spec.x(j, len(p.Values))), v))
		}
	}
}
