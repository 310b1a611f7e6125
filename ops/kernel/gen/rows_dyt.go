package main

import "github.com/mmcloughlin/avo/reg"

// dyt emits y = w ⊙ tanh(alpha·x) + b. alpha is the factor of the arguments.
func (v *vec) dyt() {
	v.begin("dyt", "func(args *rowArgs)", "computes w ⊙ tanh(alpha·x) + b of rows.")
	v.loadRows(rowPointers, rowY, rowX, rowW, rowB)
	n := v.expGroup()
	v.group = n
	alpha := v.regs[v.temporaries()]
	v.hold(1, v.expConstants()...)
	v.c.VBROADCASTSS(at(rowArgs, rowFactor), alpha)
	v.eachRow(func() {
		v.columns(n, func(masked bool) {
			x, k, t, h := v.from(0), v.from(n), v.from(2*n), v.from(3*n)
			v.load(masked, v.in(ptrX), x)
			v.mul(x, v.same(alpha), x)
			v.tanh(x, k, t, h)
			v.unlessNil(ptrW, func() {
				v.load(masked, v.in(ptrW), t)
				v.mul(h, t, h)
			})
			v.unlessNil(ptrB, func() {
				v.load(masked, v.in(ptrB), t)
				v.add(h, t, h)
			})
			v.store(masked, h, v.in(ptrY))
		})
	}, ptrY, ptrX)
}

// dytGrad emits the gradient of dyt. The gradient of alpha is added to what mean points to, unless it
// is nil, row by row.
func (v *vec) dytGrad() {
	v.begin("dytGrad", "func(args *rowArgs)", "is the gradient of dyt.")
	v.loadRows(rowPointers, rowY, rowX, rowDY, rowW, rowDW, rowDB, rowAddend)
	c, n := v.c, v.expGroup()
	v.group = n
	alpha, sum := v.regs[v.temporaries()], v.from(4*n)
	v.hold(1, v.expConstants()...)
	c.VBROADCASTSS(at(rowArgs, rowFactor), alpha)
	v.eachRow(func() {
		v.clear(sum)
		v.columns(n, func(masked bool) {
			t, g, u, h := v.from(0), v.from(n), v.from(2*n), v.from(3*n)
			v.load(masked, v.in(ptrX), t)
			v.mul(t, v.same(alpha), t)
			v.tanh(t, g, u, h)
			v.load(masked, v.in(ptrDY), g)
			v.unlessNil(ptrDB, func() {
				v.load(masked, v.in(ptrDB), u)
				v.add(u, g, u)
				v.store(masked, u, v.in(ptrDB))
			})
			v.unlessNil(ptrDW, func() {
				v.load(masked, v.in(ptrDW), u)
				v.addMul(g, h, u)
				v.store(masked, u, v.in(ptrDW))
			})
			v.mov(v.k(1), t) // t = dy ⊙ (1 - h²) ⊙ w
			v.subMul(h, h, t)
			v.mul(t, g, t)
			v.unlessNil(ptrW, func() {
				v.load(masked, v.in(ptrW), u)
				v.mul(t, u, t)
			})
			v.load(masked, v.in(ptrX), u)
			v.addMul(t, u, v.from(4*n))
			v.mul(t, v.same(alpha), t)
			v.unlessNil(ptrAd, func() {
				v.load(masked, v.in(ptrAd), u)
				v.add(t, u, t)
			})
			v.store(masked, t, v.in(ptrY))
		})
		total := v.foldGroup(v.add, sum, v.regs[0])
		c.MOVQ(at(rowArgs, rowMean), rowTmp)
		v.unlessNil(rowTmp, func() {
			c.VADDSS(at(rowTmp, 0), xmmOf(total), xmmOf(total))
			c.VMOVSS(xmmOf(total), at(rowTmp, 0))
		})
		v.unlessNil(ptrAd, func() { v.nextRow(ptrAd) })
	}, ptrY, ptrX, ptrDY)
}

// rowDots emits the product of a matrix and a vector: what mean points to gets Σ x ⊙ w of each row.
// Rows of x are ldX bytes apart.
func (v *vec) rowDots() {
	v.begin("rowDots", "func(args *rowArgs)", "multiplies rows by a vector.")
	v.loadRows(rowPointers, rowX, rowW)
	c, ld := v.c, reg.RDI
	c.MOVQ(at(rowArgs, rowLdX), ld)
	v.group = 4
	sum := v.from(0)
	v.eachRow(func() {
		v.clear(sum)
		v.columns(4, func(masked bool) {
			x, w := v.from(4), v.from(8)
			v.load(masked, v.in(ptrX), x)
			v.load(masked, v.in(ptrW), w)
			v.addMul(x, w, v.from(0))
		})
		v.statistic(rowMean, v.foldGroup(v.add, sum, v.regs[4]))
		c.ADDQ(ld, ptrX)
	})
}
