package cmd

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"ablate/experiments/results"
	"ablate/experiments/sweep"
	"ablate/train"
)

// watcher shows how the cells of a plan advance.
type watcher interface {
	sweep.Progress
	close()
}

// newProgress picks what --progress asks for: a bar on a terminal, plain lines
// elsewhere, unless told otherwise.
func (a *app) newProgress(plan *sweep.Plan) watcher {
	t := newTally(plan)
	mode := a.progress
	if mode == "auto" {
		mode = "plain"
		if barFits(a.stderr) {
			mode = "bar"
		}
	}
	var w watcher = quiet{}
	switch mode {
	case "bar":
		w = newBar(t, a.stderr)
	case "json":
		w = &eventLines{tally: t, enc: json.NewEncoder(a.stderr)}
	case "plain":
		w = &plainLines{tally: t, w: a.stderr}
	}
	return saving{w, a.interrupts}
}

// saving lets signals know once there is something to save.
type saving struct {
	watcher
	interrupts *interrupts
}

func (s saving) Started(c *sweep.Cell, step int64) {
	s.interrupts.saves.Store(true)
	s.watcher.Started(c, step)
}

// quiet shows nothing.
type quiet struct{ sweep.Silent }

func (quiet) close() {}

// tally adds up the work of all cells, in FLOPs, so that a deep cell counts
// for more than a shallow one.
type tally struct {
	cells, done int
	total, past float64 // FLOPs: of all cells, and done in this session or before
	running     map[*sweep.Cell]float64
	spent       float64 // FLOPs of this session alone
	start       time.Time
}

func newTally(plan *sweep.Plan) *tally {
	t := &tally{cells: len(plan.Cells), running: map[*sweep.Cell]float64{}, start: time.Now()}
	for _, c := range plan.Cells {
		t.total += work(c, c.Config.Train.Steps)
	}
	return t
}

func work(c *sweep.Cell, steps int) float64 {
	s := c.Config.Train
	return float64(steps) * float64(s.Batch*s.Accumulate*c.Config.Model.Context) * c.Size.FLOPs
}

func (t *tally) started(c *sweep.Cell, step int64) { t.running[c] = work(c, int(step)) }

func (t *tally) step(c *sweep.Cell, p train.Progress) {
	now := work(c, p.Step)
	t.spent += now - t.running[c]
	t.running[c] = now
}

func (t *tally) finished(c *sweep.Cell) {
	delete(t.running, c)
	t.past += work(c, c.Config.Train.Steps)
	t.done++
}

func (t *tally) share() float64 {
	now := t.past
	for _, w := range t.running {
		now += w
	}
	return min(1, now/max(t.total, 1))
}

// etaAfter is how long work has to be under way before its pace says much.
const etaAfter = 2 * time.Second

// eta is what is left at the pace of this session; progressbar's own is wrong
// where some of the work was done before.
func (t *tally) eta() string {
	if time.Since(t.start) < etaAfter || t.spent == 0 {
		return "--:--"
	}
	left := (1 - t.share()) * t.total / t.spent * time.Since(t.start).Seconds()
	return clock(time.Duration(left * float64(time.Second)))
}

