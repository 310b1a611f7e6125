package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// gemm generates the matrix product: for each instruction set one function that reads A by rows
// and one that reads A by columns (Aᵀ), two packing functions and the loop of the peak meter.
func gemm(c *build.Context) {
	wide := &isa{c: c, name: "512", regs: zmm[:], bytes: 64, rows: 14}
	narrow := &isa{c: c, name: "256", regs: ymm[:], bytes: 32, rows: 6, window: maskWindow(c)}
	for _, s := range []*isa{wide, narrow} {
		s.tiles(false)
		s.tiles(true)
		s.packRows()
		s.packCols()
		s.fmaLoop()
	}
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
	argDoneA
	argDoneC
	argDoneD
)

// Bits of tileArgs.flags.
const (
	flagAcc    = 1 << iota // C is added
	flagAddend             // addend is added
	flagRagged             // cols is less than two vectors: use masks
)

// General registers of the tile functions. R9 to R15 hold odd multiples of lda when A is read by
// rows; BP stays with Go.
var (
	rK, rA, rB, rLdb = reg.RAX, reg.RBX, reg.RCX, reg.R8
	rTmp, rC, rArgs  = reg.RDX, reg.RSI, reg.RDI
	rMul             = []reg.Register{reg.R9, reg.R10, reg.R11, reg.R12, reg.R13, reg.R14, reg.R15}
)

// maskWindow emits the table that AVX2 masks are read from.
func maskWindow(c *build.Context) operand.Mem {
	m := c.StaticGlobal("maskWindow")
	c.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := 0; i < 32; i++ {
		c.AddDatum(8*i, operand.U64(map[bool]uint64{true: 1<<64 - 1}[i < 16]))
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
	c.Load(c.Param("t"), rArgs)
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
		s.sum(mr, transposed)
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

// start sets the accumulators to the bias, or to zero.
func (s *isa) start(mr int) {
	c, acc := s.c, s.regs[:2*mr]
	zero, whole, sum := fmt.Sprintf("zero%d", mr), fmt.Sprintf("whole%d", mr), fmt.Sprintf("sum%d", mr)
	c.MOVQ(at(rArgs, argBias), rTmp)
	c.TESTQ(rTmp, rTmp)
	c.JZ(operand.LabelRef(zero))
	c.TESTQ(operand.I32(flagRagged), at(rArgs, argFlags))
	c.JZ(operand.LabelRef(whole))
	s.masks()
	s.loadMasked(at(rTmp, 0), 0, acc[0])
	s.loadMasked(at(rTmp, s.bytes), 1, acc[1])
	copies := fmt.Sprintf("copies%d", mr)
	c.JMP(operand.LabelRef(copies))
	c.Label(whole)
	c.VMOVUPS(at(rTmp, 0), acc[0])
	c.VMOVUPS(at(rTmp, s.bytes), acc[1])
	c.Label(copies)
	for i := 2; i < len(acc); i++ {
		c.VMOVAPS(acc[i%2], acc[i])
	}
	c.JMP(operand.LabelRef(sum))
	c.Label(zero)
	for _, z := range acc {
		s.zero(z)
	}
	c.Label(sum)
}

// sum emits the loop over k, four steps at a time and then one at a time.
func (s *isa) sum(mr int, transposed bool) {
	const unroll = 4
	c := s.c
	rest, last, end := fmt.Sprintf("rest%d", mr), fmt.Sprintf("last%d", mr), fmt.Sprintf("end%d", mr)
	loop := fmt.Sprintf("loop%d", mr)
	c.MOVQ(at(rArgs, argK), rK)
	c.MOVQ(at(rArgs, argA), rA)
	c.ADDQ(at(rArgs, argDoneA), rA)
	c.MOVQ(at(rArgs, argB), rB)
	c.MOVQ(at(rArgs, argLdb), rLdb)
	if !transposed {
		c.IMUL3Q(operand.Imm(uint64(mr)), rMul[0], rTmp) // the next tile's rows
		c.ADDQ(rA, rTmp)
	}
	step := func(u int) {
		s.step(mr, func(i int) operand.Mem { return addressA(rA, i, u, transposed) })
		if transposed {
			c.ADDQ(rMul[0], rA)
		}
	}
	c.SUBQ(operand.Imm(unroll), rK)
	c.JL(operand.LabelRef(rest))
	c.Label(loop)
	for u := 0; u < unroll; u++ {
		step(u)
		if !transposed {
			c.PREFETCHT0(addressA(rTmp, u, 0, false))
		}
	}
	if !transposed {
		c.ADDQ(operand.Imm(4*unroll), rA)
		s.aimPrefetch(fmt.Sprintf("aimed%d", mr))
	}
	c.SUBQ(operand.Imm(unroll), rK)
	c.JGE(operand.LabelRef(loop))
	c.Label(rest)
	c.ADDQ(operand.Imm(unroll), rK)
	c.JZ(operand.LabelRef(end))
	c.Label(last)
	step(0)
	if !transposed {
		c.ADDQ(operand.Imm(4), rA)
	}
	c.DECQ(rK)
	c.JNZ(operand.LabelRef(last))
	c.Label(end)
}

// aimPrefetch moves rTmp on by four rows, or after sixteen steps of k back to the first row and on by
// a cache line: the next tile's lines are fetched in the order in which it will want them, one for
// each k, while this tile computes. Without it, rows from the third-level cache cost up to a sixth.
func (s *isa) aimPrefetch(label string) {
	c := s.c
	c.LEAQ(operand.Mem{Base: rTmp, Index: rMul[0], Scale: 4}, rTmp)
	c.TESTQ(operand.I32(12), rK) // k left in fours
	c.JNZ(operand.LabelRef(label))
	c.MOVQ(rMul[0], rC)
	c.SHLQ(operand.Imm(4), rC)
	c.SUBQ(rC, rTmp)
	c.ADDQ(operand.Imm(64), rTmp)
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
	for i := 0; i < mr; i++ {
		t := r[2+i%2]
		c.VBROADCASTSS(a(i), t)
		c.VFMADD231PS(b0, t, s.regs[2*i])
		c.VFMADD231PS(b1, t, s.regs[2*i+1])
	}
}

// finish adds C and the addend where asked for, and stores the tile.
func (s *isa) finish(mr int) {
	c := s.c
	label := func(name string) string { return fmt.Sprintf("%s%d", name, mr) }
	c.MOVQ(at(rArgs, argC), rC)
	c.ADDQ(at(rArgs, argDoneC), rC)
	c.MOVQ(at(rArgs, argLdc), rLdb)
	c.MOVQ(at(rArgs, argFlags), rK)
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
	for i := 0; i < mr; i++ {
		f(at(ptr, 0), 0, s.regs[2*i])
		f(at(ptr, s.bytes), 1, s.regs[2*i+1])
		s.c.ADDQ(stride, ptr)
	}
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
		c.ADDQ(operand.Imm(uint64(4*mr)), at(rArgs, argDoneA))
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
