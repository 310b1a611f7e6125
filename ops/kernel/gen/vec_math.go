package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
)

// Functions of groups of vectors. Errors are below two units in the last place, plus, for exp, what the
// rounding of log₂ e makes of large arguments: |x|·2⁻²⁶.

const log2e = 1.44269504088896341

// powerPoly are the coefficients of (2^r - 1)/r for |r| ≤ 1/2, highest power first. The relative error of
// 2^r is below 1e-7, equal at its extremes (found by iterated weighted least squares).
var powerPoly = []float32{0.001326472705, 0.009671512649, 0.05550733744, 0.2402224209, 0.6931469776}

// expConstants are what exp reads, for hold.
func (v *vec) expConstants() []float32 {
	return append([]float32{log2e, v.expLow(), 1}, powerPoly...)
}

// expLow is where exp becomes zero. AVX-512 scales by any power of two, through the denormal
// numbers to zero. AVX2 stops at the smallest normal number.
func (v *vec) expLow() float32 {
	if v.wide() {
		return -150
	}
	return -87.3
}

// expHigh is where exp becomes infinite.
const expHigh = 89

// exp computes y = exp(x) and overwrites x and n. x may be minus infinity, which gives zero, or NaN.
// With bounded, large x give infinity; without, x must be below 88.
func (v *vec) exp(x, n, y group, bounded bool) {
	if bounded {
		v.min(v.k(expHigh), x, x)
	}
	v.expReduced(x, n, y)
	v.mulAdd(x, v.k(1), y)
	v.scaleBy(x, n, y)
}

// exp2 computes y = 2^x and overwrites x and n. x must be below 127; minus infinity gives zero.
func (v *vec) exp2(x, n, y group) {
	v.max(v.k(v.expLow()*log2e), x, x)
	v.round(x, n)
	v.sub(x, n, x)
	v.mov(v.k(powerPoly[0]), y)
	for _, c := range append(powerPoly[1:], 1) {
		v.mulAdd(x, v.k(c), y)
	}
	v.scaleBy(x, n, y)
}

// expReduced splits x·log₂ e into n + r, |r| ≤ 1/2, leaves r in x and computes y = (2^r - 1)/r.
func (v *vec) expReduced(x, n, y group) {
	v.max(v.k(v.expLow()), x, x)
	v.mul(x, v.k(log2e), n)
	v.round(n, n)
	v.mulSub(v.k(log2e), n, x)
	v.mov(v.k(powerPoly[0]), y)
	for _, c := range powerPoly[1:] {
		v.mulAdd(x, v.k(c), y)
	}
}

// scaleBy computes y = y·2ⁿ. It overwrites n and t. AVX2 makes the power from its bits; the least
// one, 2⁻¹²⁶, stands for zero.
func (v *vec) scaleBy(t, n, y group) {
	if v.wide() {
		three(func(n, y, d operand.Op) { v.c.VSCALEFPS(n, y, d) }, n, y, y)
		return
	}
	v.powerOfTwo(n, t)
	v.mul(y, t, y)
}

// powerOfTwo computes p = 2ⁿ for integers n from -126 to 128; -126 and less give zero with AVX2.
func (v *vec) powerOfTwo(n, p group) {
	if v.wide() {
		v.mov(v.k(1), p)
		three(func(n, y, d operand.Op) { v.c.VSCALEFPS(n, y, d) }, n, p, p)
		return
	}
	v.add(n, v.k(127), n)
	two(func(a, d operand.Op) { v.c.VCVTPS2DQ(a, d) }, n, p)
	two(func(a, d operand.Op) { v.c.VPSLLD(operand.Imm(23), a, d) }, p, p)
	one := v.k(1)
	for u := range n { // n + 127 is 1 where x was below the range
		v.c.VCMPPS(operand.Imm(greater), one[u], n[u], n[u])
		v.c.VANDPS(n[u], p[u], p[u])
	}
}

