package kernel

import "unsafe"

// rowArgs are the arguments of the assembly of rows. gen/rows.go knows the order of the fields, all
// of which are eight bytes.
type rowArgs struct {
	rows, d                   int
	y, x, dy, w, b            *float32
	dw, db, addend            *float32
	mean, rstd                *float32
	ldX, ldDY                 int // in bytes; only where rows are not contiguous
	scale, one, eps, meanFrac float32
}

// The functions below run assembly for the active path, if there is any, and report whether they did.
// Slices must have been cut to the lengths that the portable code would access.

// mapVector computes an element-wise function of len(dst) elements. Slices that f does not use may be nil.
func mapVector(f mapping, dst, also, a, b []float32, c float32) bool {
	d, e, x, y := unsafe.SliceData(dst), unsafe.SliceData(also), unsafe.SliceData(a), unsafe.SliceData(b)
	switch active {
	case pathAVX512:
		map512(int(f), d, e, x, y, c, len(dst))
	case pathAVX2:
		map256(int(f), d, e, x, y, c, len(dst))
	default:
		return false
	}
	return true
}

func normVector(y, x, w, b, mean, rstd []float32, rows, d int, eps float32, layer, onePlus bool) bool {
	if active < pathAVX2 {
		return false
	}
	a := rowArgs{rows: rows, d: d, y: unsafe.SliceData(y), x: unsafe.SliceData(x), w: unsafe.SliceData(w), b: unsafe.SliceData(b),
		mean: unsafe.SliceData(mean), rstd: unsafe.SliceData(rstd), scale: 1 / float32(d), one: oneIf[float32](onePlus), eps: eps}
	switch wide := active == pathAVX512; {
	case layer && wide:
		layerNorm512(&a)
	case layer:
		layerNorm256(&a)
	case wide:
		rmsNorm512(&a)
	default:
		rmsNorm256(&a)
	}
	return true
}

func normGradVector(g *normGrad[float32]) bool {
	if active < pathAVX2 {
		return false
	}
	a := rowArgs{rows: g.rows, d: g.d, y: unsafe.SliceData(g.dx), x: unsafe.SliceData(g.x), dy: unsafe.SliceData(g.dy), w: unsafe.SliceData(g.w),
		dw: unsafe.SliceData(g.dw), db: unsafe.SliceData(g.db), addend: unsafe.SliceData(g.addend), mean: unsafe.SliceData(g.mean),
		rstd: unsafe.SliceData(g.rstd), scale: 1 / float32(g.d), one: g.onePlus}
	if g.mean != nil {
		a.meanFrac = a.scale
	}
	if active == pathAVX512 {
		normGrad512(&a)
	} else {
		normGrad256(&a)
	}
	return true
}

func dytVector(y, x, w, b []float32, alpha float32, rows, d int) bool {
	a := rowArgs{rows: rows, d: d, y: unsafe.SliceData(y), x: unsafe.SliceData(x), w: unsafe.SliceData(w), b: unsafe.SliceData(b), scale: alpha}
	switch active {
	case pathAVX512:
		dyt512(&a)
	case pathAVX2:
		dyt256(&a)
	default:
		return false
	}
	return true
}

func dytGradVector(g *dytGrad[float32]) bool {
	a := rowArgs{rows: g.rows, d: g.d, y: unsafe.SliceData(g.dx), x: unsafe.SliceData(g.x), dy: unsafe.SliceData(g.dy), w: unsafe.SliceData(g.w),
		dw: unsafe.SliceData(g.dw), db: unsafe.SliceData(g.db), addend: unsafe.SliceData(g.addend), mean: unsafe.SliceData(g.dalpha), scale: g.alpha}
	switch active {
	case pathAVX512:
		dytGrad512(&a)
	case pathAVX2:
		dytGrad256(&a)
	default:
		return false
	}
	return true
}

// rowDotsVector computes dst[r] = Σ x[r, ·] ⊙ w.
func rowDotsVector(dst, x []float32, ldx int, w []float32) bool {
	a := rowArgs{rows: len(dst), d: len(w), x: unsafe.SliceData(x), ldX: 4 * ldx, w: unsafe.SliceData(w), mean: unsafe.SliceData(dst)}
	switch active {
	case pathAVX512:
		rowDots512(&a)
	case pathAVX2:
		rowDots256(&a)
	default:
		return false
	}
	return true
}

func rotateHalvesVector(y, x, cos, sin []float32, sign float32) bool {
	yp, xp, c, s := unsafe.SliceData(y), unsafe.SliceData(x), unsafe.SliceData(cos), unsafe.SliceData(sin)
	switch active {
	case pathAVX512:
		rotateHalves512(yp, xp, c, s, len(cos), sign)
	case pathAVX2:
		rotateHalves256(yp, xp, c, s, len(cos), sign)
	default:
		return false
	}
	return true
}

