//go:build unix

package cmd

import (
	"os"
	"os/signal"
	"syscall"
)

// stopSignals are those that ask a process to end: from the keyboard, from
// the system, and from batch systems some time before they kill.
var stopSignals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGUSR1}

// keepWriting turns the end of a reader of standard output or error from the
// death of this process into an error of the write: a run is not lost because
// somebody stopped reading its progress.
func keepWriting() { signal.Ignore(syscall.SIGPIPE) }
