package kernel

// narrowest is the number of columns up to which a panel has products of its own: one AVX-512 vector,
// half a tile of the general product.
const narrowest = 16

// mulPanel computes C[rows, cols] += P·B for a panel P[rows][PanelWidth], its first k columns, and B[k, cols].
func mulPanel[T Float](rows, cols, k int, p, b []T, ldb int, c []T, ldc int) {
	if cols <= narrowest && isFloat32[T]() {
		checkMatrix("mulPanel", "b", len(b), k, cols, ldb)
		checkMatrix("mulPanel", "c", len(c), rows, cols, ldc)
		if narrowVector(rows, cols, k, as32(p[:rows*PanelWidth]), as32(b), ldb, as32(c), ldc) {
			return
		}
	}
	MulNN(rows, cols, k, p, PanelWidth, b, ldb, c, ldc, true)
}

// mulPanelT computes C[rows, cols] = Pᵀ·B for a panel P[k][PanelWidth], its first rows columns, and B[k, cols].
func mulPanelT[T Float](rows, cols, k int, p, b []T, ldb int, c []T, ldc int) {
	if cols <= narrowest && isFloat32[T]() {
		checkMatrix("mulPanelT", "b", len(b), k, cols, ldb)
		checkMatrix("mulPanelT", "c", len(c), rows, cols, ldc)
		if narrowVectorT(rows, cols, k, as32(p[:k*PanelWidth]), as32(b), ldb, as32(c), ldc) {
			return
		}
	}
	MulTN(rows, cols, k, p, PanelWidth, b, ldb, c, ldc, false)
}
