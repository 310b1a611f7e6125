package ops

import (
	"fmt"
	"slices"

	"ablate/graph"
	"ablate/ops/kernel"
)

// width is the size of the last axis.
func width(s graph.Shape) int { return s[len(s)-1] }

// height is the number of rows: the product of all axes but the last.
func height(s graph.Shape) int {
	n := 1
	for _, d := range s[:len(s)-1] {
		n *= d
	}
	return n
}

// withWidth is s with another last axis.
func withWidth(s graph.Shape, d int) graph.Shape {
	s = slices.Clone(s)
	s[len(s)-1] = d
	return s
}

// wantRows says what is wrong with a shape that should have rows of a last axis.
func wantRows(what string, s graph.Shape) error {
	if len(s) < 2 {
		return fmt.Errorf("%s has shape %v, at least two axes are wanted", what, s)
	}
	return nil
}

// wantVector says what is wrong with a shape that should be (d).
func wantVector(what string, s graph.Shape, d int) error {
	if len(s) != 1 || s[0] != d {
		return fmt.Errorf("%s has shape %v, (%d) is wanted", what, s, d)
	}
	return nil
}

// wantEqual says what is wrong with two shapes that should be equal.
func wantEqual(what string, a, b graph.Shape) error {
	if !a.Eq(b) {
		return fmt.Errorf("%s: %v and %v are not equal", what, a, b)
	}
	return nil
}

// over is the aliasing rule of operations whose first result may take the
// place of an operand.
func over(operand, slot int) int {
	if slot == 0 {
		return operand
	}
	return -1
}

// rowParts is the number of parts in which the planner splits row-wise work on
// values of shape s, for a task that reads rows but writes none. Another number
// would be correct, but would not join the chain that computes s.
func rowParts(s graph.Shape) int {
	switch {
	case len(s) >= 3:
		return s[0]
	case len(s) == 2:
		return min(s[0], 4)
	}
	return 1
}

// blocks is the number of parts, of at most size each, into which n is split.
func blocks(n, size int) int { return (n + size - 1) / size }

// sumOfParts is the task that adds the rows of partial, one a part of a
// row-wise task, in their order, and hands the columns out to the results one
// after the other.
func sumOfParts[T graph.Float](partial *graph.Buffer, outs ...*graph.Buffer) graph.Task {
	cols := width(partial.Shape())
	run := func(int, *graph.Worker) {
		p, at := graph.Slice[T](partial), 0
		for _, b := range outs {
			o := graph.Slice[T](b)
			kernel.ColSum(o, p[at:], height(partial.Shape()), len(o), cols, false)
			at += len(o)
		}
	}
	return graph.Task{Parts: 1, Reads: []*graph.Buffer{partial}, Writes: outs, Run: run}
}
