package ops

import (
	"ablate/graph"
	"ablate/ops/kernel"
)

// fewRows is the number of rows of x up to which packing a weight, which reads
// it and writes it again, would cost more than it gains. Generation has one.
const fewRows = 4

// partElements is the size of the piece of a weight that a part of a product
// with few rows reads: some microseconds' worth of memory traffic, so that
// nobody waits long for the last part.
const partElements = 1 << 14

// linearOfFewRows splits a product with few rows by columns of the result, in
// whole cache lines, so that all workers read the weight together.
func linearOfFewRows[T graph.Float](c *graph.Call, o linear) graph.Task {
	out, in := c.In(1).Shape()[0], c.In(1).Shape()[1]
	rows := height(c.In(0).Shape())
	const line = 16
	cols := min(max(partElements/in/line, 1)*line, stageCols)
	bound := bindStages[T](c, o.stages)
	c.Local(chunkTmp)
	return graph.Task{Parts: blocks(out, cols), Run: func(part int, wk *graph.Worker) {
		c0, c1 := part*cols, min((part+1)*cols, out)
		var e kernel.Epilogue[T]
		if o.bias {
			e.Bias = graph.Slice[T](c.In(2))
		}
		if o.addend {
			e.Addend, e.LdAddend = graph.Slice[T](c.In(o.plain())), out
		}
		kernel.MulDots(rows, out, in, graph.Slice[T](c.In(0)), in, graph.Slice[T](c.In(1)), in, graph.Slice[T](c.Out(0)), out, c0, c1, e)
		for s := range bound {
			bound[s].run(0, 1, 0, rows, c0, c1, out, graph.Local[T](wk, chunkTmp))
		}
	}}
}
