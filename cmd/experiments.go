package cmd

import (
	"github.com/spf13/cobra"

	"ablate/experiments"
	"ablate/experiments/sweep"
)

// listedExperiment is one object of the list that experiments --json prints.
type listedExperiment struct {
	Name     string `json:"name"`
	Question string `json:"question"`
	Paper    string `json:"paper"`
	Cells    int    `json:"cells"` // of the full profile
}

func (a *app) experiments() *cobra.Command {
	return &cobra.Command{
		Use:   "experiments [NAME]",
		Short: "List the shipped experiments, or print one",
		Args:  args(cobra.MaximumNArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				return a.printExperiment(args[0])
			}
			var all []listedExperiment
			for _, name := range experiments.Names() {
				text, err := experiments.Get(name)
				if err != nil {
					return err
				}
				e, err := listExperiment(name, text)
				if err != nil {
					return err
				}
				all = append(all, e)
			}
			if a.json {
				return a.printJSON(all)
			}
			for _, e := range all {
				a.printf("%-10s %s\n%-10s %s; %d cells\n", e.Name, e.Question, "", e.Paper, e.Cells)
			}
			return nil
		},
	}
}

func listExperiment(name string, text []byte) (listedExperiment, error) {
	e, err := sweep.Parse(name, text)
	if err != nil {
		return listedExperiment{}, err
	}
	return listedExperiment{name, e.Question, e.Paper, e.Size()}, nil
}

// printExperiment prints the file of an experiment; as JSON, inside the object
// that the list has of it.
func (a *app) printExperiment(name string) error {
	text, err := experimentText(name)
	if err != nil {
		return err
	}
	if !a.json {
		a.printf("%s", text)
		return nil
	}
	e, err := listExperiment(name, text)
	if err != nil {
		return err
	}
	return a.printJSON(struct {
		listedExperiment
		YAML string `json:"yaml"`
	}{e, string(text)})
}
