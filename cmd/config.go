package cmd

import (
	"strings"

	"github.com/spf13/cobra"

	"ablate/experiments/config"
	"ablate/experiments/sweep"
)

func (a *app) config() *cobra.Command {
	c := &cobra.Command{
		Use:   "config keys|print|schema",
		Short: "Every key of a configuration, the resolved one, or its JSON Schema",
		Args:  noCommand,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	for _, sub := range []*cobra.Command{a.configKeys(), a.configPrint(), a.configSchema()} {
		sub.RunE = a.around(sub.RunE)
		c.AddCommand(sub)
	}
	return c
}

func (a *app) configKeys() *cobra.Command {
	return &cobra.Command{
		Use:   "keys",
		Short: "List every key with type, default, what is allowed and meaning",
		Args:  args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			keys := sweep.ConfigKeys()
			if a.json {
				return a.printJSON(keys)
			}
			for _, k := range keys {
				a.printf("%-28s %-18s %-12s %s\n", k.Path, k.Type, k.Default, k.Doc)
				if allowed := strings.Join(k.Enum, ", "); allowed != "" || k.Range != "" {
					a.printf("%-28s allowed: %s%s\n", "", allowed, k.Range)
				}
			}
			return nil
		},
	}
}

func (a *app) configPrint() *cobra.Command {
	return &cobra.Command{
		Use:   "print [CONFIG.yaml] [key=value …]",
		Short: "Print the complete configuration that a file and settings give",
		RunE: func(_ *cobra.Command, args []string) error {
			cfg, err := a.resolved(args)
			if err != nil {
				return err
			}
			if a.json {
				_, err := a.stdout.Write(append(config.Canonical(cfg), '\n'))
				return err
			}
			_, err = a.stdout.Write(config.Encode(cfg).YAML())
			return err
		},
	}
}

func (a *app) configSchema() *cobra.Command {
	c := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the files that train and run take, for editors",
		Args:  args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			_, err := a.stdout.Write(sweep.Schema())
			return err
		},
	}
	return c
}
