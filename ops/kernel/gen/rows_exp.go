package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// expGroup is the number of vectors whose exponentials are computed together.
func (v *vec) expGroup() int { return v.temporaries() / 5 }

// expRows emits the first half of a softmax: of each row x the maximum (stored as mean), and the sum
// of y = exp(x - max) (stored as rstd). y is stored unless it is nil.
func (v *vec) expRows() {
	v.begin("expRows", "func(args *rowArgs)", "computes y = exp(x - max) of rows, the maximum, and the sum.")
	v.loadRows(rowPointers, rowY, rowX)
	n := v.expGroup()
	v.group = n
	m, tmp := v.regs[4*n], v.regs[4*n+1]
	v.hold(0, v.expConstants()...)
	v.eachRow(func() {
		acc := v.from(0)
		v.mov(v.k(lowest), acc)
		v.columns(n, func(masked bool) {
			x := v.from(n)
			v.load(masked, v.in(ptrX), x)
			v.maxMasked(masked, x, v.from(0))
		})
		v.c.VMOVAPS(v.foldGroup(v.max, acc, tmp), m)
		v.statistic(rowMean, m)
		v.clear(acc)
		v.columns(n, func(masked bool) {
			x, k, y := v.from(n), v.from(2*n), v.from(3*n)
			v.load(masked, v.in(ptrX), x)
			v.sub(x, v.same(m), x)
			v.exp(x, k, y, false)
			v.keep(masked, y)
			v.add(v.from(0), y, v.from(0))
			v.unlessNil(ptrY, func() { v.store(masked, y, v.in(ptrY)) })
		})
		v.statistic(rowRstd, v.foldGroup(v.add, acc, tmp))
		v.unlessNil(ptrY, func() { v.nextRow(ptrY) })
	}, ptrX)
}

// lowest is the least finite number.
const lowest = -3.40282346638528859812e+38

// expScaled emits the gradient of a cross-entropy but for the target: y = scale·exp(x - lse), lse
// stored as mean.
func (v *vec) expScaled() {
	v.begin("expScaled", "func(args *rowArgs)", "computes y = scale·exp(x - lse) of rows.")
	v.loadRows(rowPointers, rowY, rowX)
	n := v.expGroup()
	lse, scale := v.regs[4*n], v.regs[4*n+1]
	v.hold(0, v.expConstants()...)
	v.c.VBROADCASTSS(at(rowArgs, rowFactor), scale)
	v.eachRow(func() {
		v.c.MOVQ(at(rowArgs, rowMean), rowTmp)
		v.c.VBROADCASTSS(at(rowTmp, 0), lse)
		v.c.ADDQ(operand.Imm(4), at(rowArgs, rowMean))
		v.columns(n, func(masked bool) {
			x, k, y := v.from(n), v.from(2*n), v.from(3*n)
			v.load(masked, v.in(ptrX), x)
			v.sub(x, v.same(lse), x)
			v.exp(x, k, y, false)
			v.mul(y, v.same(scale), y)
			v.store(masked, y, v.in(ptrY))
		})
	}, ptrY, ptrX)
}

// softmaxGrad emits y = x ⊙ (dy - Σ dy ⊙ x) for rows x of a softmax.
func (v *vec) softmaxGrad() {
	v.begin("softmaxGrad", "func(args *rowArgs)", "computes y = x ⊙ (dy - Σ dy ⊙ x) of rows.")
	v.loadRows(rowPointers, rowY, rowX, rowDY)
	v.group = 2
	acc, tmp := v.from(0), v.regs[8]
	v.eachRow(func() {
		v.clear(acc)
		v.columns(2, func(masked bool) {
			x, g := v.from(2), v.from(4)
			v.load(masked, v.in(ptrX), x)
			v.load(masked, v.in(ptrDY), g)
			v.addMul(x, g, v.from(0))
		})
		sum := v.foldGroup(v.add, acc, tmp)
		v.columns(2, func(masked bool) {
			x, g := v.from(2), v.from(4)
			v.load(masked, v.in(ptrX), x)
			v.load(masked, v.in(ptrDY), g)
			v.sub(g, v.same(sum), g)
			v.mul(g, x, g)
			v.store(masked, g, v.in(ptrY))
		})
	}, ptrY, ptrX, ptrDY)
}

// colSum emits sums of columns: y += Σ_rows x, or Σ_rows x ⊙ dy where dy is not nil. Rows are ldX and
// ldDY bytes apart. A few vectors of columns are summed at a time, each from the first row to the last.
func (v *vec) colSum() {
	v.begin("colSum", "func(args *rowArgs)", "adds the columns of x, or of x ⊙ dy, to y.")
	v.loadRows(rowPointers, rowY, rowX, rowDY)
	c := v.c
	ldX, ldDY, x, dy := reg.RBX, reg.R11, reg.R8, reg.R9
	c.MOVQ(at(rowArgs, rowLdX), ldX)
	c.MOVQ(at(rowArgs, rowLdDY), ldDY)
	v.columns(4, func(masked bool) {
		acc, t, u := v.from(0), v.from(4), v.from(8)
		products, next, end := v.label("products"), v.label("next"), v.label("end")
		v.load(masked, v.in(ptrY), acc)
		c.MOVQ(ptrX, x)
		c.MOVQ(at(rowArgs, rowRows), rowsLeft)
		c.MOVQ(ptrDY, dy)
		c.TESTQ(dy, dy)
		c.JNZ(operand.LabelRef(products))
		c.Label(next)
		v.load(masked, v.in(x), t)
		v.add(acc, t, acc)
		c.ADDQ(ldX, x)
		c.DECQ(rowsLeft)
		c.JNZ(operand.LabelRef(next))
		c.JMP(operand.LabelRef(end))
		c.Label(products)
		v.load(masked, v.in(x), t)
		v.load(masked, v.in(dy), u)
		v.addMul(t, u, acc)
		c.ADDQ(ldX, x)
		c.ADDQ(ldDY, dy)
		c.DECQ(rowsLeft)
		c.JNZ(operand.LabelRef(products))
		c.Label(end)
		v.store(masked, acc, v.in(ptrY))
	})
	c.VZEROUPPER()
	c.RET()
}
