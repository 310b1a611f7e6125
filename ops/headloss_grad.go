package ops

import (
	"ablate/graph"
	"ablate/ops/kernel"
)

// The sizes of parts with gradient, found by measurement. Products of fewer rows
// or columns than these read their other operand too often.
const (
	headLossCols   = 512     // of the product, for all rows of a block, for which a piece of the weight is packed
	headLossDXRows = 192     // of dx
	headLossDXCols = 256     // of dx
	headLossGrads  = 1 << 15 // logits that turn into their gradient at once, in the second-level cache
	headLossRows   = 16      // at least, in a part that does that
)

// withGradient is the tasks with gradient, block by block of rows. A block has the
// rows that one product sums before it adds them to dW, so that dW has the bits
// of a product over all rows.
func (h *boundHeadLoss[T]) withGradient() []graph.Task {
	size, ld := kernel.SumBlock(h.rows), headLossStride(h.v)
	z := h.c.Scratch(size, ld)
	var all []graph.Task
	for r0 := 0; r0 < h.rows; r0 += size {
		b := headLossBlock[T]{boundHeadLoss: h, z: z, ld: ld, r0: r0, rows: min(size, h.rows-r0)}
		all = append(all, b.products(), b.gradients())
		if h.dx {
			all = append(all, b.dX()) // before dW, whose parts are short and fill the gaps
		}
		if h.dw {
			all = append(all, b.dW())
		}
	}
	return all
}

// headLossStride is the distance of two rows of v logits. Rows that lay a multiple of half a page apart would compete
// for the same cache sets when products read them by columns.
func headLossStride(v int) int {
	const halfPage, line = 512, 16 // elements of float32
	if v > halfPage && v%halfPage == 0 {
		return v + line
	}
	return v
}

// headLossBlock is some rows of a headLoss from r0 on. z holds their product, then
// the gradient of that, in rows that are ld apart.
type headLossBlock[T graph.Float] struct {
	*boundHeadLoss[T]
	z            *graph.Buffer
	ld, r0, rows int
}

// products is the product, split by columns.
func (h headLossBlock[T]) products() graph.Task {
	size := kernel.PackedLen(h.d, min(h.v, headLossCols))
	h.c.Local(size)
	return graph.Task{
		Parts: blocks(h.v, headLossCols), Reads: h.operands(), Writes: []*graph.Buffer{h.z},
		Run: func(part int, wk *graph.Worker) {
			c0, c1 := part*headLossCols, min((part+1)*headLossCols, h.v)
			packed := graph.Local[T](wk, size)
			h.pack(packed, c0, c1)
			h.product(graph.Slice[T](h.z)[c0:], h.ld, h.r0, h.r0+h.rows, c0, c1, packed)
		},
	}
}

// gradients is the loss of every row, and the gradient of the product in its
// place. A few rows at a time stay in the cache from the first step to the last.
func (h headLossBlock[T]) gradients() graph.Task {
	few := max(1, headLossGrads/h.v)
	if h.ld > h.v {
		few = 1 // row by row, as they do not lie together
	}
	parts := blocks(h.rows, max(few, headLossRows))
	held := h.held()
	need := chunkTmp + few // tmp, log Σ exp, and what may take no other's place
	for _, beside := range held {
		if beside {
			need += few * h.v
		}
	}
	h.c.Local(need)
	return graph.Task{
		Parts: parts, Reads: []*graph.Buffer{h.z, h.targets(), h.dloss()}, Writes: []*graph.Buffer{h.z, h.c.Out(0)},
		Run: func(part int, wk *graph.Worker) {
			end := h.rows * (part + 1) / parts
			for r := h.rows * part / parts; r < end; r += few {
				h.gradient(r, min(few, end-r), held, graph.Local[T](wk, need))
			}
		},
	}
}

// held says of the product and of the results of the steps, in this order, which are
// operands of a gradient: nothing may take their place.
func (h *boundHeadLoss[T]) held() (held [maxSteps + 1]bool) {
	for _, s := range h.back {
		for _, i := range s.from {
			held[i] = true
		}
	}
	return held
}

