// Package cmd is the command line. It is the only place that reads flags,
// prints and exits; everything it says goes through the packages below it.
package cmd

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ablate/experiments/config"
	"ablate/ops/kernel"
)

// app is one invocation.
type app struct {
	stdout *pipe
	stderr io.Writer
	log    *slog.Logger

	interrupts *interrupts

	json       bool
	threads    int
	progress   string
	logFormat  string
	verbose    bool
	cpuprofile string
}

// Main runs the command line of the process and exits. A program that has
// registered variants of its own may call it.
func Main() {
	keepWriting()
	os.Exit(Run(os.Args[1:], os.Stdout, os.Stderr))
}

// Run runs one command line and gives its exit code.
func Run(args []string, stdout, stderr io.Writer) (code int) {
	ctx, interrupts, stop := interruptible(stderr)
	defer stop()
	defer func() {
		if r := recover(); r != nil { // by itself a panic ends with 2, which means a mistake of the user's
			fmt.Fprintf(stderr, "ablate: internal error: %v\n%s", r, debug.Stack())
			code = exitInternal
		}
	}()
	a := &app{stdout: newPipe(stdout), stderr: stderr, interrupts: interrupts, log: slog.New(slog.NewTextHandler(stderr, nil))}
	root := a.root()
	root.SetArgs(args)
	root.SetOut(a.stdout)
	root.SetErr(stderr)
	ran, err := root.ExecuteContextC(ctx)
	if e := a.stdout.Flush(); err == nil {
		err = e
	}
	if err == nil || brokenPipe(err) {
		return exitDone
	}
	code = exitCode(err)
	if text := err.Error(); text != "" {
		a.complain(code, text)
		if code == exitCheckpoint && ran.Flags().Lookup("resume") != nil {
			a.complain(code, "--resume never trains from the start")
		}
	}
	return code
}

// complain says what a command ends with, as the log is written.
func (a *app) complain(code int, text string) {
	if a.logFormat == "json" {
		newLogger(a.stderr, a.logFormat, slog.LevelInfo).Error(text, "exit_code", code)
		return
	}
	fmt.Fprintf(a.stderr, "ablate: %s\n", printableLines(text))
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "ablate",
		Short:         "A workbench for the architecture of transformer blocks",
		Long:          "Ablate trains language models whose transformer block is rewired by configuration,\nand reports per-layer gradient norms and perplexity with honest statistics.",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noCommand,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
		Version:       version(),
	}
	f := root.PersistentFlags()
	f.BoolVar(&a.json, "json", false, "print exactly one JSON document on standard output")
	f.IntVar(&a.threads, "threads", 0, "threads in total (default: all)")
	f.StringVar(&a.progress, "progress", "auto", "auto, bar, plain, json or off")
	f.StringVar(&a.logFormat, "log-format", "text", "text or json")
	f.BoolVarP(&a.verbose, "verbose", "v", false, "say more")
	f.StringVar(&a.cpuprofile, "cpuprofile", "", "write a CPU profile to `FILE`")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usageErrorf("%w%s\nRun '%s --help' for its flags.", err, meantFlag(c, err), c.CommandPath())
	})
	for _, c := range a.commands() {
		c.RunE = a.around(c.RunE)
		root.AddCommand(c)
	}
	return root
}

// around does what every command needs before and after: check the common
// flags, set up the log, profile.
func (a *app) around(run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	if run == nil {
		return nil
	}
	return func(c *cobra.Command, args []string) (err error) {
		if err := a.checkFlags(); err != nil {
			return err
		}
		if a.cpuprofile != "" {
			f, err := os.Create(a.cpuprofile)
			if err != nil {
				return usageErrorf("--cpuprofile: %w", err)
			}
			defer f.Close()
			if err := pprof.StartCPUProfile(f); err != nil {
				return err
			}
			defer pprof.StopCPUProfile()
		}
		return run(c, args)
	}
}

func (a *app) checkFlags() error {
	if err := kernel.PathError(); err != nil {
		return &exitError{exitUsage, err}
	}
	if a.threads < 0 {
		return usageErrorf("--threads %d: at least 1 is needed (0 means all)", a.threads)
	}
	if a.threads == 0 {
		a.threads = runtime.GOMAXPROCS(0)
	}
	if a.threads > maxThreads {
		return usageErrorf("--threads %d: at most %d", a.threads, maxThreads)
	}
	if err := oneOf("--progress", a.progress, "auto", "bar", "plain", "json", "off"); err != nil {
		return err
	}
	if err := oneOf("--log-format", a.logFormat, "text", "json"); err != nil {
		return err
	}
	level := slog.LevelInfo
	if a.verbose {
		level = slog.LevelDebug
	}
	a.log = newLogger(a.stderr, a.logFormat, level)
	return nil
}

// maxThreads is far above any machine; it only catches slips.
const maxThreads = 4096

func oneOf(flag, value string, allowed ...string) error {
	for _, s := range allowed {
		if s == value {
			return nil
		}
	}
	return usageErrorf("%s %s: allowed are %s%s", flag, value, strings.Join(allowed, ", "), didYouMean(config.Suggest(value, allowed)))
}

func didYouMean(name string) string {
	if name == "" {
		return ""
	}
	return "; did you mean " + name + "?"
}

// meantFlag is the suggestion for an unknown flag.
func meantFlag(c *cobra.Command, err error) string {
	wrong, ok := strings.CutPrefix(err.Error(), "unknown flag: --")
	if !ok {
		return ""
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	return didYouMean(config.Suggest("--"+wrong, names))
}

// noCommand reports an unknown subcommand, with what was probably meant.
func noCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return usageErrorf("unknown command %q%s (%s --help lists the commands)", args[0], didYouMean(config.Suggest(args[0], names)), c.CommandPath())
}

// args wraps one of cobra's argument checks so that its error is a usage error.
func args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			return usageErrorf("%s: %w\nusage: %s", c.Name(), err, c.UseLine())
		}
		return nil
	}
}
