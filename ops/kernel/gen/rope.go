package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// rotateHalves emits the rotation of the pairs (x[j], x[j+n]) of one head by the angles of cos and
// sin, [n]; sign is 1 or -1.
func (v *vec) rotateHalves() {
	v.begin("rotateHalves", "func(y, x, cos, sin *float32, n int, sign float32)", "rotates the pairs (x[j], x[j+n]).")
	c := v.c
	y, x, cos, sin, n, half := reg.RDI, reg.RSI, reg.RDX, reg.RBX, reg.R8, reg.R9
	load(c, "y", y)
	load(c, "x", x)
	load(c, "cos", cos)
	load(c, "sin", sin)
	load(c, "n", n)
	sign := v.regs[v.temporaries()]
	v.scalar("sign", sign)
	second := func(p reg.Register) group { return group{operand.Mem{Base: p, Index: half, Scale: 4}} }
	v.group = 1
	c.MOVQ(n, half)
	pass := func(masked bool) {
		a, b, co, si, t := v.from(0), v.from(1), v.from(2), v.from(3), v.from(4)
		v.load(masked, v.memory(x, 0), a)
		v.load(masked, second(x), b)
		v.load(masked, v.memory(cos, 0), co)
		v.load(masked, v.memory(sin, 0), si)
		v.mul(si, v.same(sign), si)
		v.mul(b, si, t)
		v.mul(a, si, si)
		v.mulSub(co, t, a)
		v.mulAdd(co, si, b)
		v.store(masked, a, v.memory(y, 0))
		v.store(masked, b, second(y))
	}
	c.SUBQ(operand.I32(v.lanes()), n)
	c.JL(operand.LabelRef("tail"))
	c.Label("loop")
	pass(false)
	for _, p := range []reg.Register{y, x, cos, sin} {
		c.ADDQ(operand.I32(v.bytes), p)
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
