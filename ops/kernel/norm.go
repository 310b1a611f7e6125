package kernel

import (
	"math"
	"unsafe"
)

// LayerNorm normalises each row of x[rows, d] (Ba, Kiros and Hinton 2016, arXiv:1607.06450):
//
//	y = (x - m)/sqrt(v + eps) ⊙ w + b,  m = mean(x),  v = mean((x - m)²)
//
// w and b are [d]; nil stands for ones and zeros. mean and rstd, [rows], receive m and
// 1/sqrt(v + eps) for the gradient. y may be x. A row whose v is beyond the largest number
// becomes NaN, not zero.
func LayerNorm[T Float](y, x, w, b, mean, rstd []T, rows, d int, eps T) {
	if d == 0 {
		return
	}
	x, y, mean, rstd = x[:rows*d], y[:rows*d], mean[:rows], rstd[:rows]
	w, b = cut(w, d), cut(b, d)
	if isFloat32[T]() && rows > 0 && normVector(as32(y), as32(x), as32(w), as32(b), as32(mean), as32(rstd), rows, d, float32(eps), true, false) {
		return
	}
	for r := range rows {
		xr, yr := x[r*d:(r+1)*d], y[r*d:(r+1)*d]
		m := sum(xr) / T(d)
		var v T
		for _, e := range xr {
			v += (e - m) * (e - m)
		}
		s := rsqrt(v/T(d) + eps)
		mean[r], rstd[r] = m, s
		for i, e := range xr {
			yr[i] = (e - m) * s
		}
		affine(yr, w, b)
	}
}

// affine computes y = y ⊙ w + b; nil stands for ones and zeros.
func affine[T Float](y, w, b []T) {
	if w != nil {
		Mul(y, y, w)
	}
	if b != nil {
		Add(y, y, b)
	}
}

// LayerNormGrad is the gradient of LayerNorm. With h = (x - mean)·rstd and t = dy ⊙ w,
//
//	dx  = rstd·(t - mean(t) - h·mean(t ⊙ h)) + addend
//	dw += Σ_rows dy ⊙ h,  db += Σ_rows dy
//
// w is as in LayerNorm. dw and db are [d], or nil when not wanted. addend is [rows, d], the gradient
// that reaches x on another path, or nil. dx may be dy, x or addend.
func LayerNormGrad[T Float](dx, dy, x, w, mean, rstd, dw, db, addend []T, rows, d int) {
	g := normGrad[T]{rows: rows, d: d, dx: dx, dy: dy, x: x, w: w, dw: dw, db: db, addend: addend, mean: mean[:rows], rstd: rstd}
	g.run()
}

// normGrad is the gradient of a norm of rows. mean is nil for RMSNorm.
type normGrad[T Float] struct {
	rows, d              int
	dx, dy, x, w, addend []T
	dw, db               []T
	mean, rstd           []T
	onePlus              T // 1 if the gain is 1 + w
}

// cut is x[:n], or nil if x is.
func cut[T Float](x []T, n int) []T {
	if x == nil {
		return nil
	}
	return x[:n]
}

func (g *normGrad[T]) run() {
	n := g.rows * g.d
	if n == 0 {
		return
	}
	g.dx, g.dy, g.x, g.addend, g.rstd = g.dx[:n], g.dy[:n], g.x[:n], cut(g.addend, n), g.rstd[:g.rows]
	g.w, g.dw, g.db = cut(g.w, g.d), cut(g.dw, g.d), cut(g.db, g.d)
	if isFloat32[T]() && normGradVector((*normGrad[float32])(unsafe.Pointer(g))) {
		return
	}
	for r := range g.rows {
		g.row(r)
	}
}

// row computes row r.
func (g *normGrad[T]) row(r int) {
	at, end := r*g.d, (r+1)*g.d
	dx, dy, x, rstd := g.dx[at:end], g.dy[at:end], g.x[at:end], g.rstd[r]
	var mean, t, th T
	if g.mean != nil {
		mean = g.mean[r]
	}
	for i, e := range x {
		h := (e - mean) * rstd
		if g.db != nil {
			g.db[i] += dy[i]
		}
		if g.dw != nil {
			g.dw[i] += dy[i] * h
		}
		u := dy[i] * g.gain(i)
		t += u
		th += u * h
	}
	t, th = t/T(g.d), th/T(g.d)
	if g.mean == nil {
		t = 0
	}
	for i, e := range x {
		h := (e - mean) * rstd
		v := rstd * (dy[i]*g.gain(i) - t - h*th)
		if g.addend != nil {
			v += g.addend[at+i]
		}
		dx[i] = v
	}
}

// gain is the factor of column i.
func (g *normGrad[T]) gain(i int) T {
	if g.w == nil {
		return 1
	}
	return g.onePlus + g.w[i]
}

// RMSNorm scales each row of x[rows, d] to unit mean square (Zhang and Sennrich 2019, arXiv:1910.07467):
//
//	y = x/sqrt(mean(x²) + eps) ⊙ w,   or ⊙ (1 + w) with onePlus (Gemma 2024, arXiv:2403.08295)
//
// w is [d]; nil stands for a gain of one. rstd, [rows], receives 1/sqrt(mean(x²) + eps). y may be x.
// A row whose mean square is beyond the largest number becomes NaN, not zero.
func RMSNorm[T Float](y, x, w, rstd []T, rows, d int, eps T, onePlus bool) {
	if d == 0 {
		return
	}
	x, y, w, rstd = x[:rows*d], y[:rows*d], cut(w, d), rstd[:rows]
	if isFloat32[T]() && rows > 0 && normVector(as32(y), as32(x), as32(w), nil, nil, as32(rstd), rows, d, float32(eps), false, onePlus) {
		return
	}
	one := oneIf[T](onePlus)
	for r := range rows {
		xr, yr := x[r*d:(r+1)*d], y[r*d:(r+1)*d]
		s := rsqrt(dot(xr, xr)/T(d) + eps)
		rstd[r] = s
		if w == nil {
			for i, e := range xr {
				yr[i] = e * s
			}
			continue
		}
		for i, e := range xr {
			yr[i] = e * s * (one + w[i])
		}
	}
}

// RMSNormGrad is the gradient of RMSNorm. With h = x·rstd and t = dy ⊙ gain,
//
//	dx  = rstd·(t - h·mean(t ⊙ h)) + addend
//	dw += Σ_rows dy ⊙ h
//
// w and onePlus are as in RMSNorm. dw and addend may be nil. dx may be dy, x or addend.
func RMSNormGrad[T Float](dx, dy, x, w, rstd, dw, addend []T, rows, d int, onePlus bool) {
	g := normGrad[T]{rows: rows, d: d, dx: dx, dy: dy, x: x, w: w, dw: dw, addend: addend, rstd: rstd, onePlus: oneIf[T](onePlus)}
	g.run()
}

// rsqrt is 1/√x, and NaN for an infinite x: what has overflowed has no finite root.
func rsqrt[T Float](x T) T { return T(1/math.Sqrt(float64(x))) + (x - x) }

func oneIf[T Float](yes bool) T {
	if yes {
		return 1
	}
	return 0
}
