package graph

import (
	"fmt"
	"strings"

	"gorgonia.org/gorgonia"
)

// Sum is y = a + b for two values of one shape: a residual connection, or two
// contributions to a gradient, which Gorgonia adds with an operation of its
// own that the planner reads as this one.
type Sum struct{}

// Add gives a + b.
func Add(a, b *Node) *Node { return Apply1(Sum{}, a, b) }

func (Sum) String() string { return "add" }

// Infer wants two equal shapes.
func (Sum) Infer(in []Shape) ([]Shape, error) {
	if len(in) != 2 || !in[0].Eq(in[1]) {
		return nil, fmt.Errorf("shapes must be equal")
	}
	return []Shape{in[0]}, nil
}

// Grad hands the gradient to both operands.
func (Sum) Grad(_, _, dout []*Node) []*Node { return []*Node{dout[0], dout[0]} }

// Alias lets the result take the place of the second operand, the later one
// in a chain of sums.
func (Sum) Alias(int) int { return 1 }

// Bind adds row by row.
func (Sum) Bind(c *Call) []Task {
	return []Task{c.Rows(Typed(c, addRows[float32], addRows[float64])(c))}
}

func addRows[T Float](c *Call) func(part, parts int, w *Worker) {
	return func(part, parts int, _ *Worker) {
		a, b := Part[T](c.In(0), part, parts), Part[T](c.In(1), part, parts)
		y := Part[T](c.Out(0), part, parts)
		b = b[:len(a)]
		y = y[:len(a)]
		for i, x := range a {
			y[i] = x + b[i]
		}
	}
}

// isSum recognises the sum that Gorgonia's differentiation inserts.
func isSum(n *Node) bool {
	if _, ok := n.Op().(gorgonia.BinaryOp); !ok {
		return false
	}
	return strings.HasPrefix(n.Op().String(), "+ ")
}