// clock prints a duration as 1:02 or 1:02:03.
func clock(d time.Duration) string {
	s := int(d.Round(time.Second).Seconds())
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// title names a cell in few words: its axes' values and its seed.
func title(c *sweep.Cell) string {
	var words []string
	for _, v := range c.Values {
		words = append(words, results.Label(v))
	}
	if len(words) == 0 {
		words = []string{results.Printable(c.Config.Name)}
	}
	return fmt.Sprintf("%s, seed %d", strings.Join(words, " × "), c.Seed())
}

// state says how a cell stands.
func state(p train.Progress) string {
	if p.Evaluated > 0 {
		return fmt.Sprintf("step %d/%d  evaluating, %.0f %%", p.Step, p.Steps, 100*p.Evaluated)
	}
	s := fmt.Sprintf("step %d/%d  loss %s", p.Step, p.Steps, results.Number(p.Loss))
	if p.TokensPerS > 0 {
		s += fmt.Sprintf("  %.0f tok/s", p.TokensPerS)
	}
	return s
}

// ending says how a cell ended.
func ending(o sweep.Outcome) string {
	switch s := o.Summary; {
	case o.Err != nil:
		return "failed: " + o.Err.Error()
	case o.Reused:
		return fmt.Sprintf("was finished: val ppl %s", results.Number(s.ValPPL.Float()))
	case s.ValPPL.Finite():
		text := fmt.Sprintf("%s: val ppl %s", s.Status, results.Number(s.ValPPL.Float()))
		if s.TokensPerS.Finite() {
			text += fmt.Sprintf(", %.0f tok/s", s.TokensPerS.Float())
		}
		return text
	default:
		return fmt.Sprintf("%s after %d steps", s.Status, s.Steps)
	}
}

// plainEvery is the time between two lines of a cell in plain progress.
const plainEvery = 5 * time.Second

// plainLines prints a line every few seconds, and one for each end.
type plainLines struct {
	*tally
	w    io.Writer
	last time.Time
}

func (l *plainLines) Started(c *sweep.Cell, step int64) {
	l.started(c, step)
	if step > 0 {
		l.print(c, fmt.Sprintf("continues at step %d", step))
	}
}

func (l *plainLines) Step(c *sweep.Cell, p train.Progress) {
	l.step(c, p)
	if time.Since(l.last) < plainEvery {
		return
	}
	l.last = time.Now()
	l.print(c, fmt.Sprintf("%s  eta %s", state(p), l.eta()))
}

func (l *plainLines) Note(c *sweep.Cell, text string) { l.print(c, text) }

func (l *plainLines) Finished(o sweep.Outcome) {
	l.finished(o.Cell)
	l.print(o.Cell, ending(o))
}

func (l *plainLines) print(c *sweep.Cell, text string) {
	fmt.Fprintf(l.w, "[%d/%d] %s: %s\n", l.done, l.cells, title(c), results.Printable(text))
}

func (l *plainLines) close() {}

// eventLines prints a JSON object for each thing that happens.
type eventLines struct {
	*tally
	enc  *json.Encoder
	last time.Time
}

type progressEvent struct {
	Event   string  `json:"event"`
	ID      string  `json:"id"`
	Cell    string  `json:"cell"`
	Step    int64   `json:"step"`
	Steps   int64   `json:"steps"`
	Loss    string  `json:"loss,omitempty"`
	Text    string  `json:"text,omitempty"`
	Overall float64 `json:"overall"` // share of all cells' work
}

func (l *eventLines) event(c *sweep.Cell, e progressEvent) {
	e.ID, e.Cell, e.Steps, e.Overall = c.ID, title(c), int64(c.Config.Train.Steps), l.share()
	_ = l.enc.Encode(e)
}

func (l *eventLines) Started(c *sweep.Cell, step int64) {
	l.started(c, step)
	l.event(c, progressEvent{Event: "started", Step: step})
}

func (l *eventLines) Step(c *sweep.Cell, p train.Progress) {
	l.step(c, p)
	if time.Since(l.last) < time.Second {
		return
	}
	l.last = time.Now()
	l.event(c, progressEvent{Event: "step", Step: int64(p.Step), Loss: results.Number(p.Loss)})
}

func (l *eventLines) Note(c *sweep.Cell, text string) {
	l.event(c, progressEvent{Event: "note", Text: text})
}

func (l *eventLines) Finished(o sweep.Outcome) {
	l.finished(o.Cell)
	l.event(o.Cell, progressEvent{Event: "finished", Step: o.Summary.Steps, Text: ending(o)})
}

func (l *eventLines) close() {}
