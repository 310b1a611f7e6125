package results

import (
	"strings"

	"ablate/experiments/stats"
	"ablate/train/metrics"
)

// Table is the experiment with a row for each arm: its axes, its size, how its
// runs ended, and means over the seeds that finished, with their 95 % t
// intervals. Diverged and unfinished runs are counted in columns of their own
// and enter no mean; a finished run enters every one, and makes it infinite
// where its perplexity is beyond what a float holds. Gradient norms are geometric means over seeds, of the
// blocks' gradients before clipping, at the last step that was probed.
func (e *Experiment) Table() (*Table, error) {
	t := &Table{}
	text := func(key, title string) { t.Columns = append(t.Columns, Column{Key: key, Title: title, Text: true}) }
	number := func(key, title string, brief bool) {
		t.Columns = append(t.Columns, Column{Key: key, Title: title, Brief: brief})
	}
	for _, axis := range e.Axes {
		text(axis, shortAxis(axis))
	}
	if len(e.Axes) == 0 {
		text("name", "name")
	}
	number("params", "params", false)
	number("n", "n", false)
	number("diverged", "diverged", false)
	number("unfinished", "unfinished", false)
	number("val_ppl", "val ppl", false)
	number("val_loss", "val loss", false)
	number("grad_first", "grad block 1", true)
	number("grad_last", "grad block L", true)
	number("clipped", "clipped %", true)
	number("skipped", "skipped", false)
	number("spikes", "spikes", false)
	for _, a := range e.Arms {
		row, err := a.row(e)
		if err != nil {
			return nil, err
		}
		t.Rows = append(t.Rows, row)
	}
	return t, nil
}

// shortAxis is the last part of an axis' key, as a heading.
func shortAxis(key string) string {
	key = Printable(key)
	return key[strings.LastIndexByte(key, '.')+1:]
}

func (a *Arm) row(e *Experiment) ([]any, error) {
	var row []any
	for _, l := range a.Labels {
		row = append(row, l)
	}
	if len(e.Axes) == 0 {
		row = append(row, e.Name)
	}
	first, last, clipped, err := a.endGradients()
	if err != nil {
		return nil, err
	}
	skipped, spikes, err := a.incidents()
	if err != nil {
		return nil, err
	}
	finished, diverged := a.Finished(), a.Count(metrics.Diverged)
	return append(row, a.params(), int64(finished), int64(diverged), int64(len(a.Runs)-finished-diverged),
		a.Estimate(func(s *metrics.Summary) metrics.Value { return s.ValPPL }), a.Estimate(func(s *metrics.Summary) metrics.Value { return s.ValLoss }),
		stats.Geometric95(first), stats.Geometric95(last), stats.T95(clipped), skipped, spikes), nil
}

// incidents counts the updates that were left out and the spikes of the loss in all
// of the arm's runs, however they ended.
func (a *Arm) incidents() (skipped, spikes int64, err error) {
	for _, r := range a.Runs {
		c, err := r.Curves()
		if err != nil {
			return 0, 0, err
		}
		spikes += c.Spiked
		if r.Summary != nil {
			skipped += r.Summary.Skipped
		}
	}
	return skipped, spikes, nil
}

// params is the size of the arm's models; 0 while none has been built.
func (a *Arm) params() (n int64) {
	for _, r := range a.Runs {
		n = max(n, r.Params)
	}
	return n
}

// Estimate is the mean of one number of the summaries, over the runs that finished.
func (a *Arm) Estimate(of func(*metrics.Summary) metrics.Value) stats.Estimate {
	var xs []float64
	for _, r := range a.Runs {
		if !r.Finished() {
			continue
		}
		if x, known := of(r.Summary).Get(); known {
			xs = append(xs, x)
		}
	}
	return stats.T95(xs)
}

// endGradients returns, for each finished run with probes, the gradient norm of
// its first and last block at the end, and the share of clipped steps in percent.
func (a *Arm) endGradients() (first, last, clipped []float64, err error) {
	for _, r := range a.Runs {
		if !r.Finished() {
			continue
		}
		p, err := r.Probes()
		if err != nil {
			return nil, nil, nil, err
		}
		if v := Last(p.Block).Values; len(v) > 0 && v[0].Finite() && v[len(v)-1].Finite() {
			first = append(first, v[0].Float())
			last = append(last, v[len(v)-1].Float())
		}
		c, err := r.Curves()
		if err != nil {
			return nil, nil, nil, err
		}
		if c.Steps > 0 {
			clipped = append(clipped, 100*float64(c.Clipped)/float64(c.Steps))
		}
	}
	return first, last, clipped, nil
}
