package cmd

import (
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"ablate/experiments/results"
	"ablate/train/metrics"
)

func (a *app) show() *cobra.Command {
	return &cobra.Command{
		Use:   "show RUN",
		Short: "One run in the terminal: result, curves, last per-layer gradient norms",
		Long: "Show takes the directory of a run, or the beginning of its identity if it is below runs. Given the\n" +
			"directory of an experiment, it prints the table of its arms.",
		Args: args(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			dir, err := findRun(args[0])
			if err != nil {
				return err
			}
			e, err := results.Load(dir)
			if err != nil {
				return err
			}
			if len(e.Arms) == 1 && len(e.Arms[0].Runs) == 1 {
				return a.showRun(e, e.Arms[0].Runs[0])
			}
			return a.showExperiment(e)
		},
	}
}

// showExperiment prints the table of all arms.
func (a *app) showExperiment(e *results.Experiment) error {
	t, err := e.Table()
	if err != nil {
		return err
	}
	if a.json {
		return t.Write(a.stdout, "json")
	}
	a.printf("%s\n%s\n\n", results.Printable(e.Name), results.Printable(e.Question))
	return t.Eventful().Write(a.stdout, "text")
}

// shownRun is what show --json prints of one run.
type shownRun struct {
	Summary  *metrics.Summary `json:"summary"`
	Manifest map[string]any   `json:"manifest"`
	Train    []metrics.Value  `json:"train_loss"`
	Width    int64            `json:"train_loss_steps_per_point"`
	Profile  results.Profile  `json:"last_grad_norms"`
	Stream   results.Profile  `json:"last_stream_grad_rms_token"`
}

func (a *app) showRun(e *results.Experiment, r *results.Run) error {
	curves, err := r.Curves()
	if err != nil {
		return err
	}
	probes, err := r.Probes()
	if err != nil {
		return err
	}
	block, stream := results.Last(probes.Block), results.Last(probes.Stream)
	if a.json {
		return a.printJSON(shownRun{r.Summary, r.Manifest, curves.Train, curves.Width, block, stream})
	}
	if e.Name != r.ID {
		a.printf("%s  ", results.Printable(e.Name))
	}
	a.printf("%s\n", r.ID)
	if r.Summary != nil {
		if err := a.printSummary(*r.Summary); err != nil {
			return err
		}
	}
	columns := curves
	for len(columns.Train) > chartWidth {
		columns = columns.Widened(2 * columns.Width)
	}
	a.printf("\ntraining loss, %s\n", stepsAColumn(columns))
	a.printf("%s", chart(columns.Train, chartHeight))
	if len(curves.Val) > 0 {
		a.printf("\nvalidation\n")
		for _, s := range curves.Val {
			a.printf("  step %-8d loss %-8s ppl %s\n", s.Step, results.Number(s.ValLoss.Float()), results.Number(s.ValPPL.Float()))
		}
	}
	if len(block.Values) > 0 {
		a.printf("\ngradient norm of every block at step %d, before clipping\n  bars: logarithmic, from the smallest to the largest\n", block.Step)
		a.printBars(block.Values)
		a.printf("\ngradient of the residual stream per token at step %d\n", stream.Step)
		a.printBars(stream.Values)
	}
	return nil
}

// Size of a chart in the terminal, in characters.
const (
	chartWidth  = 64
	chartHeight = 10
)

func stepsAColumn(c *results.Curves) string {
	if c.Width == 1 {
		return "a column for each step"
	}
	return fmt.Sprintf("a column the mean of %d steps", c.Width)
}

// chart draws numbers as columns of characters, the largest at the top, with
// the ends of the scale beside it.
func chart(values []metrics.Value, height int) string {
	var xs []float64
	for _, v := range values {
		xs = append(xs, v.Float())
	}
	lo, hi := bounds(xs)
	if len(xs) == 0 || math.IsInf(lo, 0) {
		return "  nothing finite to draw\n"
	}
	var b strings.Builder
	for row := height - 1; row >= 0; row-- {
		label := ""
		switch row {
		case height - 1:
			label = results.Number(hi)
		case 0:
			label = results.Number(lo)
		}
		b.WriteString(strings.Repeat(" ", max(0, 9-len(label))) + label + " │")
		for _, x := range xs {
			b.WriteRune(cell(x, lo, hi, row, height))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// cell is the character of a column in a row: a full one below the value, an
// eighth-block at it. A value that is not finite is a cross at the top.
func cell(x, lo, hi float64, row, height int) rune {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		if row == height-1 {
			return '×'
		}
		return ' '
	}
	eighths := 1.0
	if hi > lo {
		eighths = max(1, (x-lo)/(hi-lo)*float64(8*height))
	}
	switch e := int(math.Round(eighths)) - 8*row; {
	case e <= 0:
		return ' '
	case e >= 8:
		return '█'
	default:
		return '▁' + rune(e-1)
	}
}

func bounds(xs []float64) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, x := range xs {
		if !math.IsNaN(x) && !math.IsInf(x, 0) {
			lo, hi = min(lo, x), max(hi, x)
		}
	}
	return lo, hi
}

// printBars prints one value a line, with a bar on a logarithmic scale.
func (a *app) printBars(values []metrics.Value) {
	var logs []float64
	for _, v := range values {
		if x := v.Float(); x > 0 {
			logs = append(logs, math.Log(x))
		}
	}
	lo, hi := bounds(logs)
	const width = 40
	for i, v := range values {
		x, n := v.Float(), 0
		if x > 0 && !math.IsInf(x, 0) {
			n = 1
			if hi > lo {
				n += int(math.Round((math.Log(x) - lo) / (hi - lo) * (width - 1)))
			}
		}
		a.printf("  %3d  %-10s %s\n", i, results.Number(x), strings.Repeat("▇", n))
	}
}
