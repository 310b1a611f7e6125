package cmd

import (
	"strings"

	"github.com/spf13/cobra"

	"ablate/experiments/config"
	"ablate/experiments/sweep"
	"ablate/nn/presets"
)

// listedPreset is one object of the list that presets --json prints, and what
// inspect --json says of the preset that it was given.
type listedPreset struct {
	Name      string   `json:"name"`
	About     string   `json:"about"`
	Source    []string `json:"source"`
	Omitted   []string `json:"omitted"`
	Uncertain []string `json:"uncertain"`
}

func listed(p *sweep.Preset) *listedPreset {
	if p == nil {
		return nil
	}
	return &listedPreset{p.Name, p.About, list(p.Source), list(p.Omitted), list(p.Uncertain)}
}

// list is never null in JSON.
func list(s []string) []string { return append([]string{}, s...) }

func (a *app) presets() *cobra.Command {
	return &cobra.Command{
		Use:   "presets [NAME]",
		Short: "List the models of the literature that model.preset=NAME starts from, or print one",
		Args:  args(cobra.MaximumNArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				return a.printPreset(args[0])
			}
			all, err := sweep.Presets()
			if err != nil {
				return err
			}
			if a.json {
				var out []*listedPreset
				for _, p := range all {
					out = append(out, listed(p))
				}
				return a.printJSON(out)
			}
			for _, p := range all {
				if !strings.HasSuffix(p.Name, presets.Tiny) {
					a.printf("%-17s %s\n", p.Name, p.About)
				}
			}
			a.printf("Each has a small twin, NAME%s, which trains in seconds.\n", presets.Tiny)
			return nil
		},
	}
}

func (a *app) printPreset(name string) error {
	p, err := sweep.LoadPreset(name)
	if err != nil {
		return usageErrorf("%w", err)
	}
	if !a.json {
		a.printf("%s", p.YAML())
		return nil
	}
	return a.printJSON(struct {
		*listedPreset
		Model any `json:"model"`
	}{listed(p), p.Model.Value()})
}

// printNotes prints what a preset leaves out and what is not established.
func (a *app) printNotes(p *sweep.Preset) {
	if p == nil {
		return
	}
	a.printf("preset        %s: %s\n", p.Name, p.About)
	for _, notes := range []struct {
		word  string
		lines []string
	}{{"omitted:", p.Omitted}, {"uncertain:", p.Uncertain}} {
		if len(notes.lines) == 0 {
			notes.lines = []string{"nothing known"}
		}
		for _, line := range notes.lines {
			a.printf("%-13s %s\n", notes.word, line)
		}
	}
}

// layers reads the configuration of a run that files and settings state, each a
// layer over those before it.
func layers(args []string) ([]*config.Tree, error) {
	files, settings := split(args)
	var out []*config.Tree
	for _, file := range files {
		text, err := readFile(file)
		if err != nil {
			return nil, err
		}
		t, err := config.ParseFile(file, text)
		if err != nil {
			return nil, err
		}
		for _, key := range []string{"base", "axes"} {
			if t.Get(key) != nil {
				return nil, t.Errorf(key, "a key of an experiment, which ablate run takes; here the keys of one run are wanted: model, data, train, …")
			}
		}
		out = append(out, t)
	}
	over, err := config.ParseArgs(settings)
	return append(out, over), err
}

// presetOf is the preset that files and settings name; nil if they name none.
func presetOf(args []string) (*sweep.Preset, error) {
	trees, err := layers(args)
	if err != nil {
		return nil, err
	}
	return sweep.PresetOf(trees...)
}
