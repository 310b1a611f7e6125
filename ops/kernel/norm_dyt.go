package kernel

import (
	"math"
	"unsafe"
)

// DyT is the element-wise stand-in for a norm of Zhu et al. 2025 (arXiv:2503.10622):
//
//	y = w ⊙ tanh(alpha·x) + b
//
// x and y are [rows, d], w and b [d] (nil stands for ones and zeros), alpha [1]. y may be x.
func DyT[T Float](y, x, w, b, alpha []T, rows, d int) {
	n := rows * d
	if n == 0 {
		return
	}
	y, x, w, b = y[:n], x[:n], cut(w, d), cut(b, d)
	a := alpha[0]
	if isFloat32[T]() && dytVector(as32(y), as32(x), as32(w), as32(b), float32(a), rows, d) {
		return
	}
	for r := range rows {
		xr, yr := x[r*d:(r+1)*d], y[r*d:(r+1)*d]
		for i, e := range xr {
			yr[i] = tanh(a * e)
		}
		affine(yr, w, b)
	}
}

// DyTGrad is the gradient of DyT. With h = tanh(alpha·x) and t = dy ⊙ w ⊙ (1 - h²),
//
//	dx      = alpha·t + addend
//	dw     += Σ_rows dy ⊙ h,  db += Σ_rows dy,  dalpha += Σ t ⊙ x
//
// dw, db, dalpha and addend may be nil. dx may be dy, x or addend.
func DyTGrad[T Float](dx, dy, x, w, alpha, dw, db, dalpha, addend []T, rows, d int) {
	n := rows * d
	if n == 0 {
		return
	}
	g := dytGrad[T]{rows: rows, d: d, dx: dx[:n], dy: dy[:n], x: x[:n], addend: cut(addend, n), w: cut(w, d), dw: cut(dw, d), db: cut(db, d),
		dalpha: cut(dalpha, 1), alpha: alpha[0]}
	if isFloat32[T]() && dytGradVector((*dytGrad[float32])(unsafe.Pointer(&g))) {
		return
	}
	for r := range rows {
		g.row(r)
	}
}

// dytGrad is the gradient of DyT of rows.
type dytGrad[T Float] struct {
	rows, d              int
	dx, dy, x, w, addend []T
	dw, db, dalpha       []T
	alpha                T
}

// row computes row r.
func (g *dytGrad[T]) row(r int) {
	at := r * g.d
	var dalpha T
	for i := range g.d {
		x, dy := g.x[at+i], g.dy[at+i]
		h := tanh(g.alpha * x)
		t := dy * (1 - h*h)
		if g.w != nil {
			t *= g.w[i]
		}
		if g.dw != nil {
			g.dw[i] += dy * h
		}
		if g.db != nil {
			g.db[i] += dy
		}
		dalpha += t * x
		v := g.alpha * t
		if g.addend != nil {
			v += g.addend[at+i]
		}
		g.dx[at+i] = v
	}
	if g.dalpha != nil {
		g.dalpha[0] += dalpha
	}
}

func tanh[T Float](x T) T { return T(math.Tanh(float64(x))) }
