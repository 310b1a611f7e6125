package ops

import (
	"fmt"

	"ablate/graph"
	"ablate/ops/kernel"
)

// AddPositions is y[b, t, :] = x[b, t, :] + table[t, :].
//
//	x, y (B, T, D)   table [≥ T, D], a parameter or a constant table
func AddPositions(x, table *graph.Node) *graph.Node {
	return graph.Apply1(addPositions{}, x, table)
}

type addPositions struct{}

func (addPositions) String() string { return "addPositions" }

func (addPositions) Infer(in []graph.Shape) ([]graph.Shape, error) {
	x, table := in[0], in[1]
	if len(x) != 3 {
		return nil, fmt.Errorf("x has shape %v, (B, T, D) is wanted", x)
	}
	if len(table) != 2 || table[0] < x[1] || table[1] != x[2] {
		return nil, fmt.Errorf("the table has shape %v, at least %d rows of %d are wanted", table, x[1], x[2])
	}
	return in[:1], nil
}

// Alias lets y take the place of x.
func (addPositions) Alias(int) int { return 0 }

func (addPositions) Bind(c *graph.Call) []graph.Task {
	t := c.Rows(graph.Typed(c, runAddPositions[float32], runAddPositions[float64])(c))
	t.Whole = []*graph.Buffer{c.In(1)}
	return []graph.Task{t}
}

func runAddPositions[T graph.Float](c *graph.Call) func(part, parts int, _ *graph.Worker) {
	batch := c.In(0).Shape()[0]
	return func(part, parts int, _ *graph.Worker) {
		for b := batch * part / parts; b < batch*(part+1)/parts; b++ {
			kernel.Add(row[T](c.Out(0), b), row[T](c.In(0), b), graph.Slice[T](c.In(1)))
		}
	}
}

// Grad is dx = dy, dtable[t, :] = Σ_b dy[b, t, :].
func (addPositions) Grad(in, _, dout []*graph.Node) []*graph.Node {
	return []*graph.Node{dout[0], graph.Apply1(positionsGrad{rows: in[1].Shape()[0]}, dout[0])}
}

// positionsGrad is the gradient of the table, zero beyond T. Its only operand
// is dy, and it is split by rows of the table.
type positionsGrad struct{ rows int }

func (positionsGrad) String() string { return "positionsGrad" }

func (o positionsGrad) Infer(in []graph.Shape) ([]graph.Shape, error) {
	return []graph.Shape{{o.rows, in[0][2]}}, nil
}

// positionRows is the number of rows of a table in a part.
const positionRows = 32

func (o positionsGrad) Bind(c *graph.Call) []graph.Task {
	return []graph.Task{{
		Parts: blocks(o.rows, positionRows),
		Run:   graph.Typed(c, runPositionsGrad[float32], runPositionsGrad[float64])(c, o),
	}}
}

func runPositionsGrad[T graph.Float](c *graph.Call, o positionsGrad) func(part int, _ *graph.Worker) {
	s := c.In(0).Shape()
	batch, t, d := s[0], s[1], s[2]
	return func(part int, _ *graph.Worker) {
		r0, r1 := part*positionRows, min((part+1)*positionRows, o.rows)
		sum := graph.Slice[T](c.Out(0))[r0*d : r1*d]
		clear(sum)
		if r0 >= t {
			return
		}
		n := min(r1, t)*d - r0*d
		for b := range batch {
			kernel.Add(sum[:n], sum[:n], row[T](c.In(0), b)[r0*d:])
		}
	}
}
