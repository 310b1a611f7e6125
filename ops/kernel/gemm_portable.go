package kernel

// The portable product copies A and B to strips of four rows or columns, [k][4], in which the inner
// loop has no index to check, and computes tiles of 4×4.

const (
	strip        = 4
	portableRows = 64 // rows of A that are copied at a time
)

// mulPortable computes the product in Go.
func mulPortable[T Float](p *product[T]) {
	mem := getScratch()
	buf := scratchOf[T](mem)
	a, b := buf[:portableRows*maxBlockK], buf[portableRows*maxBlockK:][:strip*maxBlockK]
	size := blockK(p.k)
	for k0 := 0; k0 == 0 || k0 < p.k; k0 += size {
		kc := min(size, p.k-k0)
		for i0 := 0; i0 < p.m; i0 += portableRows {
			rows := min(portableRows, p.m-i0)
			for i := 0; i < rows; i += strip {
				p.stripA(a[i*kc:(i+strip)*kc], i0+i, min(strip, rows-i), k0, kc)
			}
			for j := p.n0; j < p.n1; j += strip {
				cols := min(strip, p.n1-j)
				p.stripB(b[:strip*kc], j, cols, k0, kc)
				for i := 0; i < rows; i += strip {
					tile := mulStrips(a[i*kc:(i+strip)*kc], b[:strip*kc])
					p.store(&tile, i0+i, min(strip, rows-i), j, cols, k0 == 0)
				}
			}
		}
	}
	putScratch(mem)
}

// stripA copies rows rows of A from row i; the missing rows of a strip are zero.
func (p *product[T]) stripA(dst []T, i, rows, k0, kc int) {
	if p.transposed {
		copyStrip(dst, p.a, k0*p.lda+i, p.lda, rows, kc)
	} else {
		transposeStrip(dst, p.a, i*p.lda+k0, p.lda, rows, kc)
	}
}

// stripB copies cols columns of B from column j; the missing columns of a strip are zero.
func (p *product[T]) stripB(dst []T, j, cols, k0, kc int) {
	switch p.layout {
	case byRows:
		copyStrip(dst, p.b, k0*p.ldb+j, p.ldb, cols, kc)
	case byColumns:
		transposeStrip(dst, p.b, j*p.ldb+k0, p.ldb, cols, kc)
	case byPanels:
		panel := j / PanelWidth * PanelWidth
		copyStrip(dst, p.b, panel*p.k+k0*PanelWidth+j-panel, PanelWidth, cols, kc)
	}
}

// copyStrip fills a strip from kc rows of n ≤ 4 elements, ld apart.
func copyStrip[T Float](dst, src []T, off, ld, n, kc int) {
	for i := range kc {
		d := dst[i*strip : (i+1)*strip]
		clear(d[copy(d, src[off+i*ld:off+i*ld+n]):])
	}
}

// transposeStrip fills a strip from n ≤ 4 rows of kc elements, ld apart.
func transposeStrip[T Float](dst, src []T, off, ld, n, kc int) {
	if n < strip {
		clear(dst)
	}
	for j := range n {
		for i, v := range src[off+j*ld : off+j*ld+kc] {
			dst[i*strip+j] = v
		}
	}
}

// mulStrips returns the 4×4 products of two strips, summed over their length.
func mulStrips[T Float](a, b []T) (tile [strip * strip]T) {
	var c00, c01, c02, c03, c10, c11, c12, c13, c20, c21, c22, c23, c30, c31, c32, c33 T
	for len(a) >= strip && len(b) >= strip {
		b0, b1, b2, b3 := b[0], b[1], b[2], b[3]
		x := a[0]
		c00 += x * b0
		c01 += x * b1
		c02 += x * b2
		c03 += x * b3
		x = a[1]
		c10 += x * b0
		c11 += x * b1
		c12 += x * b2
		c13 += x * b3
		x = a[2]
		c20 += x * b0
		c21 += x * b1
		c22 += x * b2
		c23 += x * b3
		x = a[3]
		c30 += x * b0
		c31 += x * b1
		c32 += x * b2
		c33 += x * b3
		a, b = a[strip:], b[strip:]
	}
	return [strip * strip]T{c00, c01, c02, c03, c10, c11, c12, c13, c20, c21, c22, c23, c30, c31, c32, c33}
}

// store adds the epilogue, or in later blocks of k the sum so far, and writes part of a tile to C.
func (p *product[T]) store(tile *[strip * strip]T, i, rows, j, cols int, first bool) {
	for r := range rows {
		c := p.c[(i+r)*p.ldc+j:][:cols]
		t := tile[r*strip:][:cols]
		if first && p.e.Bias != nil {
			addTo(t, p.e.Bias[j:])
		}
		if !first || p.e.Acc {
			addTo(t, c)
		}
		if first && p.e.Addend != nil {
			addTo(t, p.e.Addend[(i+r)*p.e.LdAddend+j:])
		}
		copy(c, t)
	}
}

func addTo[T Float](dst, x []T) {
	for i := range dst {
		dst[i] += x[i]
	}
}
