package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"ablate/data"
	"ablate/experiments/config"
	"ablate/experiments/results"
	"ablate/experiments/sweep"
	"ablate/train"
)

// The exit codes, a contract with scripts.
const (
	exitDone        = 0
	exitInternal    = 1
	exitUsage       = 2  // usage or configuration
	exitData        = 3  // a source of data
	exitDiverged    = 4  // train ended with non-finite numbers
	exitCheckpoint  = 5  // a checkpoint that cannot be used
	exitResources   = 6  // memory or disk, and what the system forbids
	exitGate        = 7  // a --fail-if condition held
	exitInterrupted = 75 // a checkpoint is saved: run again
	exitKilled      = 130
)

// exitError is an error that decides the exit code. With an empty text it only
// does that: everything has been said already.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func usageErrorf(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// exitCode finds the code for an error: its own, or the one of the first rule
// that knows its type.
func exitCode(err error) int {
	if err == nil {
		return exitDone
	}
	if e, ok := errors.AsType[*exitError](err); ok {
		return e.code
	}
	for _, r := range exitRules {
		if r.is(err) {
			return r.code
		}
	}
	return exitInternal
}

// exitRules say which code stands for which type of error, most specific first.
var exitRules = []struct {
	code int
	is   func(error) bool
}{
	{exitUsage, is[*config.Error]},
	{exitUsage, is[*sweep.Locked]},
	{exitUsage, is[*results.NothingError]},
	{exitData, is[*data.Error]},
	{exitResources, is[*sweep.Resources]},
	{exitResources, is[*train.SaveError]},
	{exitCheckpoint, is[*train.MismatchError]},
	{exitCheckpoint, is[*train.CorruptError]},
	{exitResources, fullDisk},
	{exitResources, forbidden},
}

// fullDisk is a write that found no room: beyond the space that is left, a
// quota, or the largest size that a file may have.
func fullDisk(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// forbidden is a file or a directory that may not be read or written.
func forbidden(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
