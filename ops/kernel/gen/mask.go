package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Masked access to the two vectors of a tile's row. A masked-out lane is neither read nor written,
// so that memory behind the end of a slice is never touched.

func (s *isa) wide() bool { return s.bytes == 64 }

// zero clears a vector.
func (s *isa) zero(v reg.VecPhysical) {
	if s.wide() {
		s.c.VPXORD(v, v, v)
	} else {
		s.c.VXORPS(v, v, v)
	}
}

// masks prepares the masks for cols columns: K1 and K2, or with AVX2 the last two vectors, which
// are free outside the loop over k. It overwrites rB and rA.
func (s *isa) masks() {
	c := s.c
	if s.wide() {
		c.MOVQ(at(rArgs, argCols), rB)
		c.MOVQ(operand.I32(-1), rA)
		c.SHLQ(reg.CL, rA)
		c.NOTQ(rA)
		c.KMOVW(reg.EBX, reg.K1)
		c.SHRL(operand.Imm(16), reg.EBX)
		c.KMOVW(reg.EBX, reg.K2)
		return
	}
	c.MOVQ(at(rArgs, argCols), rB)
	c.NEGQ(rB)
	c.LEAQ(s.window.Offset(128), rA)
	c.LEAQ(operand.Mem{Base: rA, Index: rB, Scale: 4}, rA)
	c.VMOVUPS(at(rA, 0), s.regs[14])
	c.VMOVUPS(at(rA, 32), s.regs[15])
}

func (s *isa) opmask(h int) reg.OpmaskPhysical { return []reg.OpmaskPhysical{reg.K1, reg.K2}[h] }

// loadMasked loads half h of a row; masked-out lanes become zero.
func (s *isa) loadMasked(m operand.Mem, h int, v reg.VecPhysical) {
	if s.wide() {
		s.c.VMOVUPS_Z(m, s.opmask(h), v)
	} else {
		s.c.VMASKMOVPS(m, s.regs[14+h], v)
	}
}

// addMasked adds half h of a row in memory to v. With AVX2 it overwrites vector 12.
func (s *isa) addMasked(m operand.Mem, h int, v reg.VecPhysical) {
	if s.wide() {
		s.c.VADDPS(m, v, s.opmask(h), v)
		return
	}
	s.loadMasked(m, h, s.regs[12])
	s.c.VADDPS(s.regs[12], v, v)
}

// storeMasked stores half h of a row.
func (s *isa) storeMasked(m operand.Mem, h int, v reg.VecPhysical) {
	if s.wide() {
		s.c.VMOVUPS(v, s.opmask(h), m)
	} else {
		s.c.VMASKMOVPS(v, s.regs[14+h], m)
	}
}
