package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Several rows abreast: a group is then one vector of each row instead of consecutive vectors of one. Sums of
// lanes, which cost a short row as much as its arithmetic, are had for all rows together, and what is
// done for one row waits for nothing that is done for another. A row's sums are the same bits as by itself.

// columnsOf are the places in the rows of a group, in bytes from the first row's begin.
var columnsOf = [4]reg.GPPhysical{column, reg.RCX, reg.R11, rowTmp}

// anyLength is the longest that abreast takes for all rows.
const anyLength = 1<<31 - 1

// abreast emits the loop over rows: as many at once as a vector has parts of 128 bits, then single
// ones, which all are that have more than longest columns. body leaves the row pointers, which may be nil, where
// they are.
func (v *vec) abreast(longest int, body func(), advance ...reg.GPPhysical) {
	c := v.c
	most := v.bytes / 16
	loop, rest, end := v.label("rows"), v.label("rest"), v.label("end")
	next := func() {
		body()
		for _, p := range advance {
			v.unlessNil(p, func() { v.nextRows(p) })
		}
	}
	v.group = most
	if longest < anyLength {
		c.CMPQ(at(rowArgs, rowD), operand.U32(longest))
		c.JG(operand.LabelRef("row"))
	}
	c.SUBQ(operand.I32(most), rowsLeft)
	c.JL(operand.LabelRef(rest))
	c.Label(loop)
	next()
	c.SUBQ(operand.I32(most), rowsLeft)
	c.JGE(operand.LabelRef(loop))
	c.Label(rest)
	c.ADDQ(operand.I32(most), rowsLeft)
	c.JZ(operand.LabelRef(end))
	v.group = 1
	c.Label("row")
	next()
	c.DECQ(rowsLeft)
	c.JNZ(operand.LabelRef("row"))
	c.Label(end)
	c.VZEROUPPER()
	c.RET()
}

// nextRows moves a pointer behind the rows of a group.
func (v *vec) nextRows(p reg.GPPhysical) {
	v.c.IMUL3Q(operand.U8(4*v.group), at(rowArgs, rowD), rowTmp)
	v.c.ADDQ(rowTmp, p)
}

// columnsAbreast emits a loop over the columns of the rows of a group: a vector of each, then a masked one.
func (v *vec) columnsAbreast(body func(masked bool)) {
	c, places := v.c, columnsOf[:v.group]
	c.MOVQ(at(rowArgs, rowD), colsLeft)
	c.XORQ(column, column)
	for u := 1; u < len(places); u++ {
		c.LEAQ(operand.Mem{Base: places[u-1], Index: colsLeft, Scale: 4}, places[u])
	}
	c.SUBQ(operand.I32(v.lanes()), colsLeft)
	v.byVector(body, func() {
		for _, r := range places {
			c.ADDQ(operand.I32(v.bytes), r)
		}
	})
}

// abreastIn is the current vector of each row of the group, of which p points to the first.
func (v *vec) abreastIn(p reg.Register) group {
	g := make(group, v.group)
	for u := range g {
		g[u] = operand.Mem{Base: p, Index: columnsOf[u], Scale: 1}
	}
	return g
}

// along is the current vector of the row vector at p.
func (v *vec) along(p reg.Register) group {
	return group{operand.Mem{Base: p, Index: column, Scale: 1}}
}

// foldRows sums the lanes of the vectors of g. In the result, the first of them, 128 bits number u are the
// sum of vector u; a single vector gets its own everywhere. Sums are taken as in fold. The others and t
// are overwritten.
func (v *vec) foldRows(g group, t reg.VecPhysical) reg.VecPhysical {
	first, c := g[0].(reg.VecPhysical), v.c
	switch len(g) {
	case 1:
		v.fold(v.add, first, t)
		return first
	case 2:
		c.VPERM2F128(operand.Imm(0x20), g[1], g[0], t)
		c.VPERM2F128(operand.Imm(0x31), g[1], g[0], first)
		c.VADDPS(t, first, first)
	case 4:
		halves := func(a, b, d operand.Op, low, high uint64) {
			c.VSHUFF32X4(operand.Imm(low), b, a, t)
			c.VSHUFF32X4(operand.Imm(high), b, a, d)
			c.VADDPS(t, d, d)
		}
		halves(g[0], g[1], g[0], 0x44, 0xee)
		halves(g[2], g[3], g[2], 0x44, 0xee)
		halves(g[0], g[2], g[0], 0x88, 0xdd)
	}
	v.foldQuarters(v.add, first, t)
	return first
}

// spread copies 128 bits number u of s to all of vector u.
func (v *vec) spread(s reg.VecPhysical, d group) {
	for u, r := range d {
		switch len(d) {
		case 1:
			v.c.VMOVAPS(s, r)
		case 2:
			v.c.VPERM2F128(operand.Imm(uint64(u*0x11)), s, s, r)
		case 4:
			v.c.VSHUFF32X4(operand.Imm(uint64(u*0x55)), s, s, r)
		}
	}
}
