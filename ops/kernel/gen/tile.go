package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// labels makes the labels of the code for tiles of mr rows.
func labels(mr int) func(name string) string {
	return func(name string) string { return fmt.Sprintf("%s%d", name, mr) }
}

// start sets the accumulators to the bias, or to zero.
func (s *isa) start(mr int) {
	c, acc, label := s.c, s.regs[:2*mr], labels(mr)
	c.MOVQ(at(rArgs, argBias), rTmp)
	c.TESTQ(rTmp, rTmp)
	c.JZ(operand.LabelRef(label("zero")))
	c.TESTQ(operand.I32(flagRagged), at(rArgs, argFlags))
	c.JZ(operand.LabelRef(label("bias")))
	s.masks()
	s.loadMasked(at(rTmp, 0), 0, acc[0])
	s.loadMasked(at(rTmp, s.bytes), 1, acc[1])
	c.JMP(operand.LabelRef(label("copies")))
	c.Label(label("bias"))
	c.VMOVUPS(at(rTmp, 0), acc[0])
	c.VMOVUPS(at(rTmp, s.bytes), acc[1])
	c.Label(label("copies"))
	for i := 2; i < len(acc); i++ {
		c.VMOVAPS(acc[i%2], acc[i])
	}
	c.JMP(operand.LabelRef(label("sum")))
	c.Label(label("zero"))
	for _, z := range acc {
		s.zero(z)
	}
	c.Label(label("sum"))
}

// sum emits the loop over k, four steps at a time and then one at a time, but for
// what is left to the tail.
func (s *isa) sum(mr int, transposed bool) {
	const unroll = 4
	c, label := s.c, labels(mr)
	c.MOVQ(at(rArgs, argK), rK)
	c.SUBQ(at(rArgs, argTail), rK)
	c.MOVQ(at(rArgs, argA), rA)
	c.ADDQ(at(rArgs, argDoneA), rA)
	c.MOVQ(at(rArgs, argB), rB)
	c.MOVQ(at(rArgs, argLdb), rLdb)
	if !transposed {
		c.IMUL3Q(operand.Imm(uint64(mr)), rMul[0], rTmp) // the next tile's rows
		c.ADDQ(rA, rTmp)
	}
	c.MOVQ(at(rArgs, argAhead), rC)
	c.MOVQ(at(rArgs, argNextB), rNextB)
	step := func(u int) {
		s.nextPanel(mr, transposed)
		s.step(mr, func(i int) operand.Mem { return addressA(rA, i, u, transposed) })
		if transposed {
			c.ADDQ(rMul[0], rA)
		}
	}
	c.SUBQ(operand.Imm(unroll), rK)
	c.JL(operand.LabelRef(label("rest")))
	c.Label(label("loop"))
	for u := range unroll {
		step(u)
		if !transposed {
			c.PREFETCHT1(addressA(rTmp, u, 0, false))
		}
		if u < s.aheadLines() {
			c.PREFETCHT1(at(rC, cacheLine*u))
		}
	}
	s.moveAhead()
	if !transposed {
		c.ADDQ(operand.Imm(4*unroll), rA)
		s.aimPrefetch(label("aimed"))
	}
	c.SUBQ(operand.Imm(unroll), rK)
	c.JGE(operand.LabelRef(label("loop")))
	c.Label(label("rest"))
	c.ADDQ(operand.Imm(unroll), rK)
	c.JZ(operand.LabelRef(label("end")))
	c.Label(label("last"))
	step(0)
	if !transposed {
		c.ADDQ(operand.Imm(4), rA)
	}
	c.DECQ(rK)
	c.JNZ(operand.LabelRef(label("last")))
	c.Label(label("end"))
	load(c, "t", rArgs)
	c.MOVQ(rC, at(rArgs, argAhead))
}

