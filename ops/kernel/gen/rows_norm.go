package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// norm emits LayerNorm (mean is subtracted) or RMSNorm.
func (v *vec) norm(layer bool) {
	name, doc := "rmsNorm", "normalises rows by their root mean square."
	if layer {
		name, doc = "layerNorm", "normalises rows by mean and variance."
	}
	v.begin(name, "func(args *rowArgs)", doc)
	v.loadRows(rowPointers, rowY, rowX, rowW, rowB)
	v.abreast(anyLength, func() { v.normRows(layer) }, ptrY, ptrX)
}

// normRows normalises the rows of a group.
func (v *vec) normRows(layer bool) {
	n := v.group
	sum, x, mean, rstd := v.at(0), v.at(1), v.at(2), v.at(3)
	w, b := v.regs[4*n], v.regs[4*n+1]
	tmp, factor := w, b // before the row vectors are read
	v.c.VBROADCASTSS(at(rowArgs, rowFactor), factor)
	if layer {
		v.clear(sum)
		v.columnsAbreast(func(masked bool) {
			v.load(masked, v.abreastIn(ptrX), x)
			v.add(sum, x, sum)
		})
		total := v.foldRows(sum, tmp)
		v.c.VMULPS(factor, total, total)
		v.spread(total, mean)
		v.statistics(rowMean, mean)
	}
	centred := func(masked bool) {
		v.load(masked, v.abreastIn(ptrX), x)
		if layer {
			v.sub(x, mean, x)
		}
	}
	v.clear(sum)
	v.columnsAbreast(func(masked bool) {
		centred(masked)
		v.keep(masked, x)
		v.addMul(x, x, sum)
	})
	total := v.foldRows(sum, tmp)
	v.rstd(total, factor)
	v.spread(total, rstd)
	v.statistics(rowRstd, rstd)
	v.c.VBROADCASTSS(v.value(1), w)
	v.zero(b)
	v.columnsAbreast(func(masked bool) {
		centred(masked)
		v.mul(x, rstd, x)
		v.gain(masked, w)
		if layer {
			v.unlessNil(ptrB, func() { v.load(masked, v.along(ptrB), group{b}) })
			v.mulAdd(v.same(w), v.same(b), x)
		} else {
			v.mul(x, v.same(w), x)
		}
		v.store(masked, x, v.abreastIn(ptrY))
	})
}

// rstd computes 1/sqrt(s·factor + eps), and NaN where that sum is infinite. What factor held is lost.
func (v *vec) rstd(s, factor reg.VecPhysical) {
	c := v.c
	c.VBROADCASTSS(at(rowArgs, rowEps), v.spare())
	c.VFMADD213PS(v.spare(), factor, s)
	nothing := factor
	c.VSUBPS(s, s, nothing) // 0, or NaN
	c.VSQRTPS(s, s)
	c.VBROADCASTSS(v.value(1), v.spare())
	c.VDIVPS(s, v.spare(), s)
	c.VADDPS(nothing, s, s)
}

// gain loads the current columns of the gain, w or 1 + w; without one, w stays.
func (v *vec) gain(masked bool, w reg.VecPhysical) {
	v.unlessNil(ptrW, func() {
		v.load(masked, v.along(ptrW), group{w})
		v.c.VBROADCASTSS(at(rowArgs, rowOne), v.spare())
		v.c.VADDPS(v.spare(), w, w)
	})
}

// normGradAbreast is the length of rows, in vectors, up to which gradients are computed several rows abreast. It was
// found by measurement.
const normGradAbreast = 24

// normGrad emits the gradient of both norms. RMSNorm has no mean: a nil pointer, and a fraction of zero
// instead of 1/d for the mean of t. Long rows are taken one by one: abreast, their twelve or more streams get into
// each other's way in the caches.
func (v *vec) normGrad() {
	v.begin("normGrad", "func(args *rowArgs)", "is the gradient of layerNorm and rmsNorm.")
	v.loadRows(rowPointers, rowY, rowX, rowDY, rowW, rowDW, rowDB, rowAddend)
	v.abreast(normGradAbreast*v.lanes(), v.normGradRows, ptrY, ptrX, ptrDY, ptrAd)
}

