package report

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"ablate/experiments/results"
	"ablate/train/metrics"
)

// gradHeatmap is the gradient norm of every block at every probed step: a panel
// for each arm, one scale of colours for all.
func gradHeatmap(s *source) (*figure, error) {
	cols := min(max(len(s.depths), 1), 4)
	if s.depths == nil {
		cols = min(len(s.groups), 3)
	}
	f := &figure{
		name:    "grad_heatmap",
		caption: "L2 norm of the gradient of each block, before clipping; geometric mean over the seeds that finished, or over the diverged ones where none did. Input below, output above. Grey: zero; blue: NaN or infinite; blank: not probed.",
		sheet: &sheet{title: "Gradient norm of each block over training", cols: cols, xLabel: "step", yLabel: "share of depth, l / L", height: 1.15 * vg.Inch,
			y: axis{lo: 0, hi: 1, ticks: ticksAt([]float64{0, 0.5, 1})}},
		data: heatTable(s),
	}
	lo, hi, last := math.Inf(1), math.Inf(-1), 0.0
	var maps []*heat
	for _, g := range s.groups {
		for _, m := range g.arms {
			h, err := newHeat(m, f.data)
			if err != nil {
				return nil, err
			}
			if h == nil {
				continue
			}
			for _, v := range slices.Concat(h.z...) {
				if v > 0 && drawable(v) {
					lo, hi = min(lo, v), max(hi, v)
				}
			}
			last = max(last, h.x[len(h.x)-1])
			title := g.label
			if s.depths != nil {
				title += ", " + m.label
			}
			if m.Count(metrics.Done) == 0 {
				title += " (diverged)"
			}
			maps = append(maps, h)
			f.sheet.panels = append(f.sheet.panels, panel{title: title, marks: []plot.Plotter{h}})
		}
	}
	if len(maps) == 0 {
		return nil, nil
	}
	if n := len(s.depths); len(maps) == n*len(s.groups) {
		f.sheet.block = n
	}
	bounds := logAxis(lo, hi)
	for _, h := range maps {
		h.lo, h.hi = bounds.lo, bounds.hi
	}
	f.sheet.scale = &scale{lo: bounds.lo, hi: bounds.hi, label: "gradient norm"}
	f.sheet.x = axis{lo: 0, hi: last, ticks: linearTicks(3)}
	return f, nil
}

// newHeat gathers an arm's map, and its numbers into the table.
func newHeat(m member, t *results.Table) (*heat, error) {
	status := metrics.Done
	if m.Count(metrics.Done) == 0 {
		status = metrics.Diverged
	}
	byStep := map[int64][]results.Profile{}
	for _, r := range m.Runs {
		if r.Status != status {
			continue
		}
		p, err := r.Probes()
		if err != nil {
			return nil, err
		}
		for _, b := range p.Block {
			byStep[b.Step] = append(byStep[b.Step], b)
		}
	}
	var steps []int64
	for step := range byStep {
		steps = append(steps, step)
	}
	if len(steps) == 0 {
		return nil, nil
	}
	slices.Sort(steps)
	h := &heat{x: edges(steps)}
	for _, step := range steps {
		column, _, _ := acrossSeeds(byStep[step])
		h.z = append(h.z, column)
		for i, v := range column {
			var row []any
			for _, l := range m.Labels {
				row = append(row, l)
			}
			t.Rows = append(t.Rows, append(row, string(status), int64(len(byStep[step])), step, int64(i), metrics.Known(v)))
		}
	}
	return h, nil
}

// edges puts the border between two probes half-way, and extends the outer
// ones by as much.
func edges(steps []int64) []float64 {
	n := len(steps)
	if n == 1 {
		return []float64{float64(steps[0]), float64(steps[0]) + 1}
	}
	out := []float64{float64(steps[0])}
	for i := 1; i < n; i++ {
		out = append(out, float64(steps[i-1]+steps[i])/2)
	}
	return append(out, float64(steps[n-1])+float64(steps[n-1]-steps[n-2])/2)
}

func heatTable(s *source) *results.Table {
	t := &results.Table{}
	for _, a := range s.Axes {
		t.Columns = append(t.Columns, results.Column{Key: a, Text: true})
	}
	for _, k := range []string{"status", "seeds", "step", "block", "grad_norm"} {
		t.Columns = append(t.Columns, results.Column{Key: k, Text: k == "status"})
	}
	return t
}
