package ops

import (
	"ablate/graph"
	"ablate/ops/kernel"
)

// The size of a part without gradient: so many rows that packing a chunk of the
// weight costs little beside the product with them, of which so few are computed
// at once that their logits stay in the second-level cache.
const (
	lossGroup = 512
	lossRows  = 128
)

// chunkStats is what is kept of the logits: the maxima of the rows and their sums of
// exponentials (chunks, N), and the logits of the targets (N).
type chunkStats struct{ most, sum, picked *graph.Buffer }

func (s chunkStats) buffers() []*graph.Buffer { return []*graph.Buffer{s.most, s.sum, s.picked} }

// lossAlone is the tasks without gradient: the chunks, in any order, and what they
// come to.
func (h *boundHeadLoss[T]) lossAlone() []graph.Task {
	chunks := blocks(h.v, kernel.LossChunk)
	s := chunkStats{h.c.Scratch(chunks, h.rows), h.c.Scratch(chunks, h.rows), h.c.Scratch(h.rows)}
	return []graph.Task{h.chunks(s), h.fold(s)}
}

// chunks computes the logits of one chunk for a group of rows in a part.
func (h *boundHeadLoss[T]) chunks(s chunkStats) graph.Task {
	chunks, groups := blocks(h.v, kernel.LossChunk), blocks(h.rows, lossGroup)
	packed := kernel.PackedLen(h.d, min(h.v, kernel.LossChunk))
	logits := lossRows * min(h.v, kernel.LossChunk)
	h.c.Local(packed + logits + chunkTmp)
	return graph.Task{
		Parts: chunks * groups, Reads: append(h.operands(), h.targets()), Writes: s.buffers(),
		Run: func(part int, wk *graph.Worker) {
			i, g := part%chunks, part/chunks
			c0, c1 := i*kernel.LossChunk, min((i+1)*kernel.LossChunk, h.v)
			local := graph.Local[T](wk, packed+logits+chunkTmp)
			w, tmp := local[:packed], local[packed+logits:]
			h.pack(w, c0, c1)
			end := h.rows * (g + 1) / groups
			for r0 := h.rows * g / groups; r0 < end; r0 += lossRows {
				r1 := min(r0+lossRows, end)
				z := local[packed:][:(r1-r0)*(c1-c0)]
				h.product(z, c1-c0, r0, r1, c0, c1, w)
				for _, f := range h.f {
					apply(f, z, pieces[T]{z}, tmp)
				}
				at := i*h.rows + r0
				kernel.CrossEntropyChunk(graph.Slice[T](s.most)[at:], graph.Slice[T](s.sum)[at:], graph.Slice[T](s.picked)[r0:],
					z, graph.Slice[int32](h.targets())[r0:], r1-r0, c1-c0, c0)
			}
		},
	}
}

// fold computes nll from the statistics of all chunks.
func (h *boundHeadLoss[T]) fold(s chunkStats) graph.Task {
	nll, parts := h.c.Out(0), blocks(h.rows, lossRows)
	return graph.Task{
		Parts: parts, Reads: append(s.buffers(), h.targets()), Writes: []*graph.Buffer{nll},
		Run: func(part int, _ *graph.Worker) {
			r0, r1 := h.rows*part/parts, h.rows*(part+1)/parts
			kernel.CrossEntropyOfChunks(graph.Slice[T](nll)[r0:], graph.Slice[T](s.most)[r0:], graph.Slice[T](s.sum)[r0:],
				graph.Slice[T](s.picked)[r0:], graph.Slice[int32](h.targets())[r0:], r1-r0, h.v, h.rows, Ignore)
		},
	}
}
