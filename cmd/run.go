package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ablate/experiments"
	"ablate/experiments/config"
	"ablate/experiments/report"
	"ablate/experiments/results"
	"ablate/experiments/sweep"
	"ablate/train/metrics"
)

func (a *app) run() *cobra.Command {
	var f runFlags
	var jobs, index int
	var dry bool
	var profile string
	c := &cobra.Command{
		Use:   "run EXPERIMENT [key=value …]",
		Short: "Run every cell of an experiment, then write its report",
		Long:  "Run takes the file of an experiment or the name of a shipped one:\n" + strings.Join(experiments.Names(), ", ") + ".",
		Args:  args(oneFile),
		RunE: func(c *cobra.Command, args []string) error {
			gates, err := parseGates(f.failIf)
			if err != nil {
				return err
			}
			if err := oneOf("--profile", profile, sweep.Profiles...); err != nil {
				return err
			}
			if jobs < 0 {
				return usageErrorf("--jobs %d: at least 1 is needed", jobs)
			}
			if err := f.check(); err != nil && !dry {
				return err
			}
			plan, err := experimentPlan(args, profile)
			if err != nil {
				return err
			}
			cells, err := pickCells(c.Flags().Changed("index"), index, len(plan.Cells))
			if err != nil {
				return err
			}
			o := f.options(a, nil)
			o.Jobs, o.Cells = jobs, cells
			if dry {
				return a.dryRun(plan, o)
			}
			return a.runPlan(c, plan, &f, o, gates)
		},
	}
	f.add(c)
	c.Flags().IntVar(&jobs, "jobs", 0, "cells at once (default: threads)")
	c.Flags().IntVar(&index, "index", 0, "run only cell `I`, from 0 (default: from SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX)")
	c.Flags().BoolVar(&dry, "dry-run", false, "print the cells with their sizes and run nothing")
	c.Flags().StringVar(&profile, "profile", sweep.Profiles[0], "quick or full")
	return c
}

// experimentPlan reads an experiment, a file or a shipped one, and plans it.
func experimentPlan(args []string, profile string) (*sweep.Plan, error) {
	files, settings := split(args)
	text, err := experimentText(files[0])
	if err != nil {
		return nil, err
	}
	e, err := sweep.Parse(files[0], text)
	if err != nil {
		return nil, err
	}
	over, err := config.ParseArgs(settings)
	if err != nil {
		return nil, err
	}
	if e, err = e.With(profile, over); err != nil {
		return nil, err
	}
	return e.Plan(&sweep.Corpora{})
}

// experimentText is the text of a file, or of a shipped experiment where there
// is no such file.
func experimentText(name string) ([]byte, error) {
	text, err := readFile(name)
	if err == nil {
		return text, nil
	}
	if !errors.Is(err, os.ErrNotExist) || strings.ContainsAny(name, `/\.`) {
		return nil, err
	}
	if text, err = experiments.Get(name); err != nil {
		if s := config.Suggest(name, experiments.Names()); s != "" {
			return nil, usageErrorf("%w%s", err, didYouMean(s))
		}
		return nil, &exitError{exitUsage, err}
	}
	return text, nil
}

// indexVariables are where batch systems put the number of a task.
var indexVariables = []string{"SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX"}

// pickCells gives the one cell that a flag or a batch system asks for, or nil
// for all.
func pickCells(given bool, index, n int) ([]int, error) {
	from := "--index"
	for _, v := range indexVariables {
		text := os.Getenv(v)
		if given || text == "" {
			continue
		}
		i, err := strconv.Atoi(text)
		if err != nil {
			return nil, usageErrorf("%s=%s: not an integer", v, text)
		}
		given, index, from = true, i, v
	}
	if !given {
		return nil, nil
	}
	if index < 0 || index >= n {
		return nil, usageErrorf("%s %d: the experiment has cells 0 to %d", from, index, n-1)
	}
	return []int{index}, nil
}