// gradient is the loss and the gradient of n rows from row r of the block on. Every
// value takes the place of the one before, unless that is held.
func (h headLossBlock[T]) gradient(r, n int, held [maxSteps + 1]bool, local []T) {
	z := graph.Slice[T](h.z)[r*h.ld:][:n*h.v]
	tmp, rest, lse := local[:chunkTmp], local[chunkTmp:], local[len(local)-n:]
	after := func(x []T, i int) []T { // where what is made of x, value i, goes
		if held[i] {
			x, rest = rest[:len(z)], rest[len(z):]
		}
		return x
	}
	at := [maxSteps + 1][]T{z} // the product and the results of the steps
	for i, f := range h.f {
		at[i+1] = after(at[i], i)
		apply(f, at[i+1], pieces[T]{at[i]}, tmp)
	}
	logits := at[len(h.f)]
	nll, targets := graph.Slice[T](h.c.Out(0))[h.r0+r:], graph.Slice[int32](h.targets())[h.r0+r:]
	kernel.CrossEntropy(nll, lse, logits, targets, n, h.v, Ignore)
	d := after(logits, len(h.f))
	kernel.CrossEntropyGrad(d, logits, nll, lse, targets, n, h.v, Ignore, graph.Slice[T](h.dloss())[0])
	for i, f := range h.df {
		in := pieces[T]{d}
		for k, from := range h.back[i].from {
			in[k+1] = at[from]
		}
		if i == len(h.df)-1 {
			d = z
		}
		apply(f, d, in, tmp)
	}
}

// dX is the gradient of x, in blocks of rows and of columns; those of one row of blocks read the same rows of z.
func (h headLossBlock[T]) dX() graph.Task {
	w, dx, down, across := h.c.In(1), h.c.Out(2), blocks(h.rows, headLossDXRows), blocks(h.d, headLossDXCols)
	return graph.Task{
		Parts: down * across, Group: across, Reads: []*graph.Buffer{h.z, w}, Writes: []*graph.Buffer{dx},
		Run: func(part int, _ *graph.Worker) {
			r, c := part/across, part%across
			a, b := h.rows*r/down, h.rows*(r+1)/down
			c0, c1 := c*headLossDXCols, min((c+1)*headLossDXCols, h.d)
			dz, y := graph.Slice[T](h.z)[a*h.ld:b*h.ld], graph.Slice[T](dx)[(h.r0+a)*h.d+c0:(h.r0+b)*h.d]
			kernel.MulNN(b-a, c1-c0, h.v, dz, h.ld, graph.Slice[T](w)[c0:], h.d, y, h.d, false)
		},
	}
}

// dW adds the share of the block to the gradients of the weight and of the bias.
func (h headLossBlock[T]) dW() graph.Task {
	x, results, g, add := h.c.In(0), h.weightResults(), newDWGrid(h.v, h.d, h.rows), h.r0 > 0
	var squares []float64
	if last := h.r0+h.rows == h.boundHeadLoss.rows; last {
		squares = h.c.Squares(h.weightResult(), g.parts())
	}
	return graph.Task{
		Parts: g.parts(), Group: g.across, Reads: []*graph.Buffer{h.z, x}, Writes: results,
		Run: func(part int, _ *graph.Worker) {
			dz := graph.Slice[T](h.z)
			runDW(g, part, dz, h.ld, graph.Slice[T](x)[h.r0*h.d:], graph.Slice[T](results[0]), add, squares)
			if h.bias {
				runDB(g, part, dz, h.ld, graph.Slice[T](results[1]), add)
			}
		},
	}
}

// weightResult is the number of the result that is dW.
func (h *boundHeadLoss[T]) weightResult() int {
	if h.dx {
		return 3
	}
	return 2
}

// weightResults are dW and, if there is a bias, db.
func (h *boundHeadLoss[T]) weightResults() []*graph.Buffer {
	i := h.weightResult()
	if h.bias {
		return []*graph.Buffer{h.c.Out(i), h.c.Out(i + 1)}
	}
	return []*graph.Buffer{h.c.Out(i)}
}