// expRowsVector computes y = exp(x - most) of rows, unless y is nil, their maxima and their sums.
func expRowsVector(y, x, most, sum []float32, rows, d int) bool {
	a := rowArgs{rows: rows, d: d, y: unsafe.SliceData(y), x: unsafe.SliceData(x), mean: unsafe.SliceData(most), rstd: unsafe.SliceData(sum)}
	switch active {
	case pathAVX512:
		expRows512(&a)
	case pathAVX2:
		expRows256(&a)
	default:
		return false
	}
	return true
}

func softmaxGradVector(dx, dy, y []float32, rows, d int) bool {
	a := rowArgs{rows: rows, d: d, y: unsafe.SliceData(dx), x: unsafe.SliceData(y), dy: unsafe.SliceData(dy)}
	switch active {
	case pathAVX512:
		softmaxGrad512(&a)
	case pathAVX2:
		softmaxGrad256(&a)
	default:
		return false
	}
	return true
}

// expScaledVector computes dst = scale·exp(src - lse) of rows.
func expScaledVector(dst, src, lse []float32, scale float32, rows, d int) bool {
	a := rowArgs{rows: rows, d: d, y: unsafe.SliceData(dst), x: unsafe.SliceData(src), mean: unsafe.SliceData(lse), scale: scale}
	switch active {
	case pathAVX512:
		expScaled512(&a)
	case pathAVX2:
		expScaled256(&a)
	default:
		return false
	}
	return true
}

// colSumVector computes dst += Σ_rows x, or Σ_rows x ⊙ z if z is not nil.
func colSumVector(dst, x, z []float32, rows, ldx, ldz int) bool {
	a := rowArgs{rows: rows, d: len(dst), y: unsafe.SliceData(dst), x: unsafe.SliceData(x), dy: unsafe.SliceData(z), ldX: 4 * ldx, ldDY: 4 * ldz}
	switch active {
	case pathAVX512:
		colSum512(&a)
	case pathAVX2:
		colSum256(&a)
	default:
		return false
	}
	return true
}

func adamWVector(p, g, m, v []float32, h *[9]float32) bool {
	if active < pathAVX2 {
		return false
	}
	for len(p) > 0 {
		n := min(len(p), ownRun)
		own(p[:n])
		pp, gp, mp, vp := unsafe.SliceData(p), unsafe.SliceData(g), unsafe.SliceData(m), unsafe.SliceData(v)
		if active == pathAVX512 {
			adamW512(pp, gp, mp, vp, n, h)
		} else {
			adamW256(pp, gp, mp, vp, n, h)
		}
		p, g, m, v = p[n:], g[n:], m[n:], v[n:]
	}
	return true
}

// adamWMeasuredVector takes a multiple of lanes elements, at least one and at most measuredRun. It leaves the old
// parameters in old.
func adamWMeasuredVector(p, g, m, v []float32, h *[9]float32, old []float32, sums *[2]float64) bool {
	if active < pathAVX2 {
		return false
	}
	own(p)
	pp, gp, mp, vp := unsafe.SliceData(p), unsafe.SliceData(g), unsafe.SliceData(m), unsafe.SliceData(v)
	if active == pathAVX512 {
		adamWMeasured512(pp, gp, mp, vp, len(p), h, &old[0], sums)
	} else {
		adamWMeasured256(pp, gp, mp, vp, len(p), h, &old[0], sums)
	}
	return true
}

// ownRun is the number of elements that are made this core's before they are computed.
const ownRun = 1024

// own makes the cache lines of x, which begins one and is not empty, this core's. A line that other cores have read
// has to be taken from them before it can be written, and a store that waits for that holds up those behind it:
// stores with much arithmetic between them wait one after the other, stores right behind each other all at once.
func own(x []float32) {
	ownLines((*byte)(unsafe.Pointer(unsafe.SliceData(x))), (4*len(x)+lineBytes-1)/lineBytes)
}

// sumSquaresNarrowVector stores Σ x² of a multiple of narrowLanes elements, at least one, added in float32.
func sumSquaresNarrowVector(sum *float64, x []float32) bool {
	switch active {
	case pathAVX512:
		sumSquaresNarrow512(unsafe.SliceData(x), len(x), sum)
	case pathAVX2:
		sumSquaresNarrow256(unsafe.SliceData(x), len(x), sum)
	default:
		return false
	}
	return true
}

// sumVector adds a multiple of lanes elements to the partial sums s: x, x² or x·y.
func sumVector(kind reduction, s *[lanes]float64, x, y []float32) bool {
	if active < pathAVX2 {
		return false
	}
	xp, yp, n := unsafe.SliceData(x), unsafe.SliceData(y), len(x)
	switch kind {
	case reduceSum:
		sum256(s, xp, xp, n)
	case reduceSquares:
		sumSquares256(s, xp, xp, n)
	default:
		dot256(s, xp, yp, n)
	}
	return true
}
