package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// tail adds the last two k row by row and stores each row as soon as it is complete, if the caller
// leaves them. Stores at the end of the tile would otherwise fill the queue: with 28 of them nothing
// overlapped and a tile cost 60 cycles more on Zen 4. It can add C or the addend, not both.
func (s *isa) tail(mr int, transposed bool) {
	c, label := s.c, labels(mr)
	c.CMPQ(at(rArgs, argTail), operand.Imm(0))
	c.JEQ(operand.LabelRef(label("whole")))
	s.tailOperands(transposed)
	c.TESTQ(rK, rK)
	c.JNZ(operand.LabelRef(label("tailadd")))
	for i := range mr {
		s.tailRow(i, transposed)
		s.tailStore(i)
	}
	c.JMP(operand.LabelRef(label("done")))
	c.Label(label("tailadd"))
	c.TESTQ(operand.I32(flagAcc), rK)
	c.MOVQ(rC, rB)
	c.MOVQ(rLdb, rK)
	c.JNZ(operand.LabelRef(label("source")))
	c.MOVQ(at(rArgs, argAddend), rB)
	c.ADDQ(at(rArgs, argDoneD), rB)
	c.MOVQ(at(rArgs, argLdd), rK)
	c.Label(label("source"))
	for i := range mr {
		s.tailRow(i, transposed)
		c.VADDPS(at(rB, 0), s.regs[2*i], s.regs[2*i])
		c.VADDPS(at(rB, s.bytes), s.regs[2*i+1], s.regs[2*i+1])
		c.ADDQ(rK, rB)
		s.tailStore(i)
	}
	c.JMP(operand.LabelRef(label("done")))
	c.Label(label("whole"))
}

// tailOperands loads the four vectors of B for the last two k, points rTmp to A at the second, rC
// to C with its stride in rLdb, and loads the flags into rK.
func (s *isa) tailOperands(transposed bool) {
	c := s.c
	for u := range 2 {
		c.VMOVUPS(at(rB, 0), s.regs[2*s.rows+2*u])
		c.VMOVUPS(at(rB, s.bytes), s.regs[2*s.rows+2*u+1])
		c.ADDQ(rLdb, rB)
	}
	if transposed {
		c.LEAQ(operand.Mem{Base: rA, Index: rMul[0], Scale: 1}, rTmp)
	}
	s.loadC()
}

// loadC loads what the end of a tile needs: the place of C, its stride and the flags.
func (s *isa) loadC() {
	c := s.c
	c.MOVQ(at(rArgs, argC), rC)
	c.ADDQ(at(rArgs, argDoneC), rC)
	c.MOVQ(at(rArgs, argLdc), rLdb)
	c.MOVQ(at(rArgs, argFlags), rK)
}

// tailRow adds the last two k to row i. No vector is free for a broadcast: it is part of the add.
func (s *isa) tailRow(i int, transposed bool) {
	for u := range 2 {
		a := addressA(rA, i, u, false)
		if transposed {
			a = at([]reg.Register{rA, rTmp}[u], 4*i)
		}
		s.c.VFMADD231PS_BCST(a, s.regs[2*s.rows+2*u], s.regs[2*i])
		s.c.VFMADD231PS_BCST(a, s.regs[2*s.rows+2*u+1], s.regs[2*i+1])
	}
}

func (s *isa) tailStore(i int) {
	s.c.VMOVUPS(s.regs[2*i], at(rC, 0))
	s.c.VMOVUPS(s.regs[2*i+1], at(rC, s.bytes))
	s.c.ADDQ(rLdb, rC)
}
