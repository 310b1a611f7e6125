package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"ablate/experiments/results"
	"ablate/experiments/stats"
	"ablate/train/metrics"
)

// minSeeds is how many finished seeds every arm needs before anything may be
// said beyond its numbers: below, a t interval is too wide to separate what an
// ablation looks for.
const minSeeds = 5

// An answer is what was measured, in sentences computed from the numbers.
type answer struct {
	Lead  string   // the smallest mean
	Items []item   // one for each depth, or for each arm without depths
	Notes []string // what may not be concluded, and why
}

type item struct{ Where, Text string }

func (s *source) answer() answer {
	a := answer{Lead: s.lead()}
	if s.depths == nil {
		for i, g := range s.groups {
			text := armWords(g.arms[0])
			if i > 0 {
				text += difference(g.arms[0], s.groups[0].arms[0], s.groups[0].label)
			}
			a.Items = append(a.Items, item{g.label, text})
		}
	} else {
		for _, d := range s.depths {
			a.Items = append(a.Items, s.atDepth(d))
		}
	}
	a.Notes = s.notes()
	a.Lead = tight.Replace(a.Lead)
	for i := range a.Items {
		a.Items[i].Text = tight.Replace(a.Items[i].Text)
	}
	return a
}

// lead names the arm with the smallest mean perplexity.
func (s *source) lead() string {
	best, where, value := math.Inf(1), "", ""
	for _, g := range s.groups {
		for _, m := range g.arms {
			if e := m.Estimate(ppl); e.N > 0 && e.Mean < best {
				best, where = e.Mean, g.label
				if s.depths != nil {
					where += " with " + m.label
				}
				value = describe(e)
			}
		}
	}
	if where == "" {
		return "No run has finished with a finite validation perplexity yet."
	}
	if len(s.Arms) == 1 {
		return "The validation perplexity of " + where + " is " + value + "."
	}
	return "The smallest mean validation perplexity measured is that of " + where + ", " + value + "."
}

// atDepth compares the groups at one depth: each with its mean, and with its
// difference to the first of them.
func (s *source) atDepth(d float64) item {
	var parts []string
	var first *member
	var firstLabel string
	for _, g := range s.groups {
		for i, m := range g.arms {
			if m.depth != d {
				continue
			}
			text := g.label + " " + armWords(m)
			if first == nil {
				first, firstLabel = &g.arms[i], g.label
			} else {
				text += difference(m, *first, firstLabel)
			}
			parts = append(parts, text)
		}
	}
	return item{s.atDepthLabel(d), strings.Join(parts, "; ")}
}

func layers(n float64) string { return results.Layers(fmt.Sprintf("%g", n)) }

// armWords is an arm's perplexity and what became of the rest of its runs.
func armWords(m member) string {
	e := m.Estimate(ppl)
	text := "has no finished run"
	if e.N > 0 {
		text = fmt.Sprintf("%s (n = %d)", results.Interval(e), e.N)
	}
	if n := m.Count(metrics.Diverged); n > 0 {
		text += ", " + diverged(n, len(m.Runs))
	}
	return text
}

// difference is that of the losses, by seed, with its interval; in nats, where
// it does not depend on the level.
func difference(m, from member, label string) string {
	d := stats.T95(stats.Paired(m.Finite(loss), from.Finite(loss)))
	switch {
	case d.N == 0:
		return ""
	case d.N == 1:
		return fmt.Sprintf(", loss %s nats relative to %s (one shared seed)", signed(results.Number(d.Mean)), label)
	}
	zero := "outside"
	if d.Lo <= 0 && d.Hi >= 0 {
		zero = "inside"
	}
	return fmt.Sprintf(", loss %s nats relative to %s by seed (n = %d, 0 is %s the interval)", signed(results.Interval(d)), label, d.N, zero)
}

// signed shows the sign of a difference, with a minus where there was a hyphen.
func signed(s string) string {
	if strings.HasPrefix(s, "-") {
		return "−" + s[1:]
	}
	return "+" + s
}

// tight keeps the parts of a number together at the end of a line.
var tight = strings.NewReplacer(" ± ", "\u00a0±\u00a0", " = ", "\u00a0=\u00a0", " %", "\u00a0%")

// notes say what the numbers do not carry.
func (s *source) notes() (notes []string) {
	fewest, lost, open, infinite := math.MaxInt, 0, 0, 0
	for _, a := range s.Arms {
		n := a.Finished()
		fewest = min(fewest, n)
		lost += a.Count(metrics.Diverged)
		if math.IsInf(a.Estimate(ppl).Mean, 0) {
			infinite++
		}
		open += len(a.Runs) - n - a.Count(metrics.Diverged)
	}
	if len(s.Arms) > 1 {
		if fewest < minSeeds {
			notes = append(notes, fmt.Sprintf("No verdict is given: the arm with the fewest finished runs has %d, and a verdict needs at least %d in each.", fewest, minSeeds))
		} else if pairs := s.overlapping(); len(pairs) > 0 {
			notes = append(notes, "No verdict is given where the 95 % interval of an arm overlaps with another's, as do those of "+strings.Join(pairs, "; ")+".")
		} else {
			notes = append(notes, "No verdict is given: this report measures, and leaves the judgement to its reader.")
		}
		notes = append(notes, "Intervals are those of single arms and single differences, not corrected for the number of comparisons.")
	}
	if s.Quick() {
		notes = append(notes, "This is the "+results.QuickNote+".")
	}
	if infinite > 0 {
		notes = append(notes, fmt.Sprintf("Arms whose mean perplexity is infinite: %d. Their loss is beyond what an exponential can hold.", infinite))
	}
	if lost > 0 {
		notes = append(notes, fmt.Sprintf("Diverged runs: %d. They are counted and drawn, and enter no mean.", lost))
	}
	if open > 0 {
		notes = append(notes, fmt.Sprintf("Runs that have not finished: %d.", open))
	}
	return notes
}

// overlapping lists, for each set of arms that are compared, those whose
// intervals overlap with another's.
func (s *source) overlapping() (out []string) {
	compare := func(where string, arms []member, labels []string) {
		var names []string
		for i := range arms {
			for j := range arms {
				a, b := arms[i].Estimate(ppl), arms[j].Estimate(ppl)
				if i != j && a.Lo <= b.Hi && b.Lo <= a.Hi && !slices.Contains(names, labels[i]) {
					names = append(names, labels[i])
				}
			}
		}
		if n := len(names); n > 2 && n == len(arms) {
			names = []string{fmt.Sprintf("all %d arms", n)}
		}
		if len(names) > 0 {
			out = append(out, strings.Join(names, ", ")+where)
		}
	}
	for _, d := range append([]float64{0}, s.depths...) {
		var arms []member
		var labels []string
		for _, g := range s.groups {
			for _, m := range g.arms {
				if m.depth == d {
					arms, labels = append(arms, m), append(labels, g.label)
				}
			}
		}
		where := ""
		if d > 0 {
			where = " at " + layers(d)
		}
		compare(where, arms, labels)
	}
	return out
}
