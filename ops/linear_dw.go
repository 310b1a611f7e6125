package ops

import (
	"ablate/graph"
	"ablate/ops/kernel"
)

// dwGrid is dW = dyᵀ·x, dy [rows, out] and x [rows, in], in blocks of its rows and columns. A part is a block.
// Those side by side read the same columns of dy.
type dwGrid struct{ out, in, rows, down, across int }

// The size of a block: few enough rows of dW that x and they stay in the cache, enough arithmetic to be worth a
// part, and a few parts where that allows it; and so few columns that nobody waits long for the last part.
const (
	mostDWRows  = 112 // eight of the highest tiles of the AVX-512 kernel
	leastDWRows = 28
	leastDWWork = 2 << 20  // multiply-adds: some 40 microseconds
	mostDWWork  = 32 << 20 // less than a millisecond
	wantDWParts = 4
)

func newDWGrid(out, in, rows int) dwGrid {
	worthwhile := max(1, min(wantDWParts, blocks(out, leastDWRows), out*in*rows/leastDWWork))
	down := max(blocks(out, mostDWRows), worthwhile)
	across := max(1, min(blocks(in, kernel.PanelWidth), blocks(blocks(out, down)*in*rows, mostDWWork)))
	return dwGrid{out, in, rows, down, across}
}

func (g dwGrid) parts() int { return g.down * g.across }

// part gives the rows [r0,r1) and columns [c0,c1) of a part. Columns are cut between panels.
func (g dwGrid) part(i int) (r0, r1, c0, c1 int) {
	r, c, panels := i/g.across, i%g.across, blocks(g.in, kernel.PanelWidth)
	c0, c1 = panels*c/g.across*kernel.PanelWidth, panels*(c+1)/g.across*kernel.PanelWidth
	return g.out * r / g.down, g.out * (r + 1) / g.down, c0, min(c1, g.in)
}

// runDW computes a part of dW from dy, whose rows are ld apart; add adds to what it is. The squares of the part
// are added up, for as long as it is in the cache, if there is a place for their sum.
func runDW[T graph.Float](g dwGrid, part int, dy []T, ld int, x, dw []T, add bool, squares []float64) {
	r0, r1, c0, c1 := g.part(part)
	dw = dw[r0*g.in+c0:]
	kernel.MulTN(r1-r0, c1-c0, g.rows, dy[r0:], ld, x[c0:], g.in, dw, g.in, add)
	if squares != nil {
		squares[part] = kernel.SumSquaresRows(dw, r1-r0, c1-c0, g.in)
	}
}

// runDB is db = Σ dy over all rows, done by the parts that have the first columns.
func runDB[T graph.Float](g dwGrid, part int, dy []T, ld int, db []T, add bool) {
	if r0, r1, c0, _ := g.part(part); c0 == 0 {
		kernel.ColSum(db[r0:r1], dy[r0:], g.rows, r1-r0, ld, add)
	}
}
