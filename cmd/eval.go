package cmd

import (
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"ablate/data"
	"ablate/experiments/config"
	"ablate/experiments/results"
	"ablate/experiments/sweep"
	"ablate/graph"
	"ablate/train"
	"ablate/train/metrics"
)

// evaluation is what eval --json prints.
type evaluation struct {
	Dir       string          `json:"dir"`
	Step      int64           `json:"step"`
	Context   int             `json:"context"`
	Trained   int             `json:"trained_context"`
	Tokens    int             `json:"tokens"` // that were predicted
	Loss      metrics.Value   `json:"val_loss"`
	PPL       metrics.Value   `json:"val_ppl"`
	BPB       metrics.Value   `json:"val_bpb"`
	Positions []positionRange `json:"positions,omitempty"`
}

// positionRange is the loss of what the tokens at positions From to To - 1 of a
// window predict.
type positionRange struct {
	From   int           `json:"from"`
	To     int           `json:"to"`
	Tokens int           `json:"tokens"`
	Loss   metrics.Value `json:"loss"`
	PPL    metrics.Value `json:"ppl"`
}

// evalFlags are the flags of eval.
type evalFlags struct {
	context, tokens int
	byPosition      bool
}

func (a *app) eval() *cobra.Command {
	var f evalFlags
	c := &cobra.Command{
		Use:   "eval RUN [key=value …]",
		Short: "Loss and perplexity of a checkpoint, at any context and by position",
		Long: "Eval scores the validation split with the newest good checkpoint of a run, in windows that do\n" +
			"not overlap; where tokens see later ones, in whole windows only. The context may exceed that of\n" +
			"training; settings change how positions are encoded there, as in\n" +
			"model.position.scaling='{kind: yarn, factor: 4, original: 128}'.",
		Args: args(oneRun),
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.check(c); err != nil {
				return err
			}
			l, err := a.load(args)
			if err != nil {
				return err
			}
			if n := l.Config.Model.LearnedPositions(); n > 0 && f.context > n {
				return usageErrorf("--context %d: the model has learned %d positions", f.context, n)
			}
			r, err := a.evaluate(l, f)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(r)
			}
			a.printEvaluation(r)
			return nil
		},
	}
	c.Flags().IntVar(&f.context, "context", 0, "tokens of a window (default: as in training)")
	c.Flags().IntVar(&f.tokens, "tokens", 0, "tokens to predict at most (default: the whole split)")
	c.Flags().BoolVar(&f.byPosition, "by-position", false, "also by position in the window: loss against the length of what was read")
	return c
}

// check refuses what was given and is no number of tokens.
func (f evalFlags) check(c *cobra.Command) error {
	switch {
	case f.context < 1 && c.Flags().Changed("context"):
		return usageErrorf("eval: --context %d: at least 1 is needed", f.context)
	case f.tokens < 1 && c.Flags().Changed("tokens"):
		return usageErrorf("eval: --tokens %d: at least 1 is needed", f.tokens)
	}
	return nil
}

// oneRun wants one run and any number of settings.
func oneRun(_ *cobra.Command, args []string) error {
	if runs, _ := split(args); len(runs) != 1 {
		return usageErrorf("one run is wanted, and settings key=value; got %d runs", len(runs))
	}
	return nil
}

// load reads the run that the command line names, with its settings laid over the
// run's own, and says what is not as it was.
func (a *app) load(args []string) (*sweep.Loaded, error) {
	runs, settings := split(args)
	dir, err := findRun(runs[0])
	if err != nil {
		return nil, err
	}
	over, err := config.ParseArgs(settings)
	if err != nil {
		return nil, err
	}
	l, err := sweep.Load(dir, over)
	if err != nil {
		return nil, err
	}
	for _, r := range l.Rejected {
		a.log.Warn(fmt.Sprintf("passed over: %v", r))
	}
	return l, nil
}

// tokensAtOnce is about how many tokens are evaluated in a batch.
const tokensAtOnce = 2048

func (a *app) evaluate(l *sweep.Loaded, f evalFlags) (r evaluation, err error) {
	corpus, changed, err := l.Corpus()
	if err != nil {
		return r, err
	}
	if changed {
		a.log.Warn("the data are not those that the model was trained on: the hashes differ")
	}
	r = evaluation{Dir: l.Dir, Step: l.Step, Context: f.context, Trained: l.Config.Model.Context}
	if r.Context == 0 {
		r.Context = r.Trained
	}
	if n := corpus.Validation.Len(); r.Context > n-1 {
		return r, &exitError{exitData, fmt.Errorf("the validation split has %d tokens; a context of %d needs %d", n, r.Context, r.Context+1)}
	}
	team := graph.NewTeam(a.threads)
	defer team.Close()
	w := corpus.Validation.Windows(r.Context, f.tokens)
	if !l.Config.Model.Attention.Causal {
		w = w.Whole()
	}
	prog, err := l.Eval(team, min(max(tokensAtOnce/r.Context, 1), w.Len()), r.Context)
	if err != nil {
		return r, err
	}
	r.fill(train.EvaluateByPosition(prog, w), w, corpus, f)
	return r, nil
}

// fill enters what was measured.
func (r *evaluation) fill(sums train.ByPosition, w data.Windows, corpus *data.Corpus, f evalFlags) {
	r.Tokens, r.Loss, r.PPL = w.Targets(), metrics.Known(sums.Loss), metrics.Known(math.Exp(sums.Loss))
	if n := corpus.ValidationBytes; n > 0 && f.tokens == 0 {
		r.BPB = metrics.Known(sums.Loss / math.Ln2 * float64(corpus.Validation.Len()) / float64(n))
	}
	if !f.byPosition {
		return
	}
	for from := 0; from < r.Context; {
		to := nextBoundary(from, r.Trained, r.Context)
		if loss, n := sums.Mean(from, to); n > 0 {
			r.Positions = append(r.Positions, positionRange{from, to, n, metrics.Known(loss), metrics.Known(math.Exp(loss))})
		}
		from = to
	}
}

// nextBoundary ends a range of positions: ranges double in length, and one ends where
// the context of training does.
func nextBoundary(from, trained, context int) int {
	to := max(1, 2*from)
	if from < trained && to > trained {
		to = trained
	}
	return min(to, context)
}

func (a *app) printEvaluation(r evaluation) {
	a.printf("%s, step %d\n", results.Printable(r.Dir), r.Step)
	a.printf("context %d (trained with %d), %d tokens\n", r.Context, r.Trained, r.Tokens)
	a.printf("loss %s nats/token, perplexity %s\n", results.Number(r.Loss.Float()), results.Number(r.PPL.Float()))
	if _, known := r.BPB.Get(); known {
		a.printf("%s bits/byte\n", results.Number(r.BPB.Float()))
	}
	if len(r.Positions) == 0 {
		return
	}
	a.printf("\n%15s %10s %9s %10s\n", "position", "tokens", "loss", "ppl")
	for _, p := range r.Positions {
		note := ""
		if p.From >= r.Trained {
			note = "  beyond training"
		}
		a.printf("%7d … %5d %10d %9s %10s%s\n", p.From, p.To-1, p.Tokens, results.Number(p.Loss.Float()), results.Number(p.PPL.Float()), note)
	}
}
