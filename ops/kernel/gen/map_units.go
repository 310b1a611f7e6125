package main

// The formulas of activations and their derivatives. x, and y or d for the result, are groups 1 and 0; 2 to 4 are free.

// sigmoidGrad is t·s² with t = exp(-|x|), which cannot overflow.
func sigmoidGrad(v *vec, e *elements, x, d group) {
	v.and(x, v.k(bits(absolute)), x)
	v.sigmoid(x, v.at(2), v.at(3), d)
	v.mul(v.at(3), d, v.at(3))
	v.mul(v.at(3), d, d)
}

// tanhGrad is (1 - h)·(1 + h) with h = tanh(x).
func tanhGrad(v *vec, e *elements, x, d group) {
	v.tanh(x, v.at(2), v.at(3), d)
	v.mov(v.k(1), x)
	v.sub(x, d, v.at(2))
	v.add(x, d, d)
	v.mul(d, v.at(2), d)
}

// timesSigmoid is x·σ(u).
func timesSigmoid(v *vec, x, u, d group) {
	v.sigmoid(u, v.at(2), v.at(3), d)
	v.mul(d, x, d)
}

// timesSigmoidSlope makes of t = exp(-u) and s = σ(u) the derivative s + w·s·(1 - s), in the form s·(1 + w·(t·s)), which
// keeps the digits of 1 - s. t may be infinite, w not. It overwrites t.
func timesSigmoidSlope(v *vec, w, t, s group) {
	v.min(v.k(-lowest), t, t)
	v.mul(t, s, t)
	v.mul(t, w, t)
	v.add(t, v.k(1), t)
	v.mul(s, t, s)
}

// far bounds what multiplies a slope that is zero.
const far = 60

// siluGrad is the derivative of x·σ(c·x).
func siluGrad(v *vec, e *elements, x, d group) {
	v.mul(x, e.c, x)
	v.sigmoid(x, v.at(2), v.at(3), d)
	v.clamp(x, far)
	timesSigmoidSlope(v, x, v.at(3), d)
}

// siluBoth is silu and its derivative.
func siluBoth(v *vec, e *elements, x, y, slope group) {
	u, t := v.at(4), v.at(3)
	v.mul(x, e.c, u)
	v.sigmoid(u, v.at(2), t, y)
	v.mov(y, slope)
	v.mul(y, x, y)
	v.clamp(u, far)
	timesSigmoidSlope(v, u, t, slope)
}

// Coefficients of GELUTanh, as in the Go code.
const (
	geluLinear = 1.5957691216057308
	geluCubic  = 0.07135481282553954
)

// geluTanh is x·σ(2u), 2u = x·(geluLinear + geluCubic·x²).
func geluTanh(v *vec, e *elements, x, d group) {
	v.geluTanhArgument(x, v.at(4))
	timesSigmoid(v, x, v.at(4), d)
}

// geluTanhArgument is u = x·(geluLinear + geluCubic·x²). It overwrites group 2.
func (v *vec) geluTanhArgument(x, u group) {
	v.mul(x, x, v.at(2))
	v.mov(v.k(geluLinear), u)
	v.addMul(v.at(2), v.k(geluCubic), u)
	v.mul(u, x, u)
}

// geluTanhGrad is the derivative of geluTanh.
func geluTanhGrad(v *vec, e *elements, x, d group) {
	v.geluTanhArgument(x, v.at(4))
	v.sigmoid(v.at(4), v.at(2), v.at(3), d)
	v.geluTanhSlope(x, v.at(3), d)
}

// geluTanhBoth is both.
func geluTanhBoth(v *vec, e *elements, x, y, slope group) {
	u, t := v.at(4), v.at(3)
	v.geluTanhArgument(x, u)
	v.sigmoid(u, v.at(2), t, y)
	v.mov(y, slope)
	v.mul(y, x, y)
	v.geluTanhSlope(x, t, slope)
}

// geluTanhSlope makes of t = exp(-2u) and s = σ(2u) the derivative s + x·s·(1 - s)·2u', 2u' = geluLinear +
// 3·geluCubic·x². Beyond ±8 it is 0 or 1. It overwrites x, t and group 4.
func (v *vec) geluTanhSlope(x, t, s group) {
	w := v.at(4)
	v.clamp(x, 8)
	v.mul(x, x, w)
	v.mul(w, v.k(3*geluCubic), w)
	v.add(w, v.k(geluLinear), w)
	v.mul(w, x, w)
	timesSigmoidSlope(v, w, t, s)
}

// gelu is max(x, 0) - |x|·Φ(-|x|).
func gelu(v *vec, e *elements, x, d group) {
	v.tail(x, v.at(2), v.at(3), v.at(4), d)
	v.geluOfTail(x, v.at(2), d)
}

// geluOfTail makes of a = |x| and q = Φ(-a) the value. It overwrites group 3.
func (v *vec) geluOfTail(x, a, q group) {
	y := v.at(3)
	v.max(v.k(0), x, y)
	v.subMul(a, q, y)
	v.mov(y, q)
}

// geluGrad is the derivative of gelu.
func geluGrad(v *vec, e *elements, x, d group) {
	v.tail(x, v.at(2), v.at(3), v.at(4), d)
	v.geluSlope(x, v.at(4), d)
}

// geluBoth is both.
func geluBoth(v *vec, e *elements, x, y, slope group) {
	a, density := v.at(2), v.at(4)
	v.tail(x, a, v.at(3), density, y)
	v.mov(y, slope)
	v.geluOfTail(x, a, y)
	v.geluSlope(x, density, slope)
}

// geluSlope makes of exp(-x²/2) and q = Φ(-|x|) the derivative Φ(x) + x·φ(x), with Φ(x) = 1/2 ± (1/2 - q) by the sign
// of x. It overwrites density and group 3.
func (v *vec) geluSlope(x, density, q group) {
	const invSqrt2Pi = 0.39894228040143267794
	sign := v.at(3)
	v.mul(density, x, density)
	v.and(x, v.k(bits(negative)), sign)
	half := v.k(0.5)
	v.sub(half, q, q)
	v.xor(q, sign, q)
	v.add(q, half, q)
	v.addMul(density, v.k(invSqrt2Pi), q)
}
