package graph_test

import (
	"fmt"
	"testing"

	"ablate/graph"
)

// A call joins one that reads the same, if nobody needs that one's result before
// the operands of the first are there.
func TestJoin(t *testing.T) {
	apply := func(op graph.Op, in ...*graph.Node) *graph.Node { return graph.Apply1(op, in...) }
	for _, c := range []struct {
		name   string
		joined int
		f      func(x, z *graph.Node) *graph.Node
	}{
		{"the first operand", 1, func(x, z *graph.Node) *graph.Node { return apply(blend{}, apply(minus{}, x, z), apply(twice{}, x)) }},
		{"the second operand", 1, func(x, z *graph.Node) *graph.Node { return apply(blend{}, apply(minus{}, z, x), apply(twice{}, x)) }},
		{"no operand", 0, func(x, z *graph.Node) *graph.Node {
			return apply(blend{}, apply(minus{}, x, x), apply(twice{}, z))
		}},
		{"needed before", 0, func(x, z *graph.Node) *graph.Node {
			y := apply(twice{}, x)
			return apply(blend{}, apply(minus{}, x, apply(mix{}, y)), y)
		}},
		{"needed by what joins", 0, func(x, z *graph.Node) *graph.Node { return apply(minus{}, x, apply(twice{}, x)) }},
		{"one of two", 1, func(x, z *graph.Node) *graph.Node {
			return apply(blend{}, apply(minus{}, x, z), apply(minus{}, apply(twice{}, x), x))
		}},
		{"two in turn", 2, func(x, z *graph.Node) *graph.Node {
			return apply(blend{}, apply(blend{}, apply(minus{}, x, z), apply(twice{}, x)), apply(blend{}, apply(minus{}, z, x), apply(twice{}, z)))
		}},
	} {
		g, err := graph.Build(graph.Float64, func(s *graph.Scope) {
			x := s.Floats("x", 3, 4, 5)
			s.Output("y", c.f(x, apply(mix{}, x)))
		})
		if err != nil {
			t.Fatal(err)
		}
		disappear(t, c.name, g, c.joined)
	}
}

// twice is 2x.
type twice struct{}

func (twice) String() string                                { return "twice" }
func (twice) Infer(in []graph.Shape) ([]graph.Shape, error) { return in[:1], nil }
func (twice) Alias(int) int                                 { return 0 }
func (twice) Bind(c *graph.Call) []graph.Task {
	return []graph.Task{c.Rows(func(i, n int, _ *graph.Worker) {
		x, y := graph.Part[float64](c.In(0), i, n), graph.Part[float64](c.Out(0), i, n)
		for k, v := range x {
			y[k] = 2 * v
		}
	})}
}

// minus is a - b and, if it has joined twice, a second result: twice operand of.
type minus struct {
	joined bool
	of     int
}

func (o minus) String() string { return fmt.Sprintf("minus%+v", struct{ joined bool }{o.joined}) }

func (o minus) Infer(in []graph.Shape) ([]graph.Shape, error) { return in[:1], nil }

func (o minus) Join(other graph.Op, at []int) (graph.Op, bool) {
	_, ok := other.(twice)
	return minus{joined: true, of: at[0]}, ok && !o.joined
}

func (o minus) Bind(c *graph.Call) []graph.Task {
	return []graph.Task{c.Rows(func(i, n int, _ *graph.Worker) {
		a, b, y := graph.Part[float64](c.In(0), i, n), graph.Part[float64](c.In(1), i, n), graph.Part[float64](c.Out(0), i, n)
		for k := range y {
			y[k] = a[k] - b[k]
		}
		if o.joined {
			for k, v := range graph.Part[float64](c.In(o.of), i, n) {
				graph.Part[float64](c.Out(1), i, n)[k] = 2 * v
			}
		}
	})}
}
