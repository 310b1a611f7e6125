package kernel

import "fmt"

// dotsBlock is the number of rows of B that all rows of A meet before the next ones are read: few
// enough to stay in the second-level cache meanwhile.
const dotsBlock = 32

// MulDots computes columns [n0,n1) of C = A·Bᵀ with an epilogue, for A [m,k], B [n,k] and C [m,n]: one
// dot product for each element. Nothing is packed and B is read once, in the order of its memory,
// which is what bounds a product with so few rows in A that packing B would not pay. The other columns
// of C are neither read nor written. Bias and addend are indexed by the column of C. The sum of an
// element is taken in an order that depends on k alone.
func MulDots[T Float](m, n, k int, a []T, lda int, b []T, ldb int, c []T, ldc int, n0, n1 int, e Epilogue[T]) {
	checkMatrix("MulDots", "a", len(a), m, k, lda)
	checkMatrix("MulDots", "b", len(b), n, k, ldb)
	checkMatrix("MulDots", "c", len(c), m, n, ldc)
	if e.Addend != nil {
		checkMatrix("MulDots", "addend", len(e.Addend), m, n, e.LdAddend)
	}
	if e.Bias != nil && len(e.Bias) < n || n0 < 0 || n1 > n {
		panic(fmt.Sprintf("kernel: MulDots: n=%d needs that much of bias (has %d, may be nil) and columns inside [0,%d) (asked for [%d,%d))",
			n, len(e.Bias), n, n0, n1))
	}
	var sums [dotsBlock]T
	for j := n0; j < n1; j += dotsBlock {
		s := sums[:min(dotsBlock, n1-j)]
		for i := range m {
			clear(s)
			if k > 0 {
				rowDots(s, b[j*ldb:], ldb, a[i*lda:i*lda+k])
			}
			e.store(c[i*ldc+j:], s, i, j)
		}
	}
}

// store writes the sums of row i from column j on, completed, to c.
func (e *Epilogue[T]) store(c, sums []T, i, j int) {
	if e.Bias != nil {
		Add(sums, sums, e.Bias[j:j+len(sums)])
	}
	if e.Addend != nil {
		Add(sums, sums, e.Addend[i*e.LdAddend+j:][:len(sums)])
	}
	if e.Acc {
		Add(sums, sums, c[:len(sums)])
	}
	copy(c, sums)
}
