//go:build !unix

package cmd

import (
	"os"
	"syscall"
)

// stopSignals are those that ask a process to end.
var stopSignals = []os.Signal{os.Interrupt, syscall.SIGTERM}

// keepWriting has nothing to do: a write to a pipe without reader is an error.
func keepWriting() {}
