package kernel

import "unsafe"

// panelProduct is a product of attention's tiles: C = A·B [rows, cols], a sum over k terms. A or C is a
// panel, [·][tileQueries]. k is at least 1.
type panelProduct[T Float] struct {
	rows, cols, k int
	a             []T
	lda           int
	b             []T
	ldb           int
	c             []T
	ldc           int

	// triangle says that the tile is at the diagonal: its queries stand where the last keys do, tileQueries of both,
	// and weights of later keys are zeros that need not be multiplied.
	triangle bool
}

// operands sets A, B and C. Fields are set one by one, as those of the assembly's arguments are: a composite literal
// would be copied to where it has an address, and the copy's reads wait for all stores of the product before.
func (p *panelProduct[T]) operands(a []T, lda int, b []T, ldb int, c []T, ldc int) {
	p.a, p.lda = a, lda
	p.b, p.ldb = b, ldb
	p.c, p.ldc = c, ldc
}

// mul computes C = A·B.
func (p *panelProduct[T]) mul() { p.run(false, false) }

// add computes C += A·B, where rows are keys and k counts queries. The triangle's rows, if there is one, are the last:
// they become A·B unless they have been written.
func (p *panelProduct[T]) add(written bool) { p.run(true, written) }

func (p *panelProduct[T]) run(acc, triangleAcc bool) {
	checkMatrix("attention", "a", len(p.a), p.rows, p.k, p.lda)
	p.check()
	if isFloat32[T]() && panelMulVector(p.as32(), acc, triangleAcc) {
		return
	}
	rows := p.rows
	if p.triangle {
		rows -= tileQueries
	}
	MulNN(rows, p.cols, p.k, p.a, p.lda, p.b, p.ldb, p.c, p.ldc, acc)
	if p.triangle {
		MulNN(tileQueries, p.cols, p.k, p.a[rows*p.lda:], p.lda, p.b, p.ldb, p.c[rows*p.ldc:], p.ldc, triangleAcc)
	}
}

// mulT computes C = Aᵀ·B for a panel A, row r times factors[r] unless factors are nil. Rows are queries, k counts keys.
func (p *panelProduct[T]) mulT(factors []T) {
	checkMatrix("attention", "a", len(p.a), p.k, p.rows, p.lda)
	p.check()
	if isFloat32[T]() && panelMulTVector(p.as32(), as32(factors)) {
		return
	}
	MulTN(p.rows, p.cols, p.k, p.a, p.lda, p.b, p.ldb, p.c, p.ldc, false)
	if factors == nil {
		return
	}
	for r, f := range factors[:p.rows] {
		row := p.c[r*p.ldc:][:p.cols]
		Scale(row, row, float64(f))
	}
}

func (p *panelProduct[T]) check() {
	checkMatrix("attention", "b", len(p.b), p.k, p.cols, p.ldb)
	checkMatrix("attention", "c", len(p.c), p.rows, p.cols, p.ldc)
}

// as32 views a product of what is known to be float32.
func (p *panelProduct[T]) as32() *panelProduct[float32] {
	return (*panelProduct[float32])(unsafe.Pointer(p))
}
