package kernel

// Functions of rows: a matrix is [rows, d] and contiguous unless a leading dimension is given, a
// row vector is [d]. Sums over rows take the rows in order and continue from what dst holds, so a
// sum may be cut into several calls anywhere without changing a bit.

// AddRow computes y = x + w, the row vector w added to every row. y may be x.
func AddRow[T Float](y, x, w []T, rows, d int) {
	for r := range rows {
		Add(y[r*d:(r+1)*d], x[r*d:(r+1)*d], w)
	}
}

// MulRow computes y = x ⊙ w, every row multiplied by the row vector w. y may be x. It is also its
// own gradient with respect to x; that with respect to w is ColDot(dw, dy, x, …).
func MulRow[T Float](y, x, w []T, rows, d int) {
	for r := range rows {
		Mul(y[r*d:(r+1)*d], x[r*d:(r+1)*d], w)
	}
}

// ColSum sums the columns of x[rows, cols], whose rows are ld apart: dst[c] = Σ_r x[r, c], or
// dst[c] += that with acc. A range of columns is had by slicing dst and x.
func ColSum[T Float](dst, x []T, rows, cols, ld int, acc bool) {
	dst = dst[:cols]
	if !acc {
		clear(dst)
	}
	if rows == 0 || cols == 0 {
		return
	}
	x = x[:(rows-1)*ld+cols]
	if isFloat32[T]() && colSumVector(as32(dst), as32(x), nil, rows, ld, 0) {
		return
	}
	for r := range rows {
		Add(dst, dst, x[r*ld:r*ld+cols])
	}
}

// ColDot sums the columns of a ⊙ b: dst[c] = Σ_r a[r, c]·b[r, c], or dst[c] += that with acc. The
// rows of a and b are lda and ldb apart.
func ColDot[T Float](dst, a, b []T, rows, cols, lda, ldb int, acc bool) {
	dst = dst[:cols]
	if !acc {
		clear(dst)
	}
	if rows == 0 || cols == 0 {
		return
	}
	a, b = a[:(rows-1)*lda+cols], b[:(rows-1)*ldb+cols]
	if isFloat32[T]() && colSumVector(as32(dst), as32(a), as32(b), rows, lda, ldb) {
		return
	}
	for r := range rows {
		MulAdd(dst, a[r*lda:r*lda+cols], b[r*ldb:r*ldb+cols])
	}
}
