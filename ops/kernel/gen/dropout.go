package main

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Byte offsets of the fields of the Go type dropoutArgs.
const (
	dropY = 8 * iota
	dropX
	dropGroups
	dropCounter // four words of 32 bits
	_
	dropKeys    // two words for each of ten rounds
	dropLimit   = dropKeys + 80
	dropScale   = dropLimit + 4
	philoxTurns = 10
)

// dropout emits y = x times the factors of a dropout mask. A lane computes the four words of one
// counter of Philox4x32-10; lane 4·L + i has counter i·(lanes/4) + L, so that a 4×4 transpose inside
// parts of 128 bits puts the words in the order of memory. The first word of the counter must not overflow.
func (v *vec) dropout() {
	order := v.c.StaticGlobal("counters" + v.name)
	v.c.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := range v.lanes() {
		v.c.AddDatum(4*i, operand.U32(i%4*(v.lanes()/4)+i/4))
	}
	v.begin("dropout", "func(args *dropoutArgs)", "multiplies groups of 4 vectors by the factors of a dropout mask.")
	c, args, y, x, groups := v.c, reg.R15, reg.RDI, reg.RSI, reg.RCX
	c.Load(c.Param("args"), args)
	c.MOVQ(at(args, dropY), y)
	c.MOVQ(at(args, dropX), x)
	c.MOVQ(at(args, dropGroups), groups)
	r := v.regs
	m0, m1, limit, scale := r[10], r[11], r[12], r[13]
	for i, m := range []uint32{0xD2511F53, 0xCD9E8D57} {
		c.VPBROADCASTD(v.value(bits(m)), r[10+i])
	}
	c.VPBROADCASTD(at(args, dropLimit), limit)
	c.VBROADCASTSS(at(args, dropScale), scale)
	if v.wide() {
		c.MOVL(operand.U32(0xaaaa), reg.EAX)
		c.KMOVW(reg.EAX, reg.K1)
	}
	words := []reg.VecPhysical{r[0], r[1], r[2], r[3]}
	c.Label("loop")
	for i, w := range words {
		c.VPBROADCASTD(at(args, dropCounter+4*i), w)
	}
	three(func(a, b, d operand.Op) { c.VPADDD(b, a, d) }, group{r[0]}, group{order}, group{r[0]})
	for turn := range philoxTurns {
		v.philoxRound(words, m0, m1, args, turn)
	}
	v.factors(words, limit, scale)
	v.transposeWords(words)
	for i, w := range []reg.VecPhysical{r[4], r[5], r[6], r[7]} {
		c.VMULPS(at(x, i*v.bytes), w, w)
		c.VMOVUPS(w, at(y, i*v.bytes))
	}
	c.ADDQ(operand.I32(4*v.bytes), x)
	c.ADDQ(operand.I32(4*v.bytes), y)
	c.ADDL(operand.Imm(uint64(v.lanes())), at(args, dropCounter))
	c.DECQ(groups)
	c.JNZ(operand.LabelRef("loop"))
	c.VZEROUPPER()
	c.RET()
}

// odd replaces the odd words of even by those of odd, into d.
func (v *vec) odd(even, odd, d reg.VecPhysical) {
	if v.wide() {
		v.c.VPBLENDMD(odd, even, reg.K1, d)
	} else {
		v.c.VPBLENDD(operand.Imm(0xaa), odd, even, d)
	}
}

// product computes the high and low words of w·m, every word by itself. It overwrites t and w.
func (v *vec) product(w, m, high, low, t reg.VecPhysical) {
	c := v.c
	c.VPSRLQ(operand.Imm(32), w, t)
	c.VPMULUDQ(w, m, w) // the products of the even words
	c.VPMULUDQ(t, m, t) // and of the odd ones
	c.VPSLLQ(operand.Imm(32), t, low)
	v.odd(w, low, low)
	c.VPSRLQ(operand.Imm(32), w, w)
	v.odd(w, t, high)
}

// philoxRound does one round. Registers 4 to 9 and 14 are overwritten.
func (v *vec) philoxRound(w []reg.VecPhysical, m0, m1 reg.VecPhysical, args reg.Register, turn int) {
	c, r := v.c, v.regs
	v.product(w[0], m0, r[4], r[5], r[8])
	v.product(w[2], m1, r[6], r[7], r[9])
	for i, high := range []reg.VecPhysical{r[6], r[4]} {
		c.VPBROADCASTD(at(args, dropKeys+8*turn+4*i), r[14])
		xor(v, high, w[2*i+1], high)
		xor(v, high, r[14], w[2*i])
	}
	c.VMOVUPS(r[7], w[1])
	c.VMOVUPS(r[5], w[3])
}

func xor(v *vec, a, b, d reg.VecPhysical) { v.xor(group{a}, group{b}, group{d}) }

// factors replaces random words by scale, or by 0 where they are below limit.
func (v *vec) factors(words []reg.VecPhysical, limit, scale reg.VecPhysical) {
	const notBelow = 5
	for i, w := range words {
		if v.wide() {
			v.c.VPCMPUD(operand.Imm(notBelow), limit, w, reg.K2)
			v.c.VMOVAPS_Z(scale, reg.K2, w)
			continue
		}
		t := v.regs[4+i]
		v.c.VPMAXUD(limit, w, t)
		v.c.VPCMPEQD(t, w, w)
		v.c.VANDPS(scale, w, w)
	}
}

// transposeWords transposes 4×4 words in every part of 128 bits, from registers 0 to 3 to 4 to 7.
func (v *vec) transposeWords(w []reg.VecPhysical) {
	c, r := v.c, v.regs
	c.VUNPCKLPS(w[1], w[0], r[8])
	c.VUNPCKLPS(w[3], w[2], r[9])
	c.VUNPCKHPS(w[1], w[0], w[0])
	c.VUNPCKHPS(w[3], w[2], w[2])
	c.VUNPCKLPD(r[9], r[8], r[4])
	c.VUNPCKHPD(r[9], r[8], r[5])
	c.VUNPCKLPD(w[2], w[0], r[6])
	c.VUNPCKHPD(w[2], w[0], r[7])
}