// normGradRows is the gradient of the rows of a group. With h = (x - mean)·rstd and t = dy ⊙ gain it
// computes rstd·(t - mean(t) - (x - mean)·(rstd·mean(t ⊙ h))) + addend.
func (v *vec) normGradRows() {
	n := v.group
	t, th, mean, rstd, h, g := v.at(0), v.at(1), v.at(2), v.at(3), v.at(4), v.at(5)
	w, tmp := v.regs[6*n], v.regs[6*n+1] // tmp is a row of dw or db too
	v.clear(mean)
	v.savedStatistics(rowMean, mean)
	v.savedStatistics(rowRstd, rstd)
	v.clear(append(t, th...))
	v.c.VBROADCASTSS(v.value(1), w)
	v.columnsAbreast(func(masked bool) {
		v.load(masked, v.abreastIn(ptrX), h)
		v.sub(h, mean, h)
		v.mul(h, rstd, h)
		v.load(masked, v.abreastIn(ptrDY), g)
		v.accumulate(masked, ptrDB, tmp, func(u int) { v.c.VADDPS(g[u], tmp, tmp) })
		v.accumulate(masked, ptrDW, tmp, func(u int) { v.c.VFMADD231PS(g[u], h[u], tmp) })
		v.gain(masked, w)
		v.mul(g, v.same(w), g)
		v.add(t, g, t)
		v.addMul(g, h, th)
	})
	v.scaledMeans(t, rowMeanFrac, tmp)
	v.scaledMeans(th, rowFactor, tmp)
	v.mul(th, rstd, th)
	v.columnsAbreast(func(masked bool) {
		v.load(masked, v.abreastIn(ptrX), h)
		v.sub(h, mean, h)
		v.load(masked, v.abreastIn(ptrDY), g)
		v.gain(masked, w)
		v.mul(g, v.same(w), g)
		v.sub(g, t, g)
		v.subMul(h, th, g)
		v.clear(h)
		v.unlessNil(ptrAd, func() { v.load(masked, v.abreastIn(ptrAd), h) })
		v.mulAdd(rstd, h, g)
		v.store(masked, g, v.abreastIn(ptrY))
	})
}

// accumulate updates the current columns of the row vector at p, unless p is nil, in t, with one row of
// the group after the other.
func (v *vec) accumulate(masked bool, p reg.GPPhysical, t reg.VecPhysical, update func(u int)) {
	v.unlessNil(p, func() {
		v.load(masked, v.along(p), group{t})
		for u := range v.group {
			update(u)
		}
		v.store(masked, group{t}, v.along(p))
	})
}

// scaledMeans replaces every vector of g by the sum of its lanes times the field of the arguments.
func (v *vec) scaledMeans(g group, field int, t reg.VecPhysical) {
	total := v.foldRows(g, t)
	v.c.VBROADCASTSS(at(rowArgs, field), t)
	v.c.VMULPS(t, total, total)
	v.c.VMOVAPS(total, t)
	v.spread(t, g)
}

// statistics stores a number of each row of the group to the rows' places in a vector, and moves on.
func (v *vec) statistics(field int, g group) {
	v.c.MOVQ(at(rowArgs, field), rowTmp)
	for u, r := range g {
		v.c.VMOVSS(xmmOf(r.(reg.VecPhysical)), at(rowTmp, 4*u))
	}
	v.c.ADDQ(operand.Imm(uint64(4*len(g))), at(rowArgs, field))
}

// savedStatistics loads what statistics stored, unless the vector is nil.
func (v *vec) savedStatistics(field int, g group) {
	v.c.MOVQ(at(rowArgs, field), rowTmp)
	v.unlessNil(rowTmp, func() {
		for u, r := range g {
			v.c.VBROADCASTSS(at(rowTmp, 4*u), r)
		}
		v.c.ADDQ(operand.Imm(uint64(4*len(g))), at(rowArgs, field))
	})
}
