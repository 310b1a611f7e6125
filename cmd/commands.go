package cmd

import "github.com/spf13/cobra"

// commands lists the subcommands, in the order of the help.
func (a *app) commands() []*cobra.Command {
	return []*cobra.Command{
		a.train(),
		a.run(),
		a.report(),
		a.show(),
		a.plot(),
		a.eval(),
		a.generate(),
		a.inspect(),
		a.verify(),
		a.bench(),
		a.presets(),
		a.experiments(),
		a.config(),
	}
}
