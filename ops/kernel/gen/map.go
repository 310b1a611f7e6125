package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// mapping is an element-wise function of dst, a, b and a scalar, with one result or two.
type mapping struct {
	name   string
	exp    bool // reads the constants of exp
	two    bool // has a second result, and uses six groups of registers instead of five
	body   func(v *vec, e *elements)
	table  *table // with AVX-512: what looked looks up, in place of body, with no register left for the scalar
	looked func(v *vec, e *elements)
}

// elements is the part of the slices that one pass of a mapping's loop is at.
type elements struct {
	v      *vec
	masked bool
	c      group // the scalar
}

// Registers of a mapping.
var (
	mapDst, mapA, mapB, mapAlso = reg.RDI, reg.RSI, reg.RDX, reg.R9
	mapN, mapTmp                = reg.R8, reg.RAX
)

func (e *elements) a(d group)     { e.v.load(e.masked, e.v.memory(mapA, 0), d) }
func (e *elements) b(d group)     { e.v.load(e.masked, e.v.memory(mapB, 0), d) }
func (e *elements) dst(d group)   { e.v.load(e.masked, e.v.memory(mapDst, 0), d) }
func (e *elements) store(d group) { e.v.store(e.masked, d, e.v.memory(mapDst, 0)) }
func (e *elements) also(d group)  { e.v.store(e.masked, d, e.v.memory(mapAlso, 0)) }

// mappings are in the order of the Go constants mapAdd, ….
var mappings = []mapping{
	{name: "Add", body: binary((*vec).add)},
	{name: "Sub", body: binary((*vec).sub)},
	{name: "Mul", body: binary((*vec).mul)},
	{name: "MulAdd", body: func(v *vec, e *elements) {
		e.a(v.at(0))
		e.b(v.at(1))
		e.dst(v.at(2))
		v.addMul(v.at(0), v.at(1), v.at(2))
		e.store(v.at(2))
	}},
	{name: "Scale", body: unary(func(v *vec, e *elements, x, d group) { v.mul(x, e.c, d) })},
	{name: "AXPY", body: unary(func(v *vec, e *elements, x, d group) { e.dst(d); v.addMul(x, e.c, d) })},
	{name: "ReLU", body: unary(func(v *vec, e *elements, x, d group) { v.max(v.k(0), x, d) })},
	{name: "ReLUGrad", body: func(v *vec, e *elements) {
		e.a(v.at(0))
		e.b(v.at(1))
		v.where(greater, v.at(1), v.at(2), v.at(0))
		e.store(v.at(0))
	}},
	{name: "ReLU2", body: unary(func(v *vec, e *elements, x, d group) { v.max(v.k(0), x, d); v.mul(d, d, d) })},
	{name: "ReLU2Grad", body: gradient(func(v *vec, e *elements, x, d group) { v.max(v.k(0), x, d); v.add(d, d, d) })},
	{name: "Sigmoid", exp: true, body: unary(func(v *vec, e *elements, x, d group) { v.sigmoid(x, v.at(2), v.at(3), d) })},
	{name: "SigmoidGrad", exp: true, body: gradient(sigmoidGrad)},
	{name: "Tanh", exp: true, body: unary(func(v *vec, e *elements, x, d group) { v.tanh(x, v.at(2), v.at(3), d) })},
	{name: "TanhGrad", exp: true, body: gradient(tanhGrad)},
	{name: "SiLU", exp: true, body: unary(func(v *vec, e *elements, x, d group) { v.mul(x, e.c, v.at(4)); timesSigmoid(v, x, v.at(4), d) })},
	{name: "SiLUGrad", exp: true, body: gradient(siluGrad)},
	{name: "GELU", exp: true, body: unary(gelu), table: &geluTail, looked: unary(fromTable)},
	{name: "GELUGrad", exp: true, body: gradient(geluGrad), table: &geluTail, looked: gradient(gradFromTable)},
	{name: "GELUTanh", exp: true, body: unary(geluTanh), table: &geluTanhTail, looked: unary(fromTable)},
	{name: "GELUTanhGrad", exp: true, body: gradient(geluTanhGrad), table: &geluTanhTail, looked: gradient(gradFromTable)},
	{name: "Softcap", exp: true, body: unary(func(v *vec, e *elements, x, d group) {
		v.div(x, e.c, x)
		v.tanh(x, v.at(2), v.at(3), d)
		v.mul(d, e.c, d)
	})},
	{name: "SoftcapGrad", exp: true, body: gradient(func(v *vec, e *elements, x, d group) { v.div(x, e.c, x); tanhGrad(v, e, x, d) })},
	{name: "SiLUBoth", exp: true, two: true, body: both(siluBoth)},
	{name: "GELUBoth", exp: true, two: true, body: both(geluBoth), table: &geluTail, looked: both(bothFromTable)},
	{name: "GELUTanhBoth", exp: true, two: true, body: both(geluTanhBoth), table: &geluTanhTail, looked: both(bothFromTable)},
}

