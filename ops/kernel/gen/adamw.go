package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// adamW emits the optimizer's update. Its constants are, in order: clip, β1, 1-β1, β2, 1-β2, rate,
// 1/√c2, ε, 1 - decay.
func (v *vec) adamW() {
	v.begin("adamW", "func(p, grad, m, v *float32, n int, h *[9]float32)", "updates n parameters.")
	a := v.adamWOperands()
	c := v.c
	c.SUBQ(operand.I32(v.lanes()), a.n)
	c.JL(operand.LabelRef("tail"))
	c.Label("loop")
	v.adamWVector(a, false)
	a.advance(v)
	c.SUBQ(operand.I32(v.lanes()), a.n)
	c.JGE(operand.LabelRef("loop"))
	c.Label("tail")
	c.ADDQ(operand.I32(v.lanes()), a.n)
	c.JZ(operand.LabelRef("end"))
	v.maskFor(a.n, reg.RAX)
	v.adamWVector(a, true)
	c.Label("end")
	c.VZEROUPPER()
	c.RET()
}

// adamWMeasured emits adamW for n > 0 parameters, n a multiple of 32, that also adds to lane i%32 of the
// first 32 sums the square of parameter i as it was, and of the others that of its change.
func (v *vec) adamWMeasured() {
	v.begin("adamWMeasured", "func(p, grad, m, v *float32, n int, h *[9]float32, sums *[64]float64)", "updates n parameters and adds squares.")
	a := v.adamWOperands()
	c, sums := v.c, reg.R9
	load(c, "sums", sums)
	old, t := v.regs[13], v.regs[14]
	v.keepSums(sums, false)
	c.Label("loop")
	for u := range 32 / v.lanes() {
		c.VMOVUPS(at(a.p, 0), old)
		v.addSquares(old, t, sums, 2*u)
		v.adamWVector(a, false)
		c.VSUBPS(old, v.regs[3], old)
		v.addSquares(old, t, sums, 32*8/v.bytes+2*u)
		a.advance(v)
	}
	c.SUBQ(operand.I32(32), a.n)
	c.JG(operand.LabelRef("loop"))
	v.keepSums(sums, true)
	c.VZEROUPPER()
	c.RET()
}

// keepSums moves the 64 sums to the registers from 16 on, or back to memory. Only AVX-512 has so many.
func (v *vec) keepSums(sums reg.Register, back bool) {
	if !v.wide() {
		return
	}
	for i := range 64 * 8 / v.bytes {
		if back {
			v.c.VMOVUPD(v.regs[16+i], at(sums, i*v.bytes))
		} else {
			v.c.VMOVUPD(at(sums, i*v.bytes), v.regs[16+i])
		}
	}
}

// addSquares adds the squares of a vector's elements, in float64, to the vectors first and first+1 of
// the sums. t is overwritten, and with AVX2 register 15.
func (v *vec) addSquares(x, t reg.VecPhysical, sums reg.Register, first int) {
	c := v.c
	if v.wide() {
		c.VCVTPS2PD(x.AsY(), t)
		c.VFMADD231PD(t, t, v.regs[16+first])
		c.VEXTRACTF64X4(operand.Imm(1), x, t.AsY())
		c.VCVTPS2PD(t.AsY(), t)
		c.VFMADD231PD(t, t, v.regs[16+first+1])
		return
	}
	for half := range 2 {
		if half == 0 {
			c.VCVTPS2PD(x.AsX(), t)
		} else {
			c.VEXTRACTF128(operand.Imm(1), x, t.AsX())
			c.VCVTPS2PD(t.AsX(), t)
		}
		sum := at(sums, (first+half)*v.bytes)
		c.VMOVUPD(sum, v.regs[15])
		c.VFMADD231PD(t, t, v.regs[15])
		c.VMOVUPD(v.regs[15], sum)
	}
}

// adamWArgs are the registers of adamW's parameters.
type adamWArgs struct{ p, grad, m, v, n reg.GPPhysical }

// adamWOperands loads them, and the constants to registers 4 to 12.
func (v *vec) adamWOperands() adamWArgs {
	c := v.c
	a := adamWArgs{p: reg.RDI, grad: reg.RSI, m: reg.RDX, v: reg.RBX, n: reg.R8}
	load(c, "p", a.p)
	load(c, "grad", a.grad)
	load(c, "m", a.m)
	load(c, "v", a.v)
	load(c, "n", a.n)
	load(c, "h", reg.RAX)
	for i := range 9 {
		c.VBROADCASTSS(at(reg.RAX, 4*i), v.regs[4+i])
	}
	return a
}

// advance moves the pointers by a vector.
func (a adamWArgs) advance(v *vec) {
	for _, r := range []reg.Register{a.p, a.grad, a.m, a.v} {
		v.c.ADDQ(operand.I32(v.bytes), r)
	}
}

// adamWVector updates one vector, and leaves the parameters in register 3.
func (v *vec) adamWVector(a adamWArgs, masked bool) {
	k := func(i int) group { return v.same(v.regs[4+i]) }
	v.group = 1
	g, m, s, p := v.from(0), v.from(1), v.from(2), v.from(3)
	v.load(masked, v.memory(a.grad, 0), g)
	v.load(masked, v.memory(a.m, 0), m)
	v.load(masked, v.memory(a.v, 0), s)
	v.load(masked, v.memory(a.p, 0), p)
	v.mul(g, k(0), g)
	v.mul(m, k(1), m)
	v.addMul(g, k(2), m)
	v.mul(g, g, g)
	v.mul(s, k(3), s)
	v.addMul(g, k(4), s)
	v.store(masked, m, v.memory(a.m, 0))
	v.store(masked, s, v.memory(a.v, 0))
	v.sqrt(s, s)
	v.mulAdd(k(6), k(7), s)
	v.mul(m, k(5), m)
	v.div(m, s, m)
	v.mulSub(k(8), m, p)
	v.store(masked, p, v.memory(a.p, 0))
}

// sums emits the float64 reductions: lane i%32 of s gets the sum of x, x² or x·y of the elements i.
func (v *vec) sums(name, doc string, kind int) {
	v.begin(name, "func(s *[32]float64, x, y *float32, n int)", doc)
	c := v.c
	s, x, y, n := reg.RDI, reg.RSI, reg.RDX, reg.RCX
	load(c, "s", s)
	load(c, "x", x)
	load(c, "y", y)
	load(c, "n", n)
	count := 32 * 8 / v.bytes
	v.group = count
	acc := v.from(0)
	v.load(false, v.memory(s, 0), acc)
	convert := func(p reg.Register, u int, to reg.VecPhysical) { c.VCVTPS2PD(at(p, u*v.bytes/2), to) }
	c.Label("loop")
	for u := range count {
		a, t, t2 := v.regs[u], v.regs[count+u%2], v.regs[count+2+u%2]
		convert(x, u, t)
		switch kind {
		case 0:
			c.VADDPD(t, a, a)
		case 1:
			c.VFMADD231PD(t, t, a)
		case 2:
			convert(y, u, t2)
			c.VFMADD231PD(t, t2, a)
		}
	}
	c.ADDQ(operand.I32(128), x)
	c.ADDQ(operand.I32(128), y)
	c.SUBQ(operand.I32(32), n)
	c.JG(operand.LabelRef("loop"))
	v.store(false, acc, v.memory(s, 0))
	c.VZEROUPPER()
	c.RET()
}
