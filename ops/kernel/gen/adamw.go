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

// adamWMeasured emits adamW for n > 0 parameters, n a multiple of 32, that also keeps the
// parameters as they were and gives the sum of their squares and that of the squares of their changes. Lanes
// are added in float32: to widen every element takes longer than the division leaves.
func (v *vec) adamWMeasured() {
	v.begin("adamWMeasured", "func(p, grad, m, v *float32, n int, h *[9]float32, old *float32, sums *[2]float64)", "updates n parameters and measures them.")
	a := v.adamWOperands()
	c, kept, sums := v.c, reg.R9, reg.R10
	load(c, "old", kept)
	load(c, "sums", sums)
	old, before, change := v.regs[13], v.regs[14], v.regs[15]
	v.zero(before)
	v.zero(change)
	c.Label("loop")
	c.VMOVUPS(at(a.p, 0), old)
	c.VMOVUPS(old, at(kept, 0))
	c.VFMADD231PS(old, old, before)
	v.adamWVector(a, false)
	c.VSUBPS(old, v.regs[3], old)
	c.VFMADD231PS(old, old, change)
	a.advance(v)
	c.ADDQ(operand.I32(v.bytes), kept)
	c.SUBQ(operand.I32(v.lanes()), a.n)
	c.JG(operand.LabelRef("loop"))
	v.foldWide(before, v.regs[0], at(sums, 0))
	v.foldWide(change, v.regs[1], at(sums, 8))
	c.VZEROUPPER()
	c.RET()
}

// foldWide stores the sum of x's lanes, added in float64. It overwrites x and t.
func (v *vec) foldWide(x, t reg.VecPhysical, to operand.Mem) {
	c := v.c
	if v.wide() {
		c.VCVTPS2PD(x.AsY(), t)
		c.VEXTRACTF64X4(operand.Imm(1), x, x.AsY())
		c.VCVTPS2PD(x.AsY(), x)
		c.VADDPD(x, t, t)
		c.VEXTRACTF64X4(operand.Imm(1), t, x.AsY())
	} else {
		c.VCVTPS2PD(x.AsX(), t)
		c.VEXTRACTF128(operand.Imm(1), x, x.AsX())
		c.VCVTPS2PD(x.AsX(), x)
	}
	c.VADDPD(x.AsY(), t.AsY(), t.AsY())
	c.VEXTRACTF128(operand.Imm(1), t.AsY(), x.AsX())
	c.VADDPD(x.AsX(), t.AsX(), t.AsX())
	c.VPERMILPD(operand.Imm(1), t.AsX(), x.AsX())
	c.VADDSD(x.AsX(), t.AsX(), t.AsX())
	c.VMOVSD(t.AsX(), to)
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

// sumSquaresNarrow emits Σ x² of n > 0 elements, n a multiple of 64, with the squares of each of 4 vectors' lanes
// added in float32.
func (v *vec) sumSquaresNarrow() {
	v.begin("sumSquaresNarrow", "func(x *float32, n int, sum *float64)", "stores Σ x².")
	c := v.c
	x, n, sum := reg.RSI, reg.RCX, reg.RDX
	load(c, "x", x)
	load(c, "n", n)
	load(c, "sum", sum)
	const count = 4
	for _, acc := range v.regs[:count] {
		v.zero(acc)
	}
	c.Label("loop")
	for u := range count {
		c.VMOVUPS(at(x, u*v.bytes), v.regs[count+u])
		c.VFMADD231PS(v.regs[count+u], v.regs[count+u], v.regs[u])
	}
	c.ADDQ(operand.I32(count*v.bytes), x)
	c.SUBQ(operand.I32(count*v.lanes()), n)
	c.JG(operand.LabelRef("loop"))
	c.VADDPS(v.regs[1], v.regs[0], v.regs[0])
	c.VADDPS(v.regs[3], v.regs[2], v.regs[2])
	c.VADDPS(v.regs[2], v.regs[0], v.regs[0])
	v.foldWide(v.regs[0], v.regs[1], at(sum, 0))
	c.VZEROUPPER()
	c.RET()
}
