package kernel

import (
	"fmt"
	"unsafe"
)

// PanelWidth is the number of columns of a panel, the unit that a right-hand side is packed in.
const PanelWidth = 32

// PackedLen is the number of elements of a packed [k,n] right-hand side: ⌈n/32⌉ panels, each [k][32].
// The missing columns of the last panel are zero.
func PackedLen(k, n int) int { return panels(n) * PanelWidth * k }

func panels(n int) int { return (n + PanelWidth - 1) / PanelWidth }

// PackN packs panels [p0,p1) of B [k,n] to their places in dst, which holds PackedLen(k, n) elements.
func PackN[T Float](dst, b []T, ldb, k, n, p0, p1 int) {
	checkMatrix("PackN", "b", len(b), k, n, ldb)
	checkPanels("PackN", len(dst), k, n, p0, p1)
	if k == 0 {
		return
	}
	for p := p0; p < p1; p++ {
		j := p * PanelWidth
		packRows(dst[j*k:(j+PanelWidth)*k], b[j:], ldb, k, min(PanelWidth, n-j))
	}
}

// PackT packs panels [p0,p1) of Bᵀ for B [n,k] to their places in dst, which holds PackedLen(k, n)
// elements: a weight stored [out,in] becomes the right-hand side of y = x·Wᵀ.
func PackT[T Float](dst, b []T, ldb, k, n, p0, p1 int) {
	packT("PackT", dst, b, ldb, k, n, p0, p1, false)
}

// PackTPast is PackT for panels that leave the caches before they are read: where it can, it writes past those, so
// that memory is not fetched to be overwritten, and nothing has to make room.
func PackTPast[T Float](dst, b []T, ldb, k, n, p0, p1 int) {
	packT("PackTPast", dst, b, ldb, k, n, p0, p1, true)
}

func packT[T Float](name string, dst, b []T, ldb, k, n, p0, p1 int, past bool) {
	checkMatrix(name, "b", len(b), n, k, ldb)
	checkPanels(name, len(dst), k, n, p0, p1)
	if k == 0 {
		return
	}
	for p := p0; p < p1; p++ {
		j := p * PanelWidth
		panel, w := dst[j*k:(j+PanelWidth)*k], min(PanelWidth, n-j)
		if ldb == k && k <= shortRow && isFloat32[T]() {
			touch(as32(b[j*k : (j+w)*k]))
			if !past {
				touch(as32(panel))
			}
		}
		packCols(panel, b[j*ldb:], ldb, k, w, past)
	}
}

// shortRow is the length of rows up to which packing reads memory in its order beforehand. The
// processor foresees what follows in order; it does not foresee a jump from row to row, nor from row
// to row of a panel. Longer rows are runs that are long enough.
const shortRow = 256

func checkPanels(op string, have, k, n, p0, p1 int) {
	if p0 < 0 || p1 > panels(n) || have < PackedLen(k, n) {
		panic(fmt.Sprintf("kernel: %s: dst has %d elements and panels [%d,%d) are asked for, but k=%d n=%d is %d elements in %d panels",
			op, have, p0, p1, k, n, PackedLen(k, n), panels(n)))
	}
}

// packRows fills one panel from k rows of w columns.
func packRows[T Float](dst, b []T, ldb, k, w int) {
	if w == PanelWidth && isFloat32[T]() && packRowsVector(as32(dst), as32(b), ldb, k) {
		return
	}
	for i := range k {
		d := dst[i*PanelWidth : (i+1)*PanelWidth]
		clear(d[copy(d, b[i*ldb:i*ldb+w]):])
	}
}

// packCols fills one panel from w rows of k elements, which become its columns.
func packCols[T Float](dst, b []T, ldb, k, w int, past bool) {
	j, k0 := 0, 0
	if isFloat32[T]() {
		j, k0 = packColsVector(as32(dst), as32(b), ldb, k, w, past)
	}
	packColsPart(dst, b, ldb, 0, j, k0, k)
	packColsPart(dst, b, ldb, j, w, 0, k)
	if w < PanelWidth {
		for i := range k {
			clear(dst[i*PanelWidth+w : (i+1)*PanelWidth])
		}
	}
}

// packColsPart transposes rows [j0,j1), elements [k0,k1).
func packColsPart[T Float](dst, b []T, ldb, j0, j1, k0, k1 int) {
	for j := j0; j < j1; j++ {
		for i, v := range b[j*ldb+k0 : j*ldb+k1] {
			dst[(k0+i)*PanelWidth+j] = v
		}
	}
}

// as32 views a slice of what is known to be float32.
func as32[T Float](s []T) []float32 { return *(*[]float32)(unsafe.Pointer(&s)) }
