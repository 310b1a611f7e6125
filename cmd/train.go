package cmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"ablate/experiments/results"
	"ablate/experiments/sweep"
	"ablate/train/metrics"
)

func (a *app) train() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "train CONFIG.yaml [key=value …]",
		Short: "Train one model",
		Args:  args(oneFile),
		RunE: func(c *cobra.Command, args []string) error {
			gates, err := parseGates(f.failIf)
			if err != nil {
				return err
			}
			plan, err := singlePlan(args)
			if err != nil {
				return err
			}
			dir, err := f.writable(results.PathName(plan.Experiment.Name))
			if err != nil {
				return err
			}
			progress := a.newProgress(plan)
			out, err := sweep.Run(c.Context(), plan, dir, f.options(a, progress))
			progress.close()
			if err != nil {
				return err
			}
			s := out[0].Summary
			if err := a.printSummary(s); err != nil {
				return err
			}
			if err := statusError(s); err != nil {
				return err
			}
			return checkGates(gates, []metrics.Summary{s})
		},
	}
	f.add(c)
	return c
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
		return &exitError{exitDiverged, fmt.Errorf("run %s diverged after %d steps; %s says where", s.ID, s.Steps, results.ManifestFile)}
	case metrics.Interrupted:
		return &exitError{exitInterrupted, fmt.Errorf("run %s was interrupted after %d steps and is saved; the same command continues it", s.ID, s.Steps)}
	}
	return nil
}

func (a *app) printSummary(s metrics.Summary) error {
	if a.json {
		return a.printJSON(s)
	}
	a.printf("%s: %s after %d steps, %d tokens\n", s.ID, s.Status, s.Steps, s.Tokens)
	a.printf("  parameters  %d\n", s.Params)
	a.printf("  val loss    %v nats/token, perplexity %v\n", results.Number(s.ValLoss.Float()), results.Number(s.ValPPL.Float()))
	if _, known := s.ValBPB.Get(); known {
		a.printf("  val bpb     %v bits/byte\n", results.Number(s.ValBPB.Float()))
	}
	a.printf("  speed       %.0f tokens/s, peak memory %.0f MB\n", s.TokensPerS.Float(), float64(s.PeakRSSBytes)/1e6)
	a.printf("  directory   %s\n", s.Dir)
	return nil
}
