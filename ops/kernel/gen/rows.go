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
	ptrW, ptrB, ptrDW, ptrDB = reg.RBX, reg.R11, reg.R8, reg.R9
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
	loop, rest, one, tail, end := v.label("cols"), v.label("rest"), v.label("one"), v.label("tail"), v.label("end")
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
	c.JL(operand.LabelRef(tail))
	c.Label(one)
	pass(1, false)
	c.ADDQ(operand.I32(v.bytes), column)
	c.SUBQ(operand.I32(v.lanes()), colsLeft)
	c.JGE(operand.LabelRef(one))
	c.Label(tail)
	c.ADDQ(operand.I32(v.lanes()), colsLeft)
	c.JZ(operand.LabelRef(end))
	pass(1, true)
	c.Label(end)
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

// rstd computes 1/sqrt(sum·scale + eps) in all lanes of s.
func (v *vec) rstd(s reg.VecPhysical, scale reg.VecPhysical) {
	c, x := v.c, xmmOf(s)
	c.VMOVSS(at(rowArgs, rowEps), xmmOf(v.spare()))
	c.VFMADD213SS(xmmOf(v.spare()), xmmOf(scale), x)
	c.VSQRTSS(x, x, x)
	c.VMOVSS(v.value(1), xmmOf(v.spare()))
	c.VDIVSS(x, xmmOf(v.spare()), x)
	c.VBROADCASTSS(x, s)
}

// norm emits LayerNorm (mean is subtracted) or RMSNorm.
func (v *vec) norm(layer bool) {
	name, doc := "rmsNorm", "normalises rows by their root mean square."
	if layer {
		name, doc = "layerNorm", "normalises rows by mean and variance."
	}
	v.begin(name, "func(args *rowArgs)", doc)
	v.loadRows(rowPointers, rowY, rowX, rowW, rowB)
	r := v.regs
	mean, invD, one, tmp := r[8], r[9], r[10], r[11]
	v.c.VBROADCASTSS(at(rowArgs, rowFactor), invD)
	v.c.VBROADCASTSS(at(rowArgs, rowOne), one)
	v.group = 2
	sum := v.from(0)
	v.eachRow(func() {
		if layer {
			v.clear(sum)
			v.columns(2, func(masked bool) {
				x := v.at(4 / v.group)
				v.load(masked, v.in(ptrX), x)
				v.add(v.from(0), x, v.from(0))
			})
			v.c.VMULPS(invD, v.foldGroup(v.add, sum, tmp), mean)
			v.statistic(rowMean, mean)
		}
		v.clear(sum)
		v.columns(2, func(masked bool) {
			x := v.at(4 / v.group)
			v.load(masked, v.in(ptrX), x)
			if layer {
				v.sub(x, v.same(mean), x)
				v.keep(masked, x)
			}
			v.addMul(x, x, v.from(0))
		})
		rstd := v.foldGroup(v.add, sum, tmp)
		v.rstd(rstd, invD)
		v.statistic(rowRstd, rstd)
		v.columns(2, func(masked bool) {
			x, w := v.from(4), v.from(6)
			v.load(masked, v.in(ptrX), x)
			if layer {
				v.sub(x, v.same(mean), x)
			}
			v.mul(x, v.same(rstd), x)
			v.unlessNil(ptrW, func() {
				v.load(masked, v.in(ptrW), w)
				if !layer {
					v.add(w, v.same(one), w)
				}
				v.mul(x, w, x)
			})
			if layer {
				v.unlessNil(ptrB, func() {
					v.load(masked, v.in(ptrB), w)
					v.add(x, w, x)
				})
			}
			v.store(masked, x, v.in(ptrY))
		})
	}, ptrY, ptrX)
}

// normGrad emits the gradient of both norms. RMSNorm has no mean: a nil pointer, and scale2 zero
// instead of 1/d for the mean of t.
func (v *vec) normGrad() {
	v.begin("normGrad", "func(args *rowArgs)", "is the gradient of layerNorm and rmsNorm.")
	v.loadRows(rowPointers, rowY, rowX, rowDY, rowW, rowDW, rowDB, rowAddend)
	c, r := v.c, v.regs
	mean, rstd, one, tmp := r[10], r[11], r[12], r[13]
	c.VBROADCASTSS(at(rowArgs, rowOne), one)
	v.zero(mean)
	v.group = 2
	t, th := v.from(0), v.from(2)
	hat := func(masked bool, h group) { // h = (x - mean)·rstd
		v.load(masked, v.in(ptrX), h)
		v.sub(h, v.same(mean), h)
		v.mul(h, v.same(rstd), h)
	}
	gained := func(masked bool, g, w group) { // g = dy ⊙ gain
		v.unlessNil(ptrW, func() {
			v.load(masked, v.in(ptrW), w)
			v.add(w, v.same(one), w)
			v.mul(g, w, g)
		})
	}
	v.eachRow(func() {
		c.MOVQ(at(rowArgs, rowMean), rowTmp)
		v.unlessNil(rowTmp, func() {
			c.VBROADCASTSS(at(rowTmp, 0), mean)
			c.ADDQ(operand.Imm(4), at(rowArgs, rowMean))
		})
		c.MOVQ(at(rowArgs, rowRstd), rowTmp)
		c.VBROADCASTSS(at(rowTmp, 0), rstd)
		c.ADDQ(operand.Imm(4), at(rowArgs, rowRstd))
		v.clear(t)
		v.clear(th)
		v.columns(2, func(masked bool) {
			h, g, w := v.from(4), v.from(6), v.from(8)
			hat(masked, h)
			v.load(masked, v.in(ptrDY), g)
			v.unlessNil(ptrDB, func() {
				v.load(masked, v.in(ptrDB), w)
				v.add(w, g, w)
				v.store(masked, w, v.in(ptrDB))
			})
			v.unlessNil(ptrDW, func() {
				v.load(masked, v.in(ptrDW), w)
				v.addMul(g, h, w)
				v.store(masked, w, v.in(ptrDW))
			})
			gained(masked, g, w)
			v.add(t[:v.group], g, t[:v.group])
			v.addMul(g, h, th[:v.group])
		})
		mt, mth := v.foldGroup(v.add, t, tmp), v.foldGroup(v.add, th, tmp)
		c.VBROADCASTSS(at(rowArgs, rowMeanFrac), tmp)
		c.VMULPS(tmp, mt, mt)
		c.VBROADCASTSS(at(rowArgs, rowFactor), tmp)
		c.VMULPS(tmp, mth, mth)
		v.columns(2, func(masked bool) {
			h, g, w := v.from(4), v.from(6), v.from(8)
			hat(masked, h)
			v.load(masked, v.in(ptrDY), g)
			gained(masked, g, w)
			v.sub(g, v.same(mt), g)
			v.subMul(h, v.same(mth), g)
			v.mul(g, v.same(rstd), g)
			v.unlessNil(ptrAd, func() {
				v.load(masked, v.in(ptrAd), w)
				v.add(g, w, g)
			})
			v.store(masked, g, v.in(ptrY))
		})
		v.unlessNil(ptrAd, func() { v.nextRow(ptrAd) })
	}, ptrY, ptrX, ptrDY)
}
