package ops

import (
	"fmt"

	"ablate/graph"
	"ablate/ops/kernel"
)

// RoPE rotates pairs of entries of every head by an angle that grows with the
// position (Su et al. 2021, arXiv:2104.09864):
//
//	(a, b) → (a·cos - b·sin, b·cos + a·sin)
//
//	x, y (B, T, H·K)   cos, sin [≥ T, r/2], tables by RoPETables
//
// The first r entries of a head are turned, the others pass. A pair is
// (2j, 2j+1) if interleaved, and (j, j + r/2) otherwise: the two differ by a
// permutation of the rows of the weights of queries and keys.
func RoPE(x, cos, sin *graph.Node, heads int, interleaved bool) *graph.Node {
	return graph.Apply1(rope{heads: heads, interleaved: interleaved}, x, cos, sin)
}

// rope turns by the angle, or back by it.
type rope struct {
	heads       int
	interleaved bool
	back        bool
}

func (o rope) String() string {
	if o.back {
		return "ropeGrad"
	}
	return "rope"
}

func (o rope) Infer(in []graph.Shape) ([]graph.Shape, error) {
	x, cos, sin := in[0], in[1], in[2]
	switch {
	case len(x) != 3:
		return nil, fmt.Errorf("x has shape %v, (B, T, D) is wanted", x)
	case o.heads < 1 || x[2]%o.heads != 0:
		return nil, fmt.Errorf("%d heads do not divide a width of %d", o.heads, x[2])
	case len(cos) != 2 || !cos.Eq(sin) || cos[0] < x[1] || 2*cos[1] > x[2]/o.heads:
		return nil, fmt.Errorf("tables have shapes %v and %v, at least %d rows of at most %d are wanted", cos, sin, x[1], x[2]/o.heads/2)
	}
	return in[:1], nil
}

// Alias lets the result take the place of x.
func (rope) Alias(int) int { return 0 }

func (o rope) Bind(c *graph.Call) []graph.Task {
	t := c.Rows(graph.Typed(c, runRoPE[float32], runRoPE[float64])(c, o))
	t.Whole = []*graph.Buffer{c.In(1), c.In(2)}
	return []graph.Task{t}
}

func runRoPE[T graph.Float](c *graph.Call, o rope) func(part, parts int, _ *graph.Worker) {
	x := c.In(0).Shape()
	s := &kernel.RoPEShape{
		Rows: x[1], Heads: o.heads, HeadDim: x[2] / o.heads,
		Rotated: 2 * c.In(1).Shape()[1], Interleaved: o.interleaved,
	}
	return func(part, parts int, _ *graph.Worker) {
		cos, sin := graph.Slice[T](c.In(1)), graph.Slice[T](c.In(2))
		for b := x[0] * part / parts; b < x[0]*(part+1)/parts; b++ {
			if o.back {
				kernel.RoPEGrad(row[T](c.Out(0), b), row[T](c.In(0), b), cos, sin, s)
			} else {
				kernel.RoPE(row[T](c.Out(0), b), row[T](c.In(0), b), cos, sin, s)
			}
		}
	}
}

// Fixed says that the tables have no gradient.
func (rope) Fixed(operand int) bool { return operand > 0 }

// Grad turns dy back.
func (o rope) Grad(in, _, dout []*graph.Node) []*graph.Node {
	o.back = !o.back
	return []*graph.Node{graph.Apply1(o, dout[0], in[1], in[2]), nil, nil}
}
