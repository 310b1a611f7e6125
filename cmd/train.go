package cmd

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"ablate/experiments/results"
	"ablate/experiments/sweep"
	"ablate/train"
	"ablate/train/metrics"
)

func (a *app) train() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "train CONFIG.yaml [key=value …]",
		Short: "Train one model",
		Long: "Train takes a file with the keys that ablate config keys lists, in mappings: model, data, train, …\n" +
			"A file with base and axes is an experiment; ablate run takes those.",
		Args: args(oneFile),
		RunE: func(c *cobra.Command, args []string) error {
			gates, err := parseGates(f.failIf)
			if err != nil {
				return err
			}
			if err := f.check(); err != nil {
				return err
			}
			plan, err := singlePlan(args)
			if err != nil {
				return err
			}
			return a.trainPlan(c.Context(), plan, &f, gates)
		},
	}
	f.add(c)
	return c
}

// trainPlan trains the one cell of a plan and tells how it ended.
func (a *app) trainPlan(ctx context.Context, plan *sweep.Plan, f *runFlags, gates []results.Gate) error {
	dir, err := f.writable(results.PathName(plan.Experiment.Name))
	if err != nil {
		return err
	}
	progress := a.newProgress(plan)
	out, err := sweep.Run(ctx, plan, dir, f.options(a, progress))
	progress.close()
	if len(out) == 0 || out[0].Summary.Status == results.Pending {
		if err == nil {
			err = nothingSaved(ctx)
		}
		return err
	}
	s := out[0].Summary
	if e := a.printSummary(s); e != nil {
		return e
	}
	if err := cmp.Or(err, statusError(s)); err != nil {
		return err
	}
	return checkGates(gates, []metrics.Summary{s})
}

// singlePlan is a plan of the one run that a file and settings describe.
func singlePlan(args []string) (*sweep.Plan, error) {
	trees, err := layers(args)
	if err != nil {
		return nil, err
	}
	return sweep.Single(trees...)
}

// statusError turns the end of a run into an exit code.
func statusError(s metrics.Summary) error {
	switch s.Status {
	case metrics.Diverged:
		return &exitError{exitDiverged, fmt.Errorf("run %s diverged after %d steps: %s", s.ID, s.Steps, faultOf(s))}
	case metrics.Interrupted:
		return &exitError{exitInterrupted, fmt.Errorf("run %s was interrupted after %d steps and is saved; the same command continues it", s.ID, s.Steps)}
	}
	return nil
}

// faultOf is where a diverged run left the finite numbers, as its manifest has
// it.
func faultOf(s metrics.Summary) string {
	var m struct {
		NonFinite *train.NonFinite `json:"nonfinite"`
	}
	text, err := os.ReadFile(filepath.Join(s.Dir, results.ManifestFile))
	if err != nil || json.Unmarshal(text, &m) != nil || m.NonFinite == nil {
		return "the place is not recorded"
	}
	return m.NonFinite.Place()
}

func (a *app) printSummary(s metrics.Summary) error {
	if a.json {
		return a.printJSON(s)
	}
	a.printf("%s: %s after %d steps, %d tokens\n", s.ID, s.Status, s.Steps, s.Tokens)
	a.printf("  parameters  %d\n", s.Params)
	if _, known := s.ValLoss.Get(); known {
		a.printf("  val loss    %v nats/token, perplexity %v\n", results.Number(s.ValLoss.Float()), results.Number(s.ValPPL.Float()))
	}
	if _, known := s.ValBPB.Get(); known {
		a.printf("  val bpb     %v bits/byte\n", results.Number(s.ValBPB.Float()))
	}
	if s.TokensPerS.Finite() {
		a.printf("  speed       %.0f tokens/s, peak memory %.0f MB\n", s.TokensPerS.Float(), float64(s.PeakRSSBytes)/1e6)
	}
	a.printf("  directory   %s\n", s.Dir)
	return nil
}
