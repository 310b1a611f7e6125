package kernel

import "math"

// GELU is x·Φ(x) = x/2·(1 + erf(x/√2)), Φ the normal distribution function (Hendrycks and Gimpel 2016,
// arXiv:1606.08415).
func GELU[T Float](y, x []T) {
	x = x[:len(y)]
	if mapped(mapGELU, y, x, nil, 0) {
		return
	}
	for i, v := range x {
		u := float64(v)
		y[i] = T(u * normalCDF(u))
	}
}

// GELUGrad is the gradient of GELU: Φ(x) + x·φ(x), φ the normal density.
func GELUGrad[T Float](dx, dy, x []T) {
	dy, x = dy[:len(dx)], x[:len(dx)]
	if mapped(mapGELUGrad, dx, dy, x, 0) {
		return
	}
	for i, v := range x {
		u := float64(v)
		dx[i] = dy[i] * T(normalCDF(u)+u*math.Exp(-u*u/2)*invSqrt2Pi)
	}
}

// GELUBoth is GELU and its gradient.
func GELUBoth[T Float](y, dx, dy, x []T) {
	both(mapGELUBoth, y, dx, dy, x, 0, GELUGrad[T], GELU[T])
}

const invSqrt2Pi = 1 / (math.Sqrt2 * 1.77245385090551602729816748334114518) // 1/√(2π); the second factor is √π

// normalCDF uses the complement, so that small values keep their digits.
func normalCDF(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

// The tanh approximation of GELU, in the form x·σ(2u) with u = √(2/π)·(x + 0.044715·x³).
const (
	geluLinear = 4 * invSqrt2Pi          // 2·√(2/π)
	geluCubic  = geluLinear * 0.04471500 // the coefficient of x³ in 2u
	geluFlat   = 30                      // beyond ±geluFlat the sigmoid is 0 or 1 in float64: 2u > 1900
)

// GELUTanh is x/2·(1 + tanh(√(2/π)·(x + 0.044715·x³))) (Hendrycks and Gimpel 2016, arXiv:1606.08415).
func GELUTanh[T Float](y, x []T) {
	x = x[:len(y)]
	if mapped(mapGELUTanh, y, x, nil, 0) {
		return
	}
	for i, v := range x {
		u := float64(v)
		c := min(max(u, -geluFlat), geluFlat)
		y[i] = T(u * sigmoid(c*(geluLinear+geluCubic*c*c)))
	}
}

// GELUTanhGrad is the gradient of GELUTanh: s + x·s·(1-s)·2u' with s = σ(2u).
func GELUTanhGrad[T Float](dx, dy, x []T) {
	dy, x = dy[:len(dx)], x[:len(dx)]
	if mapped(mapGELUTanhGrad, dx, dy, x, 0) {
		return
	}
	for i, v := range x {
		c := min(max(float64(v), -geluFlat), geluFlat)
		u := c * (geluLinear + geluCubic*c*c)
		s := sigmoid(u)
		dx[i] = dy[i] * T(s+c*s*sigmoid(-u)*(geluLinear+3*geluCubic*c*c))
	}
}

// GELUTanhBoth is GELUTanh and its gradient.
func GELUTanhBoth[T Float](y, dx, dy, x []T) {
	both(mapGELUTanhBoth, y, dx, dy, x, 0, GELUTanhGrad[T], GELUTanh[T])
}