// sigmoid computes t = exp(-u) and s = 1/(1 + t). It overwrites n and keeps u. t may be infinite.
func (v *vec) sigmoid(u, n, t, s group) {
	v.xor(u, v.k(bits(negative)), s)
	v.exp(s, n, t, true)
	v.add(t, v.k(1), s)
	v.mov(v.k(1), n)
	v.div(n, s, s)
}

// clamp bounds x by ±limit. NaN stays NaN: the instructions return their second operand then.
func (v *vec) clamp(x group, limit float32) {
	v.min(v.k(limit), x, x)
	v.max(v.k(-limit), x, x)
}

// tanh computes h = tanh(x) = e/(e + 2) with e = exp(2x) - 1, which keeps the digits of small x. It
// overwrites x, n and t.
func (v *vec) tanh(x, n, t, h group) {
	const flat = 40 // of 2x: tanh is 1 to the last bit
	v.add(x, x, x)
	v.clamp(x, flat)
	v.expReduced(x, n, h)
	v.mul(h, x, h)
	v.powerOfTwo(n, t)
	v.sub(t, v.k(1), x)
	v.mulAdd(t, x, h)
	v.add(h, v.k(2), t)
	v.div(h, t, h)
}

// millsPoly are the coefficients of Φ(-a)·exp(a²/2) = t·(c0 + c1·t + …), t = 1/(1 + millsScale·a), a ≥ 0,
// Φ the normal distribution function. They interpolate at Chebyshev nodes; times exp(-a²/2)·max(a, 1)
// the error is below 6e-8.
const millsScale = 0.31

var millsPoly = []float32{0.123671565, 0.123741777, 0.110296312, 0.100322181, 0.0056910917, 0.131057586, -0.127023041, 0.0322425416}

// tail computes e = exp(-x²/2), q = Φ(-|x|) and a = |x|. It overwrites n and keeps x.
func (v *vec) tail(x, a, n, e, q group) {
	v.mul(x, v.k(-0.5*log2e), a)
	v.mul(a, x, a)
	v.exp2(a, n, e)
	v.and(x, v.k(bits(absolute)), a)
	v.mov(v.k(1), q)
	v.addMul(a, v.k(millsScale), q)
	v.mov(v.k(1), n)
	v.div(n, q, n)
	last := len(millsPoly) - 1
	v.mov(v.k(millsPoly[last]), q)
	for i := last - 1; i >= 0; i-- {
		v.mulAdd(n, v.k(millsPoly[i]), q)
	}
	v.mul(q, n, q)
	v.mul(q, e, q)
}

// logPoly are the coefficients of (log(1 + f) - f + f²/2)/f³ for 1/√2 ≤ 1 + f < √2, highest power first:
// those of logf in the Cephes library (S. Moshier).
var logPoly = []float32{7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
	-1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1}

// ln 2 in two parts; a multiple of the first is exact.
const (
	ln2High = 0.693359375
	ln2Low  = -2.12194440e-4
)

// log computes y = log(x) for normal positive x. It overwrites x, e and f.
func (v *vec) log(x, e, f, y group) {
	rootHalf := math.Float32frombits(0x3f3504f3) // 1/√2: the mantissa is taken from [1/√2, √2)
	three(func(a, b, d operand.Op) { v.c.VPSUBD(b, a, d) }, x, v.k(rootHalf), x)
	two(func(a, d operand.Op) { v.c.VPSRAD(operand.Imm(23), a, d) }, x, e)
	two(func(a, d operand.Op) { v.c.VCVTDQ2PS(a, d) }, e, e)
	v.and(x, v.k(bits(0x007fffff)), f)
	three(func(a, b, d operand.Op) { v.c.VPADDD(b, a, d) }, f, v.k(rootHalf), f)
	v.sub(f, v.k(1), f)
	v.mul(f, f, x)
	v.mov(v.k(logPoly[0]), y)
	for _, c := range logPoly[1:] {
		v.mulAdd(f, v.k(c), y)
	}
	v.mul(y, f, y)
	v.mul(y, x, y)
	v.addMul(e, v.k(ln2Low), y)
	v.addMul(x, v.k(-0.5), y)
	v.add(y, f, y)
	v.addMul(e, v.k(ln2High), y)
}
