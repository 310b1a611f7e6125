package ops

import (
	"fmt"

	"ablate/graph"
)

// The norms work on rows of d entries, the length of their weight: all of the
// last axis, or one head of it after the other, as in the per-head norms of
// queries and keys.

// Norm is an operation that normalises rows, or stands in the place of one that
// does. Whoever reads a graph knows it by this where it has no parameters.
type Norm interface {
	graph.Op
	Normalizes()
}

var _, _, _ Norm = rmsNorm{}, layerNorm{}, dyT{}

// normShapes is the shape rule that the norms share. d is the length of a row, 0 for
// that of the weights or, without any, of the last axis; vectors are the operands
// that should be [d]; saved is the number of results of one number a row that are
// kept for the gradient.
func normShapes(x graph.Shape, d int, vectors []graph.Shape, saved int) ([]graph.Shape, error) {
	if err := wantRows("x", x); err != nil {
		return nil, err
	}
	switch {
	case d < 0:
		return nil, fmt.Errorf("rows of %d entries", d)
	case d > 0:
	case len(vectors) > 0 && len(vectors[0]) == 1:
		d = vectors[0][0]
	default:
		d = width(x)
	}
	for _, v := range vectors {
		if err := wantVector("a weight of the norm", v, d); err != nil {
			return nil, err
		}
	}
	if width(x)%d != 0 {
		return nil, fmt.Errorf("rows of %d entries do not divide a last axis of %d", d, width(x))
	}
	out := []graph.Shape{x}
	for range saved {
		out = append(out, withWidth(x, width(x)/d))
	}
	return out, nil
}

// fusesAddend is the rule by which the gradient of a norm takes in the sum
// that adds dx to what reached x on another path, such as the residual stream.
func fusesAddend(next graph.Op, arg, slot int, keep bool) bool {
	_, ok := next.(graph.Sum)
	return ok && !keep && arg == 1 && slot == 0
}

// optional is operand i of a row-wise task, nil if there is none.
func optional[T graph.Float](c *graph.Call, there bool, i int) []T {
	if !there {
		return nil
	}
	return graph.Slice[T](c.In(i))
}

// optionalPart is optional for an operand that is read row by row.
func optionalPart[T graph.Float](c *graph.Call, there bool, i, part, parts int) []T {
	if !there {
		return nil
	}
	return graph.Part[T](c.In(i), part, parts)
}

// gradientOfRows is the work of a norm's gradient: rows writes dx and adds to
// its own part of the gradients of the weights, which are summed afterwards.
// Result 0 is dx; the others are gradients of weights.
func gradientOfRows[T graph.Float](c *graph.Call, results int, rows func(part, parts int, sums []T)) []graph.Task {
	n := 0
	var weights []*graph.Buffer
	for i := 1; i < results; i++ {
		weights = append(weights, c.Out(i))
		n += c.Out(i).Len()
	}
	if n == 0 {
		return []graph.Task{c.Rows(func(part, parts int, _ *graph.Worker) { rows(part, parts, nil) })}
	}
	partial := c.Scratch(c.Parts(), n)
	t := c.Rows(func(part, parts int, _ *graph.Worker) {
		sums := graph.Part[T](partial, part, parts)
		clear(sums)
		rows(part, parts, sums)
	})
	t.Writes = []*graph.Buffer{c.Out(0), partial}
	return []graph.Task{t, sumOfParts[T](partial, weights...)}
}
