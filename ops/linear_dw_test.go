package ops

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"ablate/ops/kernel"
)

// TestDWGrid: every element of dW is in one part, parts are cut between panels, and one in each row of blocks has
// the first columns.
func TestDWGrid(t *testing.T) {
	for _, out := range []int{1, 28, 113, 50257} {
		for _, in := range []int{1, 31, 32, 33, 800} {
			for _, rows := range []int{1, 512, 1 << 20} {
				g := newDWGrid(out, in, rows)
				elements, first, next := 0, 0, 0
				for i := range g.parts() {
					r0, r1, c0, c1 := g.part(i)
					if c0 == 0 {
						first, next = first+1, 0
					}
					if r0 >= r1 || c0 >= c1 || c0%kernel.PanelWidth != 0 || c0 != next {
						t.Fatalf("%+v: part %d has rows %d to %d and columns %d to %d", g, i, r0, r1, c0, c1)
					}
					elements, next = elements+(r1-r0)*(c1-c0), c1
				}
				if elements != out*in || first != g.down {
					t.Errorf("%+v: %d elements in %d rows of blocks", g, elements, first)
				}
			}
		}
	}
	if g := newDWGrid(512, 1408, 1024); g.across < 2 {
		t.Errorf("%+v: a large dW is not cut by columns", g)
	}
}

// TestDWInBlocks: blocks of columns have the bits of the whole.
func TestDWInBlocks(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	random := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(r.NormFloat64())
		}
		return x
	}
	g := dwGrid{out: 37, in: 70, rows: 19, down: 2, across: 3}
	dy, x := random(g.rows*g.out), random(g.rows*g.in)
	for _, add := range []bool{false, true} {
		dw, db := random(g.out*g.in), random(g.out)
		wantW, wantB := slices.Clone(dw), slices.Clone(db)
		kernel.MulTN(g.out, g.in, g.rows, dy, g.out, x, g.in, wantW, g.in, add)
		kernel.ColSum(wantB, dy, g.rows, g.out, g.out, add)
		squares, sum := make([]float64, g.parts()), 0.0
		for i := range g.parts() {
			runDW(g, i, dy, g.out, x, dw, add, squares)
			runDB(g, i, dy, g.out, db, add)
			sum += squares[i]
		}
		if want := kernel.SumSquares(dw); math.Abs(sum/want-1) > 1e-14 {
			t.Errorf("add %v: the squares of all blocks are %v, want %v", add, sum, want)
		}
		same := func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }
		if !slices.EqualFunc(dw, wantW, same) || !slices.EqualFunc(db, wantB, same) {
			t.Errorf("add %v: blocks give other bits than the whole", add)
		}
	}
}
