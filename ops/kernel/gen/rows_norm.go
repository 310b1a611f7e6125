package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

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
