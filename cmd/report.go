package cmd

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"ablate/experiments/report"
	"ablate/experiments/results"
)

func (a *app) report() *cobra.Command {
	return &cobra.Command{
		Use:   "report DIR",
		Short: "Redraw tables, figures and report.html from files alone",
		Args:  args(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			dir, err := existing(args[0])
			if err != nil {
				return err
			}
			if err := report.Write(dir); err != nil {
				return err
			}
			file := filepath.Join(dir, results.ReportFile)
			if a.json {
				return a.printJSON(map[string]string{"dir": dir, "report": file})
			}
			a.printf("%s\n", file)
			return nil
		},
	}
}

func (a *app) plot() *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "plot KIND RUN|DIR",
		Short: "Draw one figure, and write its numbers beside it as CSV",
		Long:  "Kinds: " + strings.Join(report.Figures(), ", ") + "; grads and loss for short.",
		Args:  args(cobra.ExactArgs(2)),
		RunE: func(_ *cobra.Command, args []string) error {
			if file == "" {
				return usageErrorf("plot: --file FILE.png, .svg or .pdf is needed")
			}
			dir, err := findRun(args[1])
			if err != nil {
				return err
			}
			if err := report.Plot(args[0], dir, file); err != nil {
				return &exitError{exitUsage, err}
			}
			csv := strings.TrimSuffix(file, filepath.Ext(file)) + ".csv"
			if a.json {
				return a.printJSON(map[string]string{"figure": file, "numbers": csv})
			}
			a.printf("%s\n%s\n", file, csv)
			return nil
		},
	}
	c.Flags().StringVar(&file, "file", "", "figure to write; the ending says the format")
	return c
}

// existing checks that a directory that the command line names is there.
func existing(dir string) (string, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return "", &exitError{exitUsage, err}
	}
	if !info.IsDir() {
		return "", usageErrorf("%s: not a directory", dir)
	}
	return dir, nil
}

// findRun resolves RUN: a path, or a unique prefix of an identity below runs.
func findRun(name string) (string, error) {
	if _, err := os.Stat(name); err == nil {
		return existing(name)
	}
	if strings.ContainsAny(name, `/\.`) || name == "" {
		return "", usageErrorf("%s: no such run", name)
	}
	all, err := filepath.Glob(filepath.Join("runs", "*", results.CellsDir, "*"))
	if err != nil {
		return "", err
	}
	var found []string
	for _, dir := range all {
		if id := filepath.Base(dir); results.ValidID(id) && strings.HasPrefix(id, name) {
			found = append(found, dir)
		}
	}
	switch len(found) {
	case 0:
		return "", usageErrorf("%s: neither a path nor the beginning of a run's identity below runs", name)
	case 1:
		return found[0], nil
	}
	return "", usageErrorf("%s: %d runs begin so: %s", name, len(found), strings.Join(found, ", "))
}