// aimPrefetch moves rTmp on by four rows, or after sixteen steps of k back to the first row and on by
// a cache line: the next tile's lines are fetched in the order in which it will want them, one for
// each k, while this tile computes; to the second-level cache, since this tile's rows fill the first. Without
// it, rows from the third-level cache cost up to a sixth.
func (s *isa) aimPrefetch(label string) {
	c := s.c
	c.LEAQ(operand.Mem{Base: rTmp, Index: rMul[0], Scale: 4}, rTmp)
	c.TESTQ(operand.I32(12), rK) // k left in fours
	c.JNZ(operand.LabelRef(label))
	c.SUBQ(s.loopArg(argRewindA), rTmp)
	c.Label(label)
}

// addressA is where A(i, k+u) lies when base points to A(0, k). The transposed loop moves it at every
// step. Otherwise i·lda is an odd multiple of lda times a power of two, which an address can hold.
func addressA(base reg.Register, i, u int, transposed bool) operand.Mem {
	if transposed {
		return at(base, 4*i)
	}
	if i == 0 {
		return at(base, 4*u)
	}
	odd, scale := i, 1
	for odd%2 == 0 {
		odd, scale = odd/2, scale*2
	}
	return operand.Mem{Base: base, Index: rMul[odd/2], Scale: uint8(scale), Disp: 4 * u}
}

// step adds one k: two vectors of B times a broadcast element of A for every row.
func (s *isa) step(mr int, a func(i int) operand.Mem) {
	c, r := s.c, s.regs[2*s.rows:]
	b0, b1 := r[0], r[1]
	c.VMOVUPS(at(rB, 0), b0)
	c.VMOVUPS(at(rB, s.bytes), b1)
	c.ADDQ(rLdb, rB)
	for i := range mr {
		t := r[2+i%2]
		c.VBROADCASTSS(a(i), t)
		c.VFMADD231PS(b0, t, s.regs[2*i])
		c.VFMADD231PS(b1, t, s.regs[2*i+1])
	}
}

// finish adds C and the addend where asked for, and stores the tile.
func (s *isa) finish(mr int) {
	c, label := s.c, labels(mr)
	s.loadC()
	c.TESTQ(rK, rK)
	c.JZ(operand.LabelRef(label("store")))
	c.TESTQ(operand.I32(flagRagged), rK)
	c.JNZ(operand.LabelRef(label("ragged")))
	s.addOperands(mr, label("plain"), func(m operand.Mem, h int, acc reg.VecPhysical) { c.VADDPS(m, acc, acc) })
	c.Label(label("store"))
	s.eachRow(mr, rC, rLdb, func(m operand.Mem, h int, acc reg.VecPhysical) { c.VMOVUPS(acc, m) })
	c.JMP(operand.LabelRef(label("done")))
	c.Label(label("ragged"))
	s.masks()
	s.addOperands(mr, label("masked"), s.addMasked)
	s.eachRow(mr, rC, rLdb, s.storeMasked)
	c.Label(label("done"))
}

// addOperands adds C, then the addend, to the accumulators, each if its flag in rK is set.
func (s *isa) addOperands(mr int, label string, add func(m operand.Mem, h int, acc reg.VecPhysical)) {
	c := s.c
	c.TESTQ(operand.I32(flagAcc), rK)
	c.JZ(operand.LabelRef(label + "acc"))
	c.MOVQ(rC, rTmp)
	s.eachRow(mr, rTmp, rLdb, add)
	c.Label(label + "acc")
	c.TESTQ(operand.I32(flagAddend), rK)
	c.JZ(operand.LabelRef(label + "addend"))
	c.MOVQ(at(rArgs, argAddend), rTmp)
	c.ADDQ(at(rArgs, argDoneD), rTmp)
	c.MOVQ(at(rArgs, argLdd), rB)
	s.eachRow(mr, rTmp, rB, add)
	c.Label(label + "addend")
}

// eachRow walks the rows of a tile in memory; ptr ends behind the last row.
func (s *isa) eachRow(mr int, ptr, stride reg.Register, f func(m operand.Mem, h int, acc reg.VecPhysical)) {
	for i := range mr {
		f(at(ptr, 0), 0, s.regs[2*i])
		f(at(ptr, s.bytes), 1, s.regs[2*i+1])
		s.c.ADDQ(stride, ptr)
	}
}
