package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const cacheLine = 64

// aheadLines is the number of lines of upcoming memory that a tile asks for in four steps of k: one in 24 to
// 28 cycles where a vector of the set is multiplied and added in a cycle.
func (s *isa) aheadLines() int {
	if s.wide() {
		return 4
	}
	return 1
}

// nextPanel asks for the vectors of B in the panel to the right and, where A is read by columns, for those of
// the tile below. Where B lies in place its rows are far apart, so that the processor sees no pattern in the
// two lines that each row begins a panel with.
func (s *isa) nextPanel(mr int, transposed bool) {
	if !s.wide() {
		return
	}
	s.c.PREFETCHT1(at(rB, 2*cacheLine))
	s.c.PREFETCHT1(at(rB, 3*cacheLine))
	if transposed {
		s.c.PREFETCHT0(at(rA, 4*(2*mr-1)))
	}
}

// moveAhead moves rC on by what four steps have fetched, up to the last place. Without anything to fetch the
// step is 0.
func (s *isa) moveAhead() {
	s.c.ADDQ(at(rArgs, argAheadStep), rC)
	s.c.CMPQ(rC, at(rArgs, argAheadLast))
	s.c.CMOVQHI(at(rArgs, argAheadLast), rC)
}

// fetch emits the function that asks for a short piece of memory at once.
func fetch(c *build.Context) {
	eachLine(c, "fetch", func(m operand.Mem) { c.PREFETCHT1(m) }, "asks for what is in n cache lines from p on, to be in the second-level cache.")
}

// touchLines emits the function that reads from cache lines in their order. To ask for them as fetch does is no
// help where it is used: the processor foresees what follows on loads alone.
func touchLines(c *build.Context) {
	eachLine(c, "touchLines", func(m operand.Mem) { c.MOVQ(m, reg.RAX) }, "reads from n cache lines from p on, in their order.")
}

// eachLine emits a function that does something to n cache lines, at least one.
func eachLine(c *build.Context, name string, do func(m operand.Mem), doc string) {
	function(c, name, "func(p *byte, n int)", name+" "+doc)
	c.Pragma("noescape")
	p, n := reg.RSI, reg.RCX
	load(c, "p", p)
	load(c, "n", n)
	c.Label("line")
	do(at(p, 0))
	c.ADDQ(operand.Imm(cacheLine), p)
	c.DECQ(n)
	c.JNZ(operand.LabelRef("line"))
	c.RET()
}
