package kernel

import "math"

// Activations. f(y, x) computes y = f(x) and fGrad(dx, dy, x) computes dx = dy ⊙ f'(x), element by
// element over len(y) and len(dx) elements. y may be x; dx may be dy or x. σ is the logistic
// function. Any finite input gives a finite value and derivative. Where they share most of their work, fBoth(y, dx,
// dy, x) computes both, with the same bits; y may be x then, and dx may be dy.

// ReLU is max(x, 0).
func ReLU[T Float](y, x []T) {
	x = x[:len(y)]
	if mapped(mapReLU, y, x, nil, 0) {
		return
	}
	for i, v := range x {
		y[i] = max(v, 0)
	}
}

// ReLUGrad is the gradient of ReLU. The derivative at 0 is 0.
func ReLUGrad[T Float](dx, dy, x []T) {
	dy, x = dy[:len(dx)], x[:len(dx)]
	if mapped(mapReLUGrad, dx, dy, x, 0) {
		return
	}
	for i, v := range x {
		g := dy[i]
		if !(v > 0) {
			g = 0
		}
		dx[i] = g
	}
}

// ReLU2 is max(x, 0)² (So et al. 2021, arXiv:2109.08668).
func ReLU2[T Float](y, x []T) {
	x = x[:len(y)]
	if mapped(mapReLU2, y, x, nil, 0) {
		return
	}
	for i, v := range x {
		v = max(v, 0)
		y[i] = v * v
	}
}

// ReLU2Grad is the gradient of ReLU2: 2·max(x, 0).
func ReLU2Grad[T Float](dx, dy, x []T) {
	dy, x = dy[:len(dx)], x[:len(dx)]
	if mapped(mapReLU2Grad, dx, dy, x, 0) {
		return
	}
	for i, v := range x {
		dx[i] = 2 * max(v, 0) * dy[i]
	}
}

// Sigmoid is σ(x) = 1/(1 + exp(-x)).
func Sigmoid[T Float](y, x []T) {
	x = x[:len(y)]
	if mapped(mapSigmoid, y, x, nil, 0) {
		return
	}
	for i, v := range x {
		y[i] = T(sigmoid(float64(v)))
	}
}

// SigmoidGrad is the gradient of Sigmoid: σ(x)·σ(-x).
func SigmoidGrad[T Float](dx, dy, x []T) {
	dy, x = dy[:len(dx)], x[:len(dx)]
	if mapped(mapSigmoidGrad, dx, dy, x, 0) {
		return
	}
	for i, v := range x {
		dx[i] = dy[i] * T(sigmoid(float64(v))*sigmoid(-float64(v)))
	}
}

// Tanh is the hyperbolic tangent.
func Tanh[T Float](y, x []T) {
	x = x[:len(y)]
	if mapped(mapTanh, y, x, nil, 0) {
		return
	}
	for i, v := range x {
		y[i] = tanh(v)
	}
}

// TanhGrad is the gradient of Tanh: 1 - tanh².
func TanhGrad[T Float](dx, dy, x []T) {
	dy, x = dy[:len(dx)], x[:len(dx)]
	if mapped(mapTanhGrad, dx, dy, x, 0) {
		return
	}
	for i, v := range x {
		h := math.Tanh(float64(v))
		dx[i] = dy[i] * T((1-h)*(1+h))
	}
}

// SiLU is x·σ(x), also called Swish (Elfwing, Uchibe and Doya 2017, arXiv:1702.03118).
func SiLU[T Float](y, x []T) { scaledSiLU(y, x, 1) }

// SiLUGrad is the gradient of SiLU.
func SiLUGrad[T Float](dx, dy, x []T) { scaledSiLUGrad(dx, dy, x, 1) }

// SiLUBoth is SiLU and its gradient.
func SiLUBoth[T Float](y, dx, dy, x []T) { scaledSiLUBoth(y, dx, dy, x, 1) }

// GELUSigmoid is x·σ(1.702·x), the sigmoid approximation of GELU (Hendrycks and Gimpel 2016, arXiv:1606.08415).
func GELUSigmoid[T Float](y, x []T) { scaledSiLU(y, x, geluSigmoidSlope) }

// GELUSigmoidGrad is the gradient of GELUSigmoid.
func GELUSigmoidGrad[T Float](dx, dy, x []T) { scaledSiLUGrad(dx, dy, x, geluSigmoidSlope) }

// GELUSigmoidBoth is GELUSigmoid and its gradient.
func GELUSigmoidBoth[T Float](y, dx, dy, x []T) { scaledSiLUBoth(y, dx, dy, x, geluSigmoidSlope) }

const geluSigmoidSlope = 1.702

// scaledSiLU is x·σ(a·x).
func scaledSiLU[T Float](y, x []T, a float64) {
	x = x[:len(y)]
	if mapped(mapSiLU, y, x, nil, a) {
		return
	}
	for i, v := range x {
		u := float64(v)
		y[i] = T(u * sigmoid(a*u))
	}
}

// scaledSiLUGrad is dy·(s + a·x·s·(1-s)) with s = σ(a·x).
func scaledSiLUGrad[T Float](dx, dy, x []T, a float64) {
	dy, x = dy[:len(dx)], x[:len(dx)]
	if mapped(mapSiLUGrad, dx, dy, x, a) {
		return
	}
	for i, v := range x {
		u := a * float64(v)
		s := sigmoid(u)
		dx[i] = dy[i] * T(s+u*s*sigmoid(-u))
	}
}

func scaledSiLUBoth[T Float](y, dx, dy, x []T, a float64) {
	both(mapSiLUBoth, y, dx, dy, x, a,
		func(dx, dy, x []T) { scaledSiLUGrad(dx, dy, x, a) },
		func(y, x []T) { scaledSiLU(y, x, a) })
}

// both computes a function and its gradient in one pass, if there is assembly for m, or one after the other: the
// gradient first, since y may be x.
func both[T Float](m mapping, y, dx, dy, x []T, c float64, grad func(dx, dy, x []T), value func(y, x []T)) {
	dx, dy, x = dx[:len(y)], dy[:len(y)], x[:len(y)]
	if mappedBoth(m, y, dx, dy, x, c) {
		return
	}
	grad(dx, dy, x)
	value(y, x)
}

// Identity copies x: the gate of the bilinear layer (Shazeer 2020, arXiv:2002.05202).
func Identity[T Float](y, x []T) { copy(y, x[:len(y)]) }

// IdentityGrad copies dy. x is not read.
func IdentityGrad[T Float](dx, dy, x []T) { copy(dx, dy[:len(dx)]) }

// sigmoid never overflows: the argument of exp is not positive.
func sigmoid(x float64) float64 {
	e := math.Exp(-math.Abs(x))
	if x < 0 {
		return e / (1 + e)
	}
	return 1 / (1 + e)
}
