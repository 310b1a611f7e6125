package cmd

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"ablate/experiments/results"
)

// printJSON writes the one JSON document of a command run with --json.
func (a *app) printJSON(v any) error {
	e := json.NewEncoder(a.stdout)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// printf writes results; they go to standard output, everything else does not.
func (a *app) printf(format string, args ...any) {
	fmt.Fprintf(a.stdout, format, args...)
}

// pipe is standard output, buffered. A reader that leaves early, as head does,
// ends the command quietly.
type pipe struct {
	*bufio.Writer
	to io.Writer
}

func newPipe(w io.Writer) *pipe { return &pipe{bufio.NewWriter(w), w} }

// brokenPipe says whether err is a reader's leaving.
func brokenPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }

// printableLines keeps the lines of a message and disarms the rest of what a
// terminal would act upon: a file may be called anything.
func printableLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = results.Printable(lines[i])
	}
	return strings.Join(lines, "\n")
}
