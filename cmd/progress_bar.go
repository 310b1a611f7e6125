package cmd

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"ablate/experiments/results"
	"ablate/experiments/sweep"
	"ablate/train"
)

// minBarWidth is the width of a terminal below which a bar and its words take
// more than one line, which cannot be redrawn.
const minBarWidth = 60

// barFits says whether w is a terminal on which a bar can be redrawn.
func barFits(w io.Writer) bool {
	return terminalWidth(w) >= minBarWidth && os.Getenv("TERM") != "dumb" && os.Getenv("CI") == ""
}

// terminalWidth is in characters; 0 for what is no terminal.
func terminalWidth(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// bar is one progress bar for all cells.
type bar struct {
	*tally
	bar *progressbar.ProgressBar
	w   io.Writer
}

const barUnits = 10_000

func newBar(t *tally, w io.Writer) *bar {
	return &bar{t, progressbar.NewOptions(barUnits,
		progressbar.OptionSetWriter(w), progressbar.OptionSetPredictTime(false), progressbar.OptionSetElapsedTime(false),
		progressbar.OptionSetWidth(24), progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(),
		progressbar.OptionSetTheme(progressbar.Theme{Saucer: "━", SaucerHead: "━", SaucerPadding: "─", BarStart: "", BarEnd: ""})), w}
}

func (b *bar) Started(c *sweep.Cell, step int64) { b.started(c, step) }

func (b *bar) Step(c *sweep.Cell, p train.Progress) {
	b.step(c, p)
	words := fmt.Sprintf("%d/%d  %s  %s  eta %s", b.done, b.cells, title(c), state(p), b.eta())
	b.bar.Describe(cut(words, terminalWidth(b.w)-barRoom))
	_ = b.bar.Set(int(b.share() * barUnits)) // a bar that cannot be drawn stops nothing
}

func (b *bar) Note(c *sweep.Cell, text string) { b.line(title(c) + ": " + text) }

func (b *bar) Finished(o sweep.Outcome) {
	b.finished(o.Cell)
	b.line(title(o.Cell) + ": " + ending(o))
}

// line prints a line above the bar.
// barRoom is what the bar itself takes of a line: 24 for the bar, the rest for
// the percentage and spaces.
const barRoom = 24 + 8

// cut shortens a text to a number of characters.
func cut(text string, width int) string {
	r := []rune(text)
	if width < 1 || len(r) <= width {
		return text
	}
	return string(r[:width-1]) + "…"
}

func (b *bar) line(text string) {
	_ = b.bar.Clear()
	fmt.Fprintln(b.w, results.Printable(text))
	_ = b.bar.RenderBlank()
}

func (b *bar) close() { _ = b.bar.Finish() }