func (a *app) runPlan(c *cobra.Command, plan *sweep.Plan, f *runFlags, o sweep.Options, gates []results.Gate) error {
	dir, err := f.writable(results.PathName(plan.Experiment.Name))
	if err != nil {
		return err
	}
	if n := plan.Dropped(dir); n > 0 {
		a.log.Warn(fmt.Sprintf("%s has cells of earlier runs, of which %d are not part of this one: their files stay, the report is without them; the command that made them brings it back", dir, n))
	}
	progress := a.newProgress(plan)
	o.Progress = progress
	out, runErr := sweep.Run(c.Context(), plan, dir, o)
	progress.close()
	var done []metrics.Summary
	for _, r := range out {
		done = append(done, r.Summary)
	}
	runErr = errors.Join(runErr, report.Write(dir), a.printRun(dir, done))
	if err := runError(c.Context(), out, runErr); err != nil {
		return err
	}
	return checkGates(gates, done)
}

// runError turns the ends of all cells into an exit code. A cell that failed
// makes it 1, whatever it failed of: the others have results. Only where every
// cell failed of the same is that the reason of the whole.
func runError(ctx context.Context, out []sweep.Outcome, err error) error {
	count := map[metrics.Status]int{}
	codes := map[int]int{}
	for _, o := range out {
		count[o.Summary.Status]++
		if o.Summary.Status == metrics.Failed {
			codes[exitCode(o.Err)]++
		}
	}
	switch {
	case count[metrics.Failed] > 0:
		if codes[exitCode(err)] == len(out) {
			return err
		}
		return &exitError{exitInternal, err}
	case err != nil, ctx.Err() == nil, count[metrics.Interrupted]+count[results.Pending] == 0:
		return err
	case count[results.Pending] == len(out):
		return nothingSaved(ctx)
	}
	return &exitError{exitInterrupted, errors.New("interrupted; what was running is saved, and the same command continues")}
}

// printRun prints the table of an experiment and where its report is.
func (a *app) printRun(dir string, cells []metrics.Summary) error {
	if a.json {
		return a.printJSON(struct {
			Dir         string            `json:"dir"`
			Cells       []metrics.Summary `json:"cells"`
			Comparisons any               `json:"comparisons"` // null: no verdicts are given yet
		}{Dir: dir, Cells: cells})
	}
	e, err := results.Load(dir)
	if err != nil {
		return err
	}
	t, err := e.Table()
	if err != nil {
		return err
	}
	if err := t.Eventful().Write(a.stdout, "text"); err != nil {
		return err
	}
	a.printf("\n")
	if e.Quick() {
		a.printf("%s\n", results.QuickNote)
	}
	a.printf("report: %s\n", filepath.Join(dir, results.ReportFile))
	return nil
}

// dryRun prints what the cells are going to cost.
func (a *app) dryRun(plan *sweep.Plan, o sweep.Options) error {
	rows, err := plan.Estimates(o)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(rows)
	}
	width := len("cell")
	for _, r := range rows {
		width = max(width, len(r.Cell))
	}
	a.printf("%5s  %-12s  %-*s %6s %10s %10s %12s %9s\n", "index", "id", width, "cell", "seed", "params", "memory", "FLOPs/token", "time")
	seconds := 0.0
	for _, r := range rows {
		a.printf("%5d  %-12s  %-*s %6d %10d %7.0f MB %12.4g %8.0fs", r.Index, r.ID, width, r.Cell, r.Seed, r.Params, float64(r.Bytes)/1e6, r.FLOPs, r.Seconds)
		if r.Match != nil {
			a.printf("  %s %+.2f %%", r.Match.On, 100*r.Match.Mismatch)
		}
		a.printf("\n")
		seconds += r.Seconds
	}
	jobs := o.Jobs
	if jobs == 0 {
		jobs = min(a.threads, len(rows))
	}
	a.printf("%d cells, about %.0f s one after the other on this machine at %.0f GFLOP/s a thread", len(rows), seconds, sweep.AssumedFLOPS()/1e9)
	if jobs > 1 {
		a.printf(", %d at once", jobs)
	}
	a.printf("\n")
	return nil
}
