package main

import (
	"math"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
)

// A function of |x| that is flat beyond a few units is fastest from a table of polynomials: with
// AVX-512 two registers hold 32 coefficients and one instruction picks 16 of them. Compared with an
// exponential and a division, GELU takes half the time.
const (
	tableSize  = 32
	tableScale = 5 // pieces in a unit: the table reaches to 6.4
	tableTerms = 5 // coefficients of a piece
)

// tableOf emits the coefficients of f in r, x = (piece + r)/tableScale, power by power, each [32]. A
// piece interpolates f at Chebyshev nodes: with five terms the error is max|f⁽⁵⁾|·0.1⁵/1920. In the last piece,
// which stands for everything behind it, f is taken to be zero.
func (v *vec) tableOf(name string, f func(float64) float64) operand.Mem {
	m := v.c.StaticGlobal("table" + name)
	v.c.DataAttributes(attr.RODATA | attr.NOPTR)
	var pieces [tableSize][tableTerms]float64
	for piece := range tableSize - 1 {
		pieces[piece] = interpolate(func(r float64) float64 { return f((float64(piece) + r) / tableScale) })
	}
	for power := range tableTerms {
		for piece := range pieces {
			v.c.AddDatum(4*(power*tableSize+piece), operand.F32(float32(pieces[piece][power])))
		}
	}
	return m
}

// interpolate returns the coefficients of the polynomial that agrees with f at the Chebyshev nodes of [0, 1].
func interpolate(f func(float64) float64) (c [tableTerms]float64) {
	var x, d [tableTerms]float64
	for i := range x {
		x[i] = (1 + math.Cos(math.Pi*(float64(i)+0.5)/tableTerms)) / 2
		d[i] = f(x[i])
	}
	for j := 1; j < tableTerms; j++ { // divided differences
		for i := tableTerms - 1; i >= j; i-- {
			d[i] = (d[i] - d[i-1]) / (x[i] - x[i-j])
		}
	}
	for i := tableTerms - 1; i >= 0; i-- { // Newton's form to powers: c = c·(r - x[i]) + d[i]
		for k := tableTerms - 1; k > 0; k-- {
			c[k] = c[k-1] - x[i]*c[k]
		}
		c[0] = d[i] - x[i]*c[0]
	}
	return c
}

// holdTable loads a table to the registers of constants.
func (v *vec) holdTable(m operand.Mem) {
	first := v.temporaries()
	for i := range 2 * tableTerms {
		v.c.VMOVUPS(m.Offset(64*i), v.regs[first+i])
	}
}

// lookUp computes q = f(|x|) from the table that is held. It overwrites r, k and t.
func (v *vec) lookUp(x, r, k, t, q group) {
	const end = (tableSize - 0.5) / tableScale
	v.and(x, v.k(bits(0x7fffffff)), r)
	v.min(v.k(end), r, r)
	v.mul(r, v.k(tableScale), r)
	two(func(a, d operand.Op) { v.c.VCVTTPS2DQ(a, d) }, r, k)
	two(func(a, d operand.Op) { v.c.VREDUCEPS(operand.Imm(reduceFloor), a, d) }, r, r)
	v.coefficient(tableTerms-1, k, q)
	for power := tableTerms - 2; power >= 0; power-- {
		v.coefficient(power, k, t)
		v.mulAdd(r, t, q)
	}
}

// reduceFloor asks for what a number is above its floor, without exceptions.
const reduceFloor = 9

// coefficient picks that of a power of r for the pieces k.
func (v *vec) coefficient(power int, k, d group) {
	lower := v.temporaries() + 2*power
	v.mov(k, d)
	for _, u := range d {
		v.c.VPERMI2PS(v.regs[lower+1], v.regs[lower], u)
	}
}

// fromTable is a form of GELU, max(x, 0) - |x|·q, with q looked up for |x|.
func fromTable(v *vec, e *elements, x, d group) {
	a, positive := v.at(2), v.at(4)
	v.lookUp(x, a, v.at(3), v.at(4), d)
	v.and(x, v.k(bits(0x7fffffff)), a)
	v.max(v.k(0), x, positive)
	v.subMul(a, d, positive)
	v.mov(positive, d)
}

// gradFromTable is the derivative of such a form, 1/2 ± (1/2 - q) by the sign of x.
func gradFromTable(v *vec, e *elements, x, d group) {
	sign, half := v.at(2), v.at(4)
	v.lookUp(x, sign, v.at(3), v.at(4), d)
	v.and(x, v.k(bits(0x80000000)), sign)
	v.mov(v.k(0.5), half)
	v.sub(half, d, d)
	v.xor(d, sign, d)
	v.add(d, half, d)
}

// What the two forms of GELU look up: one less the function that multiplies x, and one less the
// derivative, for a ≥ 0.
func geluTail(a float64) float64 { return math.Erfc(a/math.Sqrt2) / 2 }
func geluGradTail(a float64) float64 {
	return geluTail(a) - a*math.Exp(-a*a/2)/math.Sqrt(2*math.Pi)
}

func geluTanhTail(a float64) float64 { return 1 / (1 + math.Exp(a*(geluLinear+geluCubic*a*a))) }
func geluTanhGradTail(a float64) float64 {
	q := geluTanhTail(a)
	return q - a*q*(1-q)*(geluLinear+3*geluCubic*a*a)
}
