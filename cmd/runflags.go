package cmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"ablate/experiments/sweep"
)

// runFlags are those of the commands that train.
type runFlags struct {
	out    string
	failIf []string
	resume string
	force  bool
}

func (f *runFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.out, "out", "runs", "directory of all runs")
	c.Flags().StringArrayVar(&f.failIf, "fail-if", nil, "a condition such as 'val_ppl>12' that ends the command with exit code 7; may be repeated")
	c.Flags().StringVar(&f.resume, "resume", "auto", "auto, never, or the path of a checkpoint")
	c.Flags().BoolVar(&f.force, "force", false, "run again what is finished")
}

// options are those of a sweep.
func (f *runFlags) options(a *app, p sweep.Progress) sweep.Options {
	return sweep.Options{Threads: a.threads, Resume: sweep.Resume(f.resume), Force: f.force, Progress: p}
}

// check refuses, before anything is read, an --out that cannot be: the nearest
// directory above it that exists must be one, and must be open for writing.
// Nothing is made.
func (f *runFlags) check() error {
	if f.resume == "" {
		return usageErrorf("--resume: it is empty; auto, never, or the path of a checkpoint")
	}
	dir := filepath.Clean(f.out)
	info, err := os.Stat(dir)
	for errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != dir {
		dir = filepath.Dir(dir)
		info, err = os.Stat(dir)
	}
	switch {
	case err != nil:
		return usageErrorf("--out %s: %w", f.out, err)
	case !info.IsDir():
		return usageErrorf("--out %s: %s is not a directory", f.out, dir)
	}
	probe, err := os.CreateTemp(dir, ".ablate-*")
	if err != nil {
		return usageErrorf("--out %s: %w", f.out, err)
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// writable makes sure, before any work, that a directory can be made and
// written below out.
func (f *runFlags) writable(name string) (dir string, err error) {
	dir = filepath.Join(f.out, name)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", usageErrorf("--out %s: %w", f.out, err)
	}
	probe, err := os.CreateTemp(dir, ".ablate-*")
	if err != nil {
		return "", usageErrorf("--out %s: %w", f.out, err)
	}
	probe.Close()
	return dir, os.Remove(probe.Name())
}

// split parts the arguments of a command into files and key=value settings.
func split(args []string) (files, settings []string) {
	for _, a := range args {
		if key, _, ok := strings.Cut(a, "="); ok && !strings.ContainsAny(key, `/\`) { // no key has a separator
			settings = append(settings, a)
		} else {
			files = append(files, a)
		}
	}
	return files, settings
}

// oneFile wants one file and any number of settings.
func oneFile(c *cobra.Command, args []string) error {
	if files, _ := split(args); len(files) != 1 {
		return fmt.Errorf("one file is wanted, and settings key=value; got %d files", len(files))
	}
	return nil
}

// maxFile bounds what is read of a file that the command line names: a device
// may have no end. Configurations take kilobytes, reference vectors megabytes.
const maxFile = 256 << 20

// readFile reads a file that the command line names. That it cannot be read is
// a usage error.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return nil, &exitError{exitUsage, err}
	case len(b) > maxFile:
		return nil, usageErrorf("%s: more than %d MiB", path, maxFile>>20)
	}
	return b, nil
}
