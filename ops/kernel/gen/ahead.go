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

// nextPanel asks for the vectors of B in the columns to the right and, where A is read by columns, for those of
// the tile below. Where B lies in place its rows are far apart, so that the processor sees no pattern in the
// two lines that each row begins a panel with. Where B is packed and comes from far, the processor foresees the
// lines, but only a few of them.
func (s *isa) nextPanel(mr int, transposed bool) {
	for line := range 2 * s.bytes / cacheLine {
		s.c.PREFETCHT1(operand.Mem{Base: rB, Index: rNextB, Scale: 1, Disp: line * cacheLine})
	}
	if transposed && s.wide() {
		s.c.PREFETCHT1(at(rA, 4*(2*mr-1)))
	}
}

// fetchC asks for the lines of C that the tile will write, if the caller wants that.
func (s *isa) fetchC(mr int) {
	c, there := s.c, labels(mr)("fetched")
	c.CMPQ(at(rArgs, argFetchC), operand.Imm(0))
	c.JEQ(operand.LabelRef(there))
	s.loadC()
	s.eachRow(mr, rC, rLdb, func(m operand.Mem, h int, _ reg.VecPhysical) {
		if h == 0 || s.wide() {
			c.PREFETCHT0(m)
		}
	})
	c.Label(there)
}

// moveAhead moves rC on by what four steps have fetched, up to the last place. Without anything to fetch the
// step is 0.
func (s *isa) moveAhead() {
	s.c.ADDQ(s.loopArg(argAheadStep), rC)
	s.c.CMPQ(rC, s.loopArg(argAheadLast))
	s.c.CMOVQHI(s.loopArg(argAheadLast), rC)
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

// ownLines emits the function that writes to cache lines what is in them. PREFETCHW does nothing of the kind
// where the line is in the cache already, shared with another core.
func ownLines(c *build.Context) {
	eachLine(c, "ownLines", func(m operand.Mem) { c.ADDL(operand.Imm(0), m) }, "writes what is in n cache lines from p on to them, so that they are this core's alone.")
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
