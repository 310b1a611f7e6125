package kernel

import "math"

// DyT is the element-wise stand-in for a norm of Zhu et al. 2025 (arXiv:2503.10622):
//
//	y = w ⊙ tanh(alpha·x) + b
//
// x and y are [rows, d], w and b [d] (nil stands for ones and zeros), alpha [1]. y may be x.
func DyT[T Float](y, x, w, b, alpha []T, rows, d int) {
	a := alpha[0]
	for r := range rows {
		xr, yr := x[r*d:(r+1)*d], y[r*d:(r+1)*d]
		for i, e := range xr {
			yr[i] = a * e
		}
		Tanh(yr, yr)
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
	a := alpha[0]
	for r := range rows {
		at := r * d
		var da T
		for i := range d {
			e, g := x[at+i], dy[at+i]
			h := tanh(a * e)
			t := g * (1 - h*h)
			if w != nil {
				t *= w[i]
			}
			if dw != nil {
				dw[i] += g * h
			}
			if db != nil {
				db[i] += g
			}
			da += t * e
			v := a * t
			if addend != nil {
				v += addend[at+i]
			}
			dx[at+i] = v
		}
		if dalpha != nil {
			dalpha[0] += da
		}
	}
}

func tanh[T Float](x T) T { return T(math.Tanh(float64(x))) }
