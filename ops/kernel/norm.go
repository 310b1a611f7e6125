package kernel

import "math"

// LayerNorm normalises each row of x[rows, d] (Ba, Kiros and Hinton 2016, arXiv:1607.06450):
//
//	y = (x - m)/sqrt(v + eps) ⊙ w + b,  m = mean(x),  v = mean((x - m)²)
//
// w and b are [d]; nil stands for ones and zeros. mean and rstd, [rows], receive m and
// 1/sqrt(v + eps) for the gradient. y may be x.
func LayerNorm[T Float](y, x, w, b, mean, rstd []T, rows, d int, eps T) {
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
	for r := range rows {
		at, end := r*d, (r+1)*d
		g := normRow[T]{dx: dx[at:end], dy: dy[at:end], x: x[at:end], w: w, mean: mean[r], rstd: rstd[r]}
		if addend != nil {
			g.addend = addend[at:end]
		}
		if db != nil {
			Add(db[:d], db, g.dy)
		}
		t, th := g.sums(dw)
		g.write(t/T(d), th/T(d))
	}
}

// normRow is one row of a norm's gradient.
type normRow[T Float] struct {
	dx, dy, x, w, addend []T
	mean, rstd           T
	onePlus              T // 1 if the gain is 1 + w
}

// gain is the factor of column i.
func (g *normRow[T]) gain(i int) T {
	if g.w == nil {
		return 1
	}
	return g.onePlus + g.w[i]
}

// sums returns Σ t and Σ t ⊙ h, and adds dy ⊙ h to dw.
func (g *normRow[T]) sums(dw []T) (t, th T) {
	for i, e := range g.x {
		h := (e - g.mean) * g.rstd
		u := g.dy[i] * g.gain(i)
		t += u
		th += u * h
		if dw != nil {
			dw[i] += g.dy[i] * h
		}
	}
	return t, th
}

// write computes dx = rstd·(t - mt - h·mth) + addend.
func (g *normRow[T]) write(mt, mth T) {
	for i, e := range g.x {
		h := (e - g.mean) * g.rstd
		v := g.rstd * (g.dy[i]*g.gain(i) - mt - h*mth)
		if g.addend != nil {
			v += g.addend[i]
		}
		g.dx[i] = v
	}
}

// RMSNorm scales each row of x[rows, d] to unit mean square (Zhang and Sennrich 2019, arXiv:1910.07467):
//
//	y = x/sqrt(mean(x²) + eps) ⊙ w,   or ⊙ (1 + w) with onePlus (Gemma 2024, arXiv:2403.08295)
//
// w is [d]; nil stands for a gain of one. rstd, [rows], receives 1/sqrt(mean(x²) + eps). y may be x.
func RMSNorm[T Float](y, x, w, rstd []T, rows, d int, eps T, onePlus bool) {
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
	for r := range rows {
		at, end := r*d, (r+1)*d
		g := normRow[T]{dx: dx[at:end], dy: dy[at:end], x: x[at:end], w: w, rstd: rstd[r], onePlus: oneIf[T](onePlus)}
		if addend != nil {
			g.addend = addend[at:end]
		}
		_, th := g.sums(dw)
		g.write(0, th/T(d))
	}
}

func rsqrt[T Float](x T) T { return T(1 / math.Sqrt(float64(x))) }

func oneIf[T Float](yes bool) T {
	if yes {
		return 1
	}
	return 0
}
