package ops

import (
	"fmt"

	"ablate/graph"
)

// RowsAt is n consecutive rows of a table, from one that is known only when
// the program runs: y[t, :] = table[at + t, :]. A program that generates reads
// the rows of a position table that belong to the tokens at hand.
//
//	table [N, D]   at int32 (1), from 0 to N - n   y [n, D]
//
// It has no gradient. Rows outside of the table are a fault of the program and
// panic when it runs.
func RowsAt(table, at *graph.Node, n int) *graph.Node {
	return graph.Apply1(rowsAt{rows: n}, table, at)
}

type rowsAt struct{ rows int }

func (o rowsAt) String() string { return fmt.Sprintf("%d rows at", o.rows) }

func (o rowsAt) Infer(in []graph.Shape) ([]graph.Shape, error) {
	table := in[0]
	if len(table) != 2 || o.rows < 1 || table[0] < o.rows {
		return nil, fmt.Errorf("the table has shape %v, at least %d rows are wanted", table, o.rows)
	}
	return []graph.Shape{{o.rows, table[1]}}, wantVector("the place", in[1], 1)
}

func (o rowsAt) Bind(c *graph.Call) []graph.Task {
	return []graph.Task{{Parts: 1, Run: graph.Typed(c, runRowsAt[float32], runRowsAt[float64])(c)}}
}

func runRowsAt[T graph.Float](c *graph.Call) func(int, *graph.Worker) {
	d := width(c.In(0).Shape())
	return func(int, *graph.Worker) {
		from := int(graph.Slice[int32](c.In(1))[0]) * d
		copy(graph.Slice[T](c.Out(0)), graph.Slice[T](c.In(0))[from:from+c.Out(0).Len()])
	}
}