// binary is dst = op(a, b).
func binary(op func(v *vec, a, b, d group)) func(*vec, *elements) {
	return func(v *vec, e *elements) {
		e.a(v.at(0))
		e.b(v.at(1))
		op(v, v.at(0), v.at(1), v.at(0))
		e.store(v.at(0))
	}
}

// unary is dst = f(a). f finds x in group 1 and leaves the result in d, group 0; 2 to 4, with a table 5 too, are free.
func unary(f func(v *vec, e *elements, x, d group)) func(*vec, *elements) {
	return func(v *vec, e *elements) {
		e.a(v.at(1))
		f(v, e, v.at(1), v.at(0))
		e.store(v.at(0))
	}
}

// gradient is dst = a ⊙ f'(b), with registers as for unary.
func gradient(f func(v *vec, e *elements, x, d group)) func(*vec, *elements) {
	return func(v *vec, e *elements) {
		e.b(v.at(1))
		f(v, e, v.at(1), v.at(0))
		e.a(v.at(1))
		v.mul(v.at(0), v.at(1), v.at(0))
		e.store(v.at(0))
	}
}

// both is dst = f(b) and also = a ⊙ f'(b). f finds x in group 1 and leaves its results in y and slope, groups 0 and 5;
// 2 to 4 are free.
func both(f func(v *vec, e *elements, x, y, slope group)) func(*vec, *elements) {
	return func(v *vec, e *elements) {
		x, y, slope := v.at(1), v.at(0), v.at(5)
		e.b(x)
		f(v, e, x, y, slope)
		e.a(x)
		v.mul(slope, x, slope)
		e.store(y)
		e.also(slope)
	}
}

// maps emits the function that runs a mapping over n elements. The last vector is masked, so that
// an element's value does not depend on where in the slice it stands.
func (v *vec) maps() {
	c := v.c
	v.begin("map", "func(f int, dst, also, a, b *float32, c float32, n int)", "computes the element-wise function number f.")
	load(c, "f", mapTmp)
	load(c, "dst", mapDst)
	load(c, "also", mapAlso)
	load(c, "a", mapA)
	load(c, "b", mapB)
	load(c, "n", mapN)
	scalar := v.regs[v.temporaries()]
	v.scalar("c", scalar)
	v.pickMapping(0, len(mappings)-1)
	for i := range mappings {
		v.mapLoop(&mappings[i], scalar)
	}
}

// pickMapping emits a binary search for the number in mapTmp, which is between lo and hi.
func (v *vec) pickMapping(lo, hi int) {
	if lo == hi {
		v.c.JMP(operand.LabelRef("map" + mappings[lo].name))
		return
	}
	mid := (lo + hi) / 2
	above := fmt.Sprintf("above%d", mid)
	v.c.CMPQ(mapTmp, operand.Imm(uint64(mid)))
	v.c.JG(operand.LabelRef(above))
	v.pickMapping(lo, mid)
	v.c.Label(above)
	v.pickMapping(mid+1, hi)
}

// mapLoop emits one mapping: whole groups, then single vectors under a mask.
func (v *vec) mapLoop(m *mapping, scalar reg.VecPhysical) {
	c := v.c
	c.Label("map" + m.name)
	v.held = nil
	body, whole := m.body, v.temporaries()/5
	pointers := []reg.Register{mapDst, mapA, mapB}
	if m.two {
		whole = v.temporaries() / 6
		pointers = append(pointers, mapAlso)
	}
	switch {
	case m.table != nil && v.wide():
		v.holdTable(m.table)
		body, whole = m.looked, tableGroup
	case m.exp:
		v.hold(1, v.expConstants()...)
	}
	loop, rest, one, end := v.label("loop"), v.label("rest"), v.label("one"), v.label("end")
	pass := func(vectors int, masked bool) {
		v.group = vectors
		body(v, &elements{v: v, masked: masked, c: v.same(scalar)})
		for _, p := range pointers {
			c.ADDQ(operand.I32(vectors*v.bytes), p)
		}
		c.SUBQ(operand.I32(vectors*v.lanes()), mapN)
	}
	c.SUBQ(operand.I32(whole*v.lanes()), mapN)
	c.JL(operand.LabelRef(rest))
	c.Label(loop)
	pass(whole, false)
	c.JGE(operand.LabelRef(loop))
	c.Label(rest)
	c.ADDQ(operand.I32(whole*v.lanes()), mapN)
	c.JLE(operand.LabelRef(end))
	c.Label(one)
	c.MOVQ(operand.I32(v.lanes()), reg.RCX)
	c.CMPQ(mapN, reg.RCX)
	c.CMOVQLT(mapN, reg.RCX)
	v.maskFor(reg.RCX, mapTmp)
	pass(1, true)
	c.JG(operand.LabelRef(one))
	c.Label(end)
	c.VZEROUPPER()
	c.RET()
}
