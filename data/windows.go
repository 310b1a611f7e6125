package data

import "fmt"

// Windows cuts tokens into contiguous rows for evaluation: row i holds tokens [i·T, (i+1)·T) and predicts the ones after each. So every
// token but the first is a target exactly once, the last row may be short, and what is scored does not depend on the batch size.
type Windows struct {
	tokens  Tokens
	context int
	targets int
}

// Windows returns the rows of context tokens that score the first limit targets, or all of them where limit is 0. A context below 1 or
// a negative limit panics.
func (t Tokens) Windows(context, limit int) Windows {
	if context < 1 || limit < 0 {
		panic(fmt.Sprintf("data: windows need a context of at least 1 and a limit of at least 0, not %d and %d", context, limit))
	}
	targets := max(0, t.Len()-1)
	if limit > 0 {
		targets = min(targets, limit)
	}
	return Windows{tokens: t, context: context, targets: targets}
}

// Whole leaves out a short last row, or makes a whole one of it where it is the only one and there are tokens for it: a model that
// looks ahead would see what a short row is filled with.
func (w Windows) Whole() Windows {
	rows := w.targets / w.context
	if rows == 0 && w.tokens.Len() > w.context {
		rows = 1
	}
	w.targets = rows * w.context
	return w
}

// Len returns the number of rows.
func (w Windows) Len() int {
	if w.targets == 0 {
		return 0
	}
	return (w.targets-1)/w.context + 1
}

// Targets returns the number of targets in all rows: the denominator of the mean loss.
func (w Windows) Targets() int { return w.targets }

// Batch fills rows first, first+1, … : tokens (B,T) and targets (B,T), where B follows from the length of the slices, and returns the
// number of targets among them. Positions that a short last row or a missing row leaves over hold token 0 and target Ignore. It
// allocates nothing; slices that are no (B,T), or a negative first, panic.
//
//	for first := 0; first < w.Len(); first += B {
//		count := w.Batch(tokens, targets, first)
//		…
//	}
func (w Windows) Batch(tokens, targets []int32, first int) (count int) {
	for r := range rowsOf(tokens, targets, w.context) {
		lo, hi := r*w.context, (r+1)*w.context
		count += w.row(tokens[lo:hi], targets[lo:hi], first+r)
	}
	return count
}

// row fills row i and returns the number of its targets.
func (w Windows) row(tokens, targets []int32, i int) int {
	n := 0
	if i < w.Len() {
		start := i * w.context
		n = min(w.context, w.targets-start)
		w.tokens.Copy(tokens[:n], start)
		w.tokens.Copy(targets[:n], start+1)
	}
	clear(tokens[n:])
	for j := n; j < len(targets); j++ {
		targets[j] = Ignore
	}
	return n
}
