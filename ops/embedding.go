package ops

import (
	"fmt"
	"slices"

	"ablate/graph"
	"ablate/ops/kernel"
)

// Embedding looks up rows of a table: y[…, :] = table[ids[…], :].
//
//	table [V, D]   ids int32 (B, T), values in [0, V)   y (B, T, D)
//
// An index outside of the table is a fault of the program and panics when it runs.
func Embedding(table, ids *graph.Node) *graph.Node { return graph.Apply1(embedding{}, table, ids) }

type embedding struct{}

func (embedding) String() string { return "embedding" }

func (embedding) Infer(in []graph.Shape) ([]graph.Shape, error) {
	if len(in[0]) != 2 {
		return nil, fmt.Errorf("the table has shape %v, (V, D) is wanted", in[0])
	}
	return []graph.Shape{append(slices.Clone(in[1]), in[0][1])}, nil
}

func (embedding) Bind(c *graph.Call) []graph.Task {
	t := c.Rows(graph.Typed(c, runEmbedding[float32], runEmbedding[float64])(c))
	t.Whole = []*graph.Buffer{c.In(0)}
	return []graph.Task{t}
}

func runEmbedding[T graph.Float](c *graph.Call) func(part, parts int, _ *graph.Worker) {
	d := width(c.In(0).Shape())
	return func(part, parts int, _ *graph.Worker) {
		kernel.Embedding(graph.Part[T](c.Out(0), part, parts), graph.Slice[T](c.In(0)), graph.Part[int32](c.In(1), part, parts), d, 1)
	}
}

// Grad is dtable[i, :] = Σ dy over the places where the index is i.
func (embedding) Grad(in, _, dout []*graph.Node) []*graph.Node {
	return []*graph.Node{graph.Apply1(embeddingGrad{rows: in[0].Shape()[0]}, dout[0], in[1]), nil}
}

// embeddingGrad has operands dy, ids, and the addend of dtable if there is
// one: the gradient of the head, where that shares the table.
type embeddingGrad struct {
	rows   int
	addend bool
}

func (o embeddingGrad) String() string {
	if o.addend {
		return "embeddingGrad plus"
	}
	return "embeddingGrad"
}

func (o embeddingGrad) Infer(in []graph.Shape) ([]graph.Shape, error) {
	out := graph.Shape{o.rows, width(in[0])}
	if o.addend {
		return []graph.Shape{out}, wantEqual("the addend", out, in[2])
	}
	return []graph.Shape{out}, nil
}

// Alias lets the gradient take the place of the addend.
func (o embeddingGrad) Alias(slot int) int {
	if o.addend {
		return over(2, slot)
	}
	return -1
}

// mostEmbeddingParts is the most parts of a table's rows. Every part reads all indices.
const mostEmbeddingParts = 8

func (o embeddingGrad) Bind(c *graph.Call) []graph.Task {
	parts := min(o.rows, mostEmbeddingParts)
	return []graph.Task{{Parts: parts, Run: graph.Typed(c, runEmbeddingGrad[float32], runEmbeddingGrad[float64])(c, o, parts)}}
}

// runEmbeddingGrad adds the rows of dy in their order, for a range of rows of the table.
func runEmbeddingGrad[T graph.Float](c *graph.Call, o embeddingGrad, parts int) func(part int, _ *graph.Worker) {
	d, squares := width(c.In(0).Shape()), c.Squares(0, parts)
	return func(part int, _ *graph.Worker) {
		r0, r1 := o.rows*part/parts, o.rows*(part+1)/parts
		dtable := graph.Slice[T](c.Out(0))
		switch {
		case !o.addend:
			clear(dtable[r0*d : r1*d])
		case !c.Out(0).Same(c.In(2)):
			copy(dtable[r0*d:r1*d], graph.Slice[T](c.In(2))[r0*d:])
		}
		kernel.EmbeddingGrad(dtable, graph.Slice[T](c.In(0)), graph.Slice[int32](c.In(1)), d, 1, r0, r1)
		if squares != nil {
			squares[part] = kernel.SumSquares(dtable[r0*d : r1*d])
		}
	}
}

// Fuse takes in the sum with the gradient from an earlier use of the table.
func (o embeddingGrad) Fuse(next graph.Op, arg, _ int, keep bool) (graph.Op, bool) {
	if _, ok := next.(graph.Sum); !ok || keep || arg == 0 || o.addend {
		return nil, false
	}
	o.addend = true
	return o, true
}
