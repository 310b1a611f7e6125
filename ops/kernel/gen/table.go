package main

import (
	"math"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A function of |x| that is flat beyond a few units is fastest from a table of polynomials: with AVX-512 a
// register holds 16 coefficients and one instruction picks that of each lane. The slope of the polynomial is the
// derivative, so one look-up gives both. Twice as many pieces in two registers need a term less and are
// slower: with two registers the instruction competes with multiplications.
const (
	tableSize  = 16
	tableStep  = 25. / 64 // between the middles of two pieces: the table reaches to 5.7
	tableTerms = 7        // coefficients of a piece
	tableFirst = 18       // the first of the registers that hold a table; those below are temporaries
	tableGroup = 3        // vectors whose functions are computed together
)

// table is a function with its derivative, for x ≥ 0, and its polynomials once they are emitted.
type table struct {
	name string
	f    func(x float64) (value, slope float64)
	at   *operand.Mem
}

// emit writes the coefficients in powers of what x is above the middle of its piece, power by power, each [16]. A
// piece interpolates f' at Chebyshev nodes, with an error of max|f⁽⁷⁾|·0.195⁶/23040, and is f on their average. In the
// last piece, which stands for everything behind it, f counts as zero.
func (t *table) emit(v *vec) {
	m := v.c.StaticGlobal("table" + t.name)
	v.c.DataAttributes(attr.RODATA | attr.NOPTR)
	var pieces [tableSize][tableTerms]float64
	for piece := range tableSize - 1 {
		pieces[piece] = fit(func(r float64) (float64, float64) { return t.f(float64(piece)*tableStep + r) })
	}
	for power := range tableTerms {
		for piece := range pieces {
			v.c.AddDatum(4*(power*tableSize+piece), operand.F32(float32(pieces[piece][power])))
		}
	}
	t.at = &m
}

// fit returns the coefficients of the polynomial whose slope agrees with that of f at the Chebyshev nodes
// around 0, and that is f there on average.
func fit(f func(r float64) (value, slope float64)) (c [tableTerms]float64) {
	const n = tableTerms - 1
	var x, y, d [n]float64
	for i := range x {
		x[i] = math.Cos(math.Pi*(float64(i)+0.5)/n) * tableStep / 2
		y[i], d[i] = f(x[i])
	}
	for k, slope := range interpolate(x[:], d[:]) {
		c[k+1] = slope / float64(k+1)
	}
	for i := range x {
		p := 0.
		for k := n; k > 0; k-- {
			p = (p + c[k]) * x[i]
		}
		c[0] += (y[i] - p) / n
	}
	return c
}

// interpolate returns the coefficients of the polynomial that is y at x. It overwrites y.
func interpolate(x, y []float64) []float64 {
	n := len(x)
	for j := 1; j < n; j++ { // divided differences
		for i := n - 1; i >= j; i-- {
			y[i] = (y[i] - y[i-1]) / (x[i] - x[i-j])
		}
	}
	c := make([]float64, n)
	for i := n - 1; i >= 0; i-- { // Newton's form to powers: c = c·(r - x[i]) + y[i]
		for k := n - 1; k > 0; k-- {
			c[k] = c[k-1] - x[i]*c[k]
		}
		c[0] = y[i] - x[i]*c[0]
	}
	return c
}

// Constants of a look-up.
const (
	tableEnd   = (tableSize - 0.75) * tableStep
	tableWhole = 3 << 22 // numbers of this size are whole, and their last bits count
	absolute   = 0x7fffffff
	negative   = 0x80000000
)

// holdTable loads a table to its registers, and the constants of a look-up to those behind.
func (v *vec) holdTable(t *table) {
	if t.at == nil {
		t.emit(v)
	}
	for i := range tableTerms {
		v.c.VMOVUPS(t.at.Offset(64*i), v.regs[tableFirst+i])
	}
	v.hold(tableFirst+tableTerms-v.temporaries(), bits(absolute), tableEnd, 1./tableStep, tableStep, tableWhole, 1)
}

// lookUp computes q = f(|x|) from the table that is held, and unless it is nil slope = f'(|x|). It overwrites r,
// k and t.
func (v *vec) lookUp(x, r, k, t, q, slope group) {
	v.and(x, v.k(bits(absolute)), r)
	v.min(v.k(tableEnd), r, r)
	v.mov(r, k)
	v.mulAdd(v.k(1./tableStep), v.k(tableWhole), k)
	v.sub(k, v.k(tableWhole), t)
	v.subMul(t, v.k(tableStep), r) // what |x| is above the middle of its piece
	v.coefficient(tableTerms-1, k, q)
	for power := tableTerms - 2; power >= 0; power-- {
		switch {
		case slope == nil:
		case power == tableTerms-2:
			v.mov(q, slope)
		default:
			v.mulAdd(r, q, slope)
		}
		v.coefficient(power, k, t)
		v.mulAdd(r, t, q)
	}
}

// coefficient picks that of a power for the pieces k.
func (v *vec) coefficient(power int, k, d group) {
	two(func(k, d operand.Op) { v.c.VPERMPS(v.regs[tableFirst+power], k, d) }, k, d)
}

// upper is q = 1 - q where x is not negative: what multiplies x in a form of GELU.
func (v *vec) upper(x, q group) {
	one := v.k(1)
	for u := range q {
		v.c.VPMOVD2M(x[u], reg.K2)
		v.c.KNOTW(reg.K2, reg.K2)
		v.c.VSUBPS(q[u], one[u], reg.K2, q[u])
	}
}

// fromTable is x·q(x), with 1 - q looked up for |x|.
func fromTable(v *vec, e *elements, x, d group) {
	v.lookUp(x, v.at(2), v.at(3), v.at(4), d, nil)
	v.upper(x, d)
	v.mul(d, x, d)
}

// gradFromTable is the derivative of such a form, q(x) + x·q'(x), where q' is even.
func gradFromTable(v *vec, e *elements, x, d group) {
	slope := v.at(5)
	v.lookUp(x, v.at(2), v.at(3), v.at(4), d, slope)
	v.upper(x, d)
	v.subMul(x, slope, d)
}

// bothFromTable is both.
func bothFromTable(v *vec, e *elements, x, y, slope group) {
	derivative := v.at(2)
	v.lookUp(x, derivative, v.at(3), v.at(4), y, slope)
	v.upper(x, y)
	v.mov(y, derivative)
	v.subMul(x, slope, derivative)
	v.mov(derivative, slope)
	v.mul(y, x, y)
}

// What the two forms of GELU look up: one less the function that multiplies x.
var (
	geluTail = table{name: "GELU", f: func(a float64) (value, slope float64) {
		return math.Erfc(a/math.Sqrt2) / 2, -math.Exp(-a*a/2) / math.Sqrt(2*math.Pi)
	}}
	geluTanhTail = table{name: "GELUTanh", f: func(a float64) (value, slope float64) {
		q := 1 / (1 + math.Exp(a*(geluLinear+geluCubic*a*a)))
		return q, -q * (1 - q) * (geluLinear + 3*geluCubic*a*a)
	}}
)
