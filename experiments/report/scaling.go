package report

import (
	"fmt"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"ablate/experiments/results"
	"ablate/train/metrics"
)

// Scaling is the cost of a step as one size of the model or batch grows.
type Scaling struct {
	What     string    // the size: "layers"
	Sizes    []float64 // its values, ascending
	Seconds  []float64 // of a step
	Exponent float64   // of the fitted power law seconds ∝ size^exponent
	Expected string    // what the arithmetic says, in words
}

// PlotScaling draws the course of each cost, relative to its smallest size,
// with a dashed line where cost is proportional, into a file whose ending says
// the format, and the numbers into a CSV file beside it.
func PlotScaling(file string, list []Scaling) error {
	f := &figure{name: "scaling", data: &results.Table{Columns: []results.Column{{Key: "size_of", Text: true}, {Key: "size"}, {Key: "seconds"}, {Key: "exponent"}}}}
	right, low, top := 1.0, 1.0, 1.0
	for _, s := range list {
		right = max(right, s.Sizes[len(s.Sizes)-1]/s.Sizes[0])
		for _, t := range s.Seconds {
			low, top = min(low, t/s.Seconds[0]), max(top, t/s.Seconds[0])
		}
	}
	f.sheet = &sheet{
		title: "Time of a training step against size", cols: min(len(list), 3), height: 1.7 * vg.Inch,
		xLabel: "size, relative to the smallest", yLabel: "time of a step, relative",
		x: axis{lo: 0.9, hi: right * 1.2, log: true, ticks: plot.TickerFunc(logTicks)},
		y: axis{lo: low / 1.3, hi: top * 1.2, log: true, ticks: plot.TickerFunc(logTicks), grid: true},
	}
	for i, s := range list {
		f.sheet.panels = append(f.sheet.panels, s.panel(category(i), min(right, top)))
		for k := range s.Sizes {
			f.data.Rows = append(f.data.Rows, []any{s.What, metrics.Known(s.Sizes[k]), metrics.Known(s.Seconds[k]), metrics.Known(s.Exponent)})
		}
	}
	return f.save(file)
}

func (s Scaling) panel(c ink, top float64) panel {
	var x, y []float64
	for k := range s.Sizes {
		x, y = append(x, s.Sizes[k]/s.Sizes[0]), append(y, s.Seconds[k]/s.Seconds[0])
	}
	return panel{
		title: fmt.Sprintf("%s, from %g: exponent %.2f", s.What, s.Sizes[0], s.Exponent),
		marks: []plot.Plotter{
			line{x: []float64{1, top}, y: []float64{1, top}, colour: fade(c.light, 0.6), width: 0.7, dashes: []vg.Length{3, 3}},
			line{x: x, y: y, colour: c.light, width: 1.2, dots: draw.CircleGlyph{}},
		},
	}
}
