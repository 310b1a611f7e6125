package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// interrupts turns signals into the end of a context. While there is something
// to save, the first one lets the step under way be finished and saved; before
// that, and at the second one, the process ends at once, which harms nothing:
// every file appears under its name complete or not at all.
type interrupts struct {
	stderr io.Writer
	saves  atomic.Bool // a cell is being trained, or was
	ended  chan struct{}
	cancel context.CancelCauseFunc
}

// stopped is the cause of a context that a signal ended.
type stopped struct{ signal os.Signal }

func (s stopped) Error() string { return "interrupted: " + s.signal.String() }

// interruptible gives a context that a signal may end, and a function that
// stops listening.
func interruptible(stderr io.Writer) (ctx context.Context, in *interrupts, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	in = &interrupts{stderr: stderr, ended: make(chan struct{}), cancel: cancel}
	ch := make(chan os.Signal, 2)
	signal.Notify(ch, stopSignals...)
	go in.listen(ch)
	return ctx, in, func() { signal.Stop(ch); close(in.ended); cancel(nil) }
}

func (in *interrupts) listen(ch <-chan os.Signal) {
	for first := true; ; first = false {
		select {
		case s := <-ch:
			if !first || !in.saves.Load() {
				os.Exit(killedBy(s))
			}
			in.cancel(stopped{s})
			if barFits(in.stderr) {
				fmt.Fprintln(in.stderr) // below the bar
			}
			fmt.Fprintln(in.stderr, "ablate: interrupted: finishing the step and saving; once more to stop at once")
		case <-in.ended:
			return
		}
	}
}

// killedBy is the exit code that a shell gives a process that a signal ended.
func killedBy(s os.Signal) int {
	if n, ok := s.(syscall.Signal); ok {
		return 128 + int(n)
	}
	return exitKilled
}

// nothingSaved is the end of a command that a signal reached before it had
// trained anything.
func nothingSaved(ctx context.Context) error {
	code := exitKilled
	if s, ok := errors.AsType[stopped](context.Cause(ctx)); ok {
		code = killedBy(s.signal)
	}
	return &exitError{code, errors.New("interrupted before anything was trained; nothing was saved")}
}
