package main

import (
	"fmt"
	"slices"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// gemm generates the matrix product: for each instruction set one function that reads A by rows
// and one that reads A by columns (Aᵀ), packing functions and the loop of the peak meter; and
// functions that fetch cache lines, or take them from other cores.
func gemm(c *build.Context) {
	wide := &isa{c: c, name: "512", regs: zmm[:], bytes: 64, rows: 14}
	narrow := &isa{c: c, name: "256", regs: ymm[:], bytes: 32, rows: 6, window: maskWindow(c)}
	for _, s := range []*isa{wide, narrow} {
		s.tiles(false)
		s.tiles(true)
		s.packRows()
		s.packCols()
		s.packTile()
		s.fmaLoop()
	}
	narrow.packPieces()
	fetch(c)
	touchLines(c)
	ownLines(c)
}

// isa is what differs between AVX-512 and AVX2: the registers and how a ragged edge is masked.
type isa struct {
	c     *build.Context
	name  string
	regs  []reg.VecPhysical
	bytes int // of a vector
	rows  int // of the tallest tile: 2·rows accumulators, 2 vectors of B, 2 broadcasts
	// window is a table of 32 ones and 32 zeros (of 32 bits each). A mask of n lanes starts n
	// before its middle. Only AVX2 needs it.
	window operand.Mem
	stack  operand.Mem // of the function being written
}

// Byte offsets of the fields of the Go type tileArgs.
const (
	argK = 8 * iota
	argA
	argLda
	argB
	argLdb
	argC
	argLdc
	argBias
	argAddend
	argLdd
	argFlags
	argCols
	argRows
	argBig
	argSmall
	argTail
	argDoneA
	argDoneC
	argDoneD
	argAhead
	argAheadLast
	argAheadStep
	argRewindA
	argNextB
	argFetchC
	argStepA
)

// Bits of tileArgs.flags.
const (
	flagAcc    = 1 << iota // C is added
	flagAddend             // addend is added
	flagRagged             // cols is less than two vectors: use masks
)

// General registers of the tile functions. R9 to R15 hold odd multiples of lda when A is read by
// rows; BP stays with Go. While a tile sums over k, the register of the arguments holds argNextB, and
// the stack holds loopArgs.
var (
	rK, rA, rB, rLdb = reg.RAX, reg.RBX, reg.RCX, reg.R8
	rTmp, rC, rArgs  = reg.RDX, reg.RSI, reg.RDI
	rNextB           = rArgs
	rMul             = []reg.Register{reg.R9, reg.R10, reg.R11, reg.R12, reg.R13, reg.R14, reg.R15}
)

// loopArgs are the arguments that are read while a tile sums over k.
var loopArgs = []int{argAheadLast, argAheadStep, argRewindA}

// keepLoopArgs copies loopArgs to the stack.
func (s *isa) keepLoopArgs() {
	s.stack = s.c.AllocLocal(8 * len(loopArgs))
	for _, arg := range loopArgs {
		s.c.MOVQ(at(rArgs, arg), rTmp)
		s.c.MOVQ(rTmp, s.loopArg(arg))
	}
}

// loopArg is where one of loopArgs is on the stack.
func (s *isa) loopArg(arg int) operand.Mem {
	i := slices.Index(loopArgs, arg)
	if i < 0 {
		panic(fmt.Sprintf("the argument at %d is not kept", arg))
	}
	return s.stack.Offset(8 * i)
}

// maskWindow emits the table that AVX2 masks are read from.
func maskWindow(c *build.Context) operand.Mem {
	m := c.StaticGlobal("maskWindow")
	c.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := range 16 {
		c.AddDatum(8*i, operand.U64(1<<64-1))
	}
	for i := 16; i < 32; i++ {
		c.AddDatum(8*i, operand.U64(0))
	}
	return m
}

// tiles emits the function that computes one column of tiles: big tiles of rows rows, then small
// tiles of one row less, each two vectors wide.
//
//	C = bias + Σ_k A(i,k)·B(k,·) [+ C] [+ addend]
//
// The sum runs over k in ascending order with one fused multiply-add a step, so that an element
// does not depend on the height of its tile, on its place in it, or on the width of the vectors.
func (s *isa) tiles(transposed bool) {
	c, name := s.c, "tiles"+s.name
	doc := "computes a column of tiles; A(i,k) is at a + i*lda + 4*k."
	if transposed {
		name, doc = "tilesT"+s.name, "computes a column of tiles; A(i,k) is at a + 4*i + k*lda."
	}
	function(c, name, "func(t *tileArgs)", name+" "+doc)
	c.Pragma("noescape")
	load(c, "t", rArgs)
	s.keepLoopArgs()
	c.MOVQ(at(rArgs, argLda), rMul[0])
	if !transposed {
		for i := 1; 2*i+1 < s.rows; i++ {
			c.LEAQ(operand.Mem{Base: rMul[i-1], Index: rMul[0], Scale: 2}, rMul[i])
		}
	}
	s.dispatch()
	for mr := 1; mr <= s.rows; mr++ {
		c.Label(fmt.Sprintf("tile%d", mr))
		s.start(mr)
		s.fetchC(mr)
		s.sum(mr, transposed)
		if s.wide() {
			s.tail(mr, transposed)
		}
		s.finish(mr)
		s.advance(mr, transposed)
		c.JMP(operand.LabelRef("next"))
	}
}

// dispatch takes the next tile from the two counters and jumps to the code for its height.
func (s *isa) dispatch() {
	c := s.c
	c.Label("next")
	c.MOVQ(at(rArgs, argRows), rTmp)
	c.SUBQ(operand.Imm(1), at(rArgs, argBig))
	c.JGE(operand.LabelRef("pick"))
	c.DECQ(rTmp)
	c.SUBQ(operand.Imm(1), at(rArgs, argSmall))
	c.JGE(operand.LabelRef("pick"))
	c.VZEROUPPER()
	c.RET()
	c.Label("pick")
	s.pick(1, s.rows)
}

// pick emits a binary search for the height in rTmp, which is between lo and hi.
func (s *isa) pick(lo, hi int) {
	if lo == hi {
		s.c.JMP(operand.LabelRef(fmt.Sprintf("tile%d", lo)))
		return
	}
	mid := (lo + hi) / 2
	above := fmt.Sprintf("above%d", mid)
	s.c.CMPQ(rTmp, operand.Imm(uint64(mid)))
	s.c.JG(operand.LabelRef(above))
	s.pick(lo, mid)
	s.c.Label(above)
	s.pick(mid+1, hi)
}

// advance counts the bytes of A, C and the addend that are done. The pointers themselves stay: one
// past the end of a slice would be invalid when the garbage collector looks at the arguments.
func (s *isa) advance(mr int, transposed bool) {
	c := s.c
	skip := func(stride reg.Register, done int) {
		c.IMUL3Q(operand.Imm(uint64(mr)), stride, rTmp)
		c.ADDQ(rTmp, at(rArgs, done))
	}
	skip(rLdb, argDoneC) // holds ldc
	c.MOVQ(at(rArgs, argLdd), rB)
	skip(rB, argDoneD)
	if transposed {
		c.MOVQ(at(rArgs, argStepA), rTmp)
		c.LEAQ(at(rTmp, 4*mr), rTmp)
		c.ADDQ(rTmp, at(rArgs, argDoneA))
	} else {
		skip(rMul[0], argDoneA)
	}
}

// fmaLoop emits a loop of independent multiply-adds, what the peak is measured with.
func (s *isa) fmaLoop() {
	c := s.c
	function(c, "fmaLoop"+s.name, "func(n int)", fmt.Sprintf("fmaLoop%s runs n times %d independent vector multiply-adds.", s.name, 2*s.rows))
	c.Load(c.Param("n"), rK)
	for _, r := range s.regs[:2*s.rows+1] {
		s.zero(r)
	}
	x := s.regs[2*s.rows]
	c.Label("loop")
	for _, r := range s.regs[:2*s.rows] {
		c.VFMADD231PS(x, x, r)
	}
	c.DECQ(rK)
	c.JNZ(operand.LabelRef("loop"))
	c.VZEROUPPER()
	c.RET()
}
