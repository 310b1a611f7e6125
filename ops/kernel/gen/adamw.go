package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// adamW emits the optimizer's update. Its constants are, in order: clip, β1, 1-β1, β2, 1-β2, rate,
// 1/√c2, ε, 1 - decay.
func (v *vec) adamW() {
	v.begin("adamW", "func(p, grad, m, v *float32, n int, h *[9]float32)", "updates n parameters.")
	c := v.c
	p, g, m, s, n, h := reg.RDI, reg.RSI, reg.RDX, reg.RBX, reg.R8, reg.RAX
	load(c, "p", p)
	load(c, "grad", g)
	load(c, "m", m)
	load(c, "v", s)
	load(c, "n", n)
	load(c, "h", h)
	first := 4
	k := func(i int) group { return v.same(v.regs[first+i]) }
	for i := range 9 {
		c.VBROADCASTSS(at(h, 4*i), v.regs[first+i])
	}
	pass := func(masked bool) {
		v.group = 1
		g0, m0, s0, p0 := v.from(0), v.from(1), v.from(2), v.from(3)
		v.load(masked, v.memory(g, 0), g0)
		v.load(masked, v.memory(m, 0), m0)
		v.load(masked, v.memory(s, 0), s0)
		v.load(masked, v.memory(p, 0), p0)
		v.mul(g0, k(0), g0)
		v.mul(m0, k(1), m0)
		v.addMul(g0, k(2), m0)
		v.mul(g0, g0, g0)
		v.mul(s0, k(3), s0)
		v.addMul(g0, k(4), s0)
		v.store(masked, m0, v.memory(m, 0))
		v.store(masked, s0, v.memory(s, 0))
		v.sqrt(s0, s0)
		v.mulAdd(k(6), k(7), s0)
		v.mul(m0, k(5), m0)
		v.div(m0, s0, m0)
		v.mulSub(k(8), m0, p0)
		v.store(masked, p0, v.memory(p, 0))
	}
	c.SUBQ(operand.I32(v.lanes()), n)
	c.JL(operand.LabelRef("tail"))
	c.Label("loop")
	pass(false)
	for _, r := range []reg.Register{p, g, m, s} {
		c.ADDQ(operand.I32(v.bytes), r)
	}
	c.SUBQ(operand.I32(v.lanes()), n)
	c.JGE(operand.LabelRef("loop"))
	c.Label("tail")
	c.ADDQ(operand.I32(v.lanes()), n)
	c.JZ(operand.LabelRef("end"))
	v.maskFor(n, reg.RAX)
	pass(true)
	c.Label("end")
	c.VZEROUPPER()
	c.RET()
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
