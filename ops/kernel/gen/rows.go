package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Byte offsets of the fields of the Go type rowArgs.
const (
	rowRows = 8 * iota
	rowD
	rowY
	rowX
	rowDY
	rowW
	rowB
	rowDW
	rowDB
	rowAddend
	rowMean
	rowRstd
	rowLdX
	rowLdDY
	rowFactor
)

// The last four fields are float32.
const (
	rowOne      = rowFactor + 4
	rowEps      = rowFactor + 8
	rowMeanFrac = rowFactor + 12
)

// Registers of the functions of rows: pointers to the current row, pointers to row vectors, and
// the place in the row.
var (
	rowArgs                  = reg.R15
	ptrY, ptrX, ptrDY, ptrAd = reg.RDI, reg.RSI, reg.RDX, reg.R10
	ptrW, ptrB, ptrDW, ptrDB = reg.RBX, reg.R9, reg.R8, reg.R9 // no function has both b and db
	rowsLeft, colsLeft       = reg.R12, reg.R13
	column                   = reg.RAX // in bytes
	rowTmp                   = reg.R14
)

// in is a group of vectors at the current column of the row at p.
func (v *vec) in(p reg.Register) group {
	g := make(group, v.group)
	for u := range g {
		g[u] = operand.Mem{Base: p, Index: column, Scale: 1, Disp: u * v.bytes}
	}
	return g
}

// rowMask prepares the mask of the last vector of rows of d columns: d mod lanes of them.
func (v *vec) rowMask() {
	v.c.MOVQ(at(rowArgs, rowD), reg.RCX)
	v.c.ANDQ(operand.I32(v.lanes()-1), reg.RCX)
	v.maskFor(reg.RCX, rowTmp)
}

// columns emits a loop over one row: groups of n vectors, then single vectors, then a masked one.
func (v *vec) columns(n int, body func(masked bool)) {
	c := v.c
	loop, rest := v.label("cols"), v.label("rest")
	pass := func(vectors int, masked bool) {
		v.group = vectors
		body(masked)
		v.group = n
	}
	c.XORQ(column, column)
	c.MOVQ(at(rowArgs, rowD), colsLeft)
	c.SUBQ(operand.I32(n*v.lanes()), colsLeft)
	c.JL(operand.LabelRef(rest))
	c.Label(loop)
	pass(n, false)
	c.ADDQ(operand.I32(n*v.bytes), column)
	c.SUBQ(operand.I32(n*v.lanes()), colsLeft)
	c.JGE(operand.LabelRef(loop))
	c.Label(rest)
	c.ADDQ(operand.I32((n-1)*v.lanes()), colsLeft)
	v.byVector(func(masked bool) { pass(1, masked) }, func() { c.ADDQ(operand.I32(v.bytes), column) })
}

// byVector emits a loop over what is left of the columns: vector by vector, then a masked one. colsLeft is their
// number less that of a vector, and what the flags are of.
func (v *vec) byVector(body func(masked bool), advance func()) {
	c := v.c
	one, tail, end := v.label("one"), v.label("tail"), v.label("end")
	c.JL(operand.LabelRef(tail))
	c.Label(one)
	body(false)
	advance()
	c.SUBQ(operand.I32(v.lanes()), colsLeft)
	c.JGE(operand.LabelRef(one))
	c.Label(tail)
	c.ADDQ(operand.I32(v.lanes()), colsLeft)
	c.JZ(operand.LabelRef(end))
	body(true)
	c.Label(end)
}

// fold combines the lanes of a; every lane gets the result. t is overwritten.
func (v *vec) fold(op func(a, b, d group), a, t reg.VecPhysical) {
	ga, gt := group{a}, group{t}
	if v.wide() {
		v.c.VSHUFF32X4(operand.Imm(0x4e), a, a, t)
		op(ga, gt, ga)
		v.c.VSHUFF32X4(operand.Imm(0xb1), a, a, t)
	} else {
		v.c.VPERM2F128(operand.Imm(0x01), a, a, t)
	}
	op(ga, gt, ga)
	v.foldQuarters(op, a, t)
}

// foldQuarters combines the four lanes of every 128 bits of a; each of them gets the result.
func (v *vec) foldQuarters(op func(a, b, d group), a, t reg.VecPhysical) {
	for _, swap := range []uint64{0x4e, 0xb1} { // two lanes apart, then neighbours
		v.c.VPERMILPS(operand.Imm(swap), a, t)
		op(group{a}, group{t}, group{a})
	}
}

// foldGroup combines all lanes of all vectors of a group: the result is in every lane of the first.
func (v *vec) foldGroup(op func(a, b, d group), g group, t reg.VecPhysical) reg.VecPhysical {
	for n := len(g) / 2; n > 0; n /= 2 {
		op(g[:n], g[n:2*n], g[:n])
	}
	first := g[0].(reg.VecPhysical)
	v.fold(op, first, t)
	return first
}

// nextRow moves a pointer to the next row.
func (v *vec) nextRow(p reg.GPPhysical) {
	v.c.MOVQ(at(rowArgs, rowD), rowTmp)
	v.c.LEAQ(operand.Mem{Base: p, Index: rowTmp, Scale: 4}, p)
}

// unlessNil emits f, skipped at run time when p is nil.
func (v *vec) unlessNil(p reg.Register, f func()) {
	skip := v.label("skip")
	v.c.TESTQ(p, p)
	v.c.JZ(operand.LabelRef(skip))
	f()
	v.c.Label(skip)
}

// clear zeroes a group.
func (v *vec) clear(g group) {
	for _, r := range g {
		v.zero(r.(reg.VecPhysical))
	}
}

// eachRow emits the loop over rows; body leaves the row pointers where they are. Pointers that are
// nil must stay so.
func (v *vec) eachRow(body func(), advance ...reg.GPPhysical) {
	c := v.c
	c.Label("row")
	body()
	for _, p := range advance {
		v.nextRow(p)
	}
	c.DECQ(rowsLeft)
	c.JNZ(operand.LabelRef("row"))
	c.VZEROUPPER()
	c.RET()
}

// loadRows fetches the arguments that a function of rows uses.
func (v *vec) loadRows(fields map[int]reg.GPPhysical, order ...int) {
	v.c.Load(v.c.Param("args"), rowArgs)
	v.rowMask()
	v.c.MOVQ(at(rowArgs, rowRows), rowsLeft)
	for _, f := range order {
		v.c.MOVQ(at(rowArgs, f), fields[f])
	}
}

var rowPointers = map[int]reg.GPPhysical{rowY: ptrY, rowX: ptrX, rowDY: ptrDY, rowW: ptrW, rowB: ptrB, rowDW: ptrDW, rowDB: ptrDB, rowAddend: ptrAd}

// statistic stores a number to the row's place in a vector, and moves on.
func (v *vec) statistic(field int, r reg.VecPhysical) {
	v.c.MOVQ(at(rowArgs, field), rowTmp)
	v.c.VMOVSS(xmmOf(r), at(rowTmp, 0))
	v.c.ADDQ(operand.Imm(4), at(rowArgs, field))
}
