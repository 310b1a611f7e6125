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
	a, b := buf[:portableRows*maxBlockK], buf[portableRows*maxBlockK:][:strip*(maxBlockK+1)]
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
					tile := mulStrips(a[i*kc:(i+strip)*kc], b)
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

// mulStrips returns the 4×4 products of two strips, summed over the length of a: two columns at a
// time, for which 16 registers are enough. b has two elements more than a, which are not used.
func mulStrips[T Float](a, b []T) (tile [strip * strip]T) {
	for j := 0; j < strip; j += 2 {
		tile[j], tile[j+1], tile[4+j], tile[5+j], tile[8+j], tile[9+j], tile[12+j], tile[13+j] = mulHalf(a, b[j:j+len(a)])
	}
	return tile
}

// mulHalf multiplies four columns of a with the first two of b. The loop is written so that some
// indices stay checked: the branches, which cost nothing, keep the compiler from forming all products
// before the first sum, for which amd64 has too few registers (8.0 against 4.5 GFLOP/s on Zen 4).
func mulHalf[T Float](a, b []T) (c00, c01, c10, c11, c20, c21, c30, c31 T) {
	b = b[:len(a)]
	for i := strip - 1; i < len(a); i += strip {
		b0, b1 := b[i-3], b[i-2]
		x := a[i-3]
		c00 += x * b0
		c01 += x * b1
		x = a[i-2]
		c10 += x * b0
		c11 += x * b1
		x = a[i-1]
		c20 += x * b0
		c21 += x * b1
		x = a[i]
		c30 += x * b0
		c31 += x * b1
	}
	return
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
