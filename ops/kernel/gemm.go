package kernel

import (
	"fmt"
	"unsafe"
)

// Matrices are row-major; a leading dimension is the distance between two rows in elements. C must
// not overlap A or B. Every sum over k runs in ascending order, in blocks that are a function of k
// alone: an element of C does not depend on which other rows or columns are computed in the same call.

// MulNN computes C = A·B, or C += A·B if acc, for A [m,k], B [k,n] and C [m,n].
func MulNN[T Float](m, n, k int, a []T, lda int, b []T, ldb int, c []T, ldc int, acc bool) {
	MulInPlace(m, n, k, a, lda, b, ldb, c, ldc, Epilogue[T]{Acc: acc})
}

// MulInPlace is MulNN with an epilogue.
func MulInPlace[T Float](m, n, k int, a []T, lda int, b []T, ldb int, c []T, ldc int, e Epilogue[T]) {
	checkMatrix("MulNN", "a", len(a), m, k, lda)
	checkMatrix("MulNN", "b", len(b), k, n, ldb)
	checkMatrix("MulNN", "c", len(c), m, n, ldc)
	e.check("MulNN", m, n)
	p := product[T]{m: m, k: k, n1: n, a: a, lda: lda, b: b, ldb: ldb, c: c, ldc: ldc, e: e}
	p.run()
}

// MulNT computes C = A·Bᵀ, or C += A·Bᵀ if acc, for A [m,k], B [n,k] and C [m,n]. It packs B anew in
// every call; where B is used more than once, [PackT] and [MulPacked] are faster.
func MulNT[T Float](m, n, k int, a []T, lda int, b []T, ldb int, c []T, ldc int, acc bool) {
	checkMatrix("MulNT", "a", len(a), m, k, lda)
	checkMatrix("MulNT", "b", len(b), n, k, ldb)
	checkMatrix("MulNT", "c", len(c), m, n, ldc)
	p := product[T]{m: m, k: k, n1: n, a: a, lda: lda, b: b, ldb: ldb, layout: byColumns, c: c, ldc: ldc}
	p.e.Acc = acc
	p.run()
}

// MulTN computes C = Aᵀ·B, or C += Aᵀ·B if acc, for A [k,m], B [k,n] and C [m,n]: the gradient of a
// weight, where k counts the rows of a batch.
func MulTN[T Float](m, n, k int, a []T, lda int, b []T, ldb int, c []T, ldc int, acc bool) {
	checkMatrix("MulTN", "a", len(a), k, m, lda)
	checkMatrix("MulTN", "b", len(b), k, n, ldb)
	checkMatrix("MulTN", "c", len(c), m, n, ldc)
	p := product[T]{m: m, k: k, n1: n, a: a, lda: lda, transposed: true, b: b, ldb: ldb, c: c, ldc: ldc}
	p.e.Acc = acc
	p.run()
}

// Epilogue is what [MulPacked] and [MulInPlace] add to the product before it is stored:
//
//	C = A·B + bias + addend,  or  C = A·B + bias + C + addend if Acc
//
// and what they fetch meanwhile.
type Epilogue[T Float] struct {
	Bias     []T      // one for each column of B; nil is none
	Addend   []T      // a matrix like C, which may be C itself; nil is none
	LdAddend int      // leading dimension of Addend
	Acc      bool     // C is added
	Ahead    Upcoming // nil is nothing
}

// check panics unless bias and addend fit C [m,n].
func (e *Epilogue[T]) check(op string, m, n int) {
	if e.Addend != nil {
		checkMatrix(op, "addend", len(e.Addend), m, n, e.LdAddend)
	}
	if e.Bias != nil && len(e.Bias) < n {
		panic(fmt.Sprintf("kernel: %s: the bias has %d elements, too few for %d columns", op, len(e.Bias), n))
	}
}

// MulPacked computes columns [n0,n1) of C = A·B with an epilogue, for A [m,k], B [k,n] packed by
// [PackN] or [PackT], and C [m,n]. n0 must be a multiple of [PanelWidth]; the other columns of C are
// neither read nor written. Bias and addend are indexed by the column of C.
func MulPacked[T Float](m, n, k int, a []T, lda int, packed []T, c []T, ldc int, n0, n1 int, e Epilogue[T]) {
	checkMatrix("MulPacked", "a", len(a), m, k, lda)
	checkMatrix("MulPacked", "c", len(c), m, n, ldc)
	e.check("MulPacked", m, n)
	if len(packed) < PackedLen(k, n) || n0 < 0 || n0%PanelWidth != 0 || n1 > n {
		panic(fmt.Sprintf("kernel: MulPacked: k=%d n=%d needs %d packed elements (has %d) and columns inside [0,%d) from a multiple of %d (asked for [%d,%d))",
			k, n, PackedLen(k, n), len(packed), n, PanelWidth, n0, n1))
	}
	p := product[T]{m: m, k: k, n0: n0, n1: n1, a: a, lda: lda, b: packed, layout: byPanels, c: c, ldc: ldc, e: e}
	p.run()
}

// checkMatrix panics unless a slice of n elements holds a matrix of rows × cols.
func checkMatrix(op, name string, n, rows, cols, ld int) {
	if rows > 0 && cols > 0 && (ld < cols || n < (rows-1)*ld+cols) || rows < 0 || cols < 0 {
		panicMatrix(op, name, n, rows, cols, ld)
	}
}

//go:noinline
func panicMatrix(op, name string, n, rows, cols, ld int) {
	panic(fmt.Sprintf("kernel: %s: %s has %d elements, too few for %d rows of %d with leading dimension %d", op, name, n, rows, cols, ld))
}

// layout says where B(k,j) is.
type layout uint8

const (
	byRows    layout = iota // at k*ldb + j
	byColumns               // at j*ldb + k
	byPanels                // packed
)

// product is one call, in the form that the implementations share.
type product[T Float] struct {
	m, k, n0, n1 int
	a            []T
	lda          int
	transposed   bool // A(i,k) is at i + k*lda instead of i*lda + k
	b            []T
	ldb          int
	layout       layout
	c            []T
	ldc          int
	e            Epilogue[T]
}

// run hands the product to the assembly or to the portable code.
func (p *product[T]) run() {
	if p.m == 0 || p.n0 >= p.n1 {
		return
	}
	if p.k == 0 { // nothing is read of A and B, which may be empty; offsets must stay inside a slice
		p.a, p.lda, p.transposed, p.b, p.ldb, p.layout = p.c, 0, false, p.c, 0, byRows
	}
	if isFloat32[T]() && mulVector((*product[float32])(unsafe.Pointer(p))) {
		return
	}
	mulPortable(p)
}

// isFloat32 is a constant to the compiler.
func isFloat32[T Float]() bool {
	var zero T
	return unsafe.Sizeof(zero) == 4
}

// SumBlock is the size of the blocks that a sum of k terms is cut into, the last of which may be smaller.
// A product whose operands come by such blocks of k, each added to C, has the bits of one call.
func SumBlock(k int) int { return blockK(k) }

// maxBlockK bounds the terms that are summed in registers before they are added to C.
const maxBlockK = 512

// blockK is the size of the blocks that a sum of k terms is cut into: equal but for rounding.
func blockK(k int) int {
	if k <= maxBlockK {
		return max(k, 1)
	}
	blocks := (k + maxBlockK - 1) / maxBlockK
	return ((k+blocks-1)/blocks + 15) &^ 15
}
