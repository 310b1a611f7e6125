package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Byte offsets of the fields of the Go type panelMulArgs.
const (
	mulRows = 8 * iota
	mulCols
	mulK
	mulA
	mulLda
	mulB
	mulLdb
	mulC
	mulLdc
	mulAcc
	mulTriangle
	mulTriangleAcc
	mulFactors
)

// Registers of the products with panels.
var (
	mulArgs, mulLeft   = reg.R15, reg.R8 // rows that are left
	mulPtr             = []reg.Register{reg.RAX, reg.R12, reg.R13, reg.R14}
	mulStep, mulTriple = reg.RDX, reg.RCX // distance between rows of A, and three times that
	mulCount, mulRowB  = reg.R9, reg.RBX
	mulStart, mulOut   = reg.RSI, reg.RDI // the block's rows of A and of C
	mulStepB, mulStepC = reg.R10, reg.R11
	mulFactor          = reg.R12 // where A is transposed and needs one pointer
	mulRight           = zmm[31]
	mulHeights         = []int{16, 4, 1}
)

// panelMul writes the products of attention's tiles, one vector of columns at a time: C = A·B, where A or C
// is a panel, and C = Aᵀ·B for a panel A. A row of C is one accumulator, and every multiply-add
// broadcasts its element of A from memory. As in the general product, the sum runs over k in ascending order and
// C is added last.
type panelMul struct {
	*vec
	transposed bool
}

// left is where element (i, k+u) of the left side is, seen from the pointers, which stand at k.
func (m *panelMul) left(i, u int) operand.Mem {
	if m.transposed {
		return at(mulPtr[0], 4*i+panelStride*u)
	}
	x := at(mulPtr[i/4], 4*u)
	switch i % 4 {
	case 1, 2:
		x.Index, x.Scale = mulStep, uint8(i%4)
	case 3:
		x.Index, x.Scale = mulTriple, 1
	}
	return x
}

// emit writes the function.
func (m *panelMul) emit() {
	name, doc := "panelMul", "computes C = A·B or C += A·B for up to 16 columns."
	if m.transposed {
		name, doc = "panelMulT", "computes C = Aᵀ·B for a panel A and up to 16 columns, rows multiplied by factors if there are any."
	}
	m.begin(name, "func(args *panelMulArgs)", doc)
	c := m.c
	c.Load(c.Param("args"), mulArgs)
	c.MOVQ(at(mulArgs, mulCols), reg.RCX)
	m.maskFor(reg.RCX, reg.RAX)
	m.arguments()
	for _, height := range mulHeights {
		m.blocks(height)
	}
	if !m.transposed {
		m.triangle()
	}
	c.VZEROUPPER()
	c.RET()
}

// arguments loads the registers that stay as they are, and the pointers to the first block.
func (m *panelMul) arguments() {
	c := m.c
	c.MOVQ(at(mulArgs, mulRows), mulLeft)
	c.MOVQ(at(mulArgs, mulA), mulStart)
	c.MOVQ(at(mulArgs, mulLdb), mulStepB)
	c.MOVQ(at(mulArgs, mulC), mulOut)
	c.MOVQ(at(mulArgs, mulLdc), mulStepC)
	if m.transposed {
		c.MOVQ(at(mulArgs, mulFactors), mulFactor)
		return
	}
	c.MOVQ(at(mulArgs, mulLda), mulStep)
	c.LEAQ(operand.Mem{Base: mulStep, Index: mulStep, Scale: 2}, mulTriple)
}

// blocks emits the loop over blocks of height rows, as long as there are that many.
func (m *panelMul) blocks(height int) {
	c := m.c
	block, next := fmt.Sprintf("block%d", height), fmt.Sprintf("next%d", height)
	m.group = height
	acc := m.from(0)
	c.Label(block)
	c.SUBQ(operand.Imm(uint64(height)), mulLeft)
	c.JL(operand.LabelRef(next))
	m.clear(acc)
	m.point(height)
	if m.transposed {
		m.sumT(height, acc)
		m.finishT(acc)
	} else {
		m.sum(height, acc)
		m.finish(acc, 0, mulAcc)
	}
	c.JMP(operand.LabelRef(block))
	c.Label(next)
	c.ADDQ(operand.Imm(uint64(height)), mulLeft)
}

// point sets the pointers to the block's first k, and moves the start behind the block.
func (m *panelMul) point(height int) {
	c := m.c
	c.MOVQ(at(mulArgs, mulB), mulRowB)
	c.MOVQ(at(mulArgs, mulK), mulCount)
	c.MOVQ(mulStart, mulPtr[0])
	if m.transposed {
		c.ADDQ(operand.I32(4*height), mulStart)
		return
	}
	for i := 4; i < height; i += 4 {
		c.LEAQ(operand.Mem{Base: mulPtr[i/4-1], Index: mulStep, Scale: 4}, mulPtr[i/4])
	}
	c.LEAQ(operand.Mem{Base: mulPtr[max(height/4-1, 0)], Index: mulStep, Scale: uint8(min(height, 4))}, mulStart)
}

// sum emits the sum over k, but for the last.
func (m *panelMul) sum(height int, acc group) {
	c := m.c
	loop, end := m.label("k"), m.label("last")
	c.DECQ(mulCount)
	c.JZ(operand.LabelRef(end))
	c.Label(loop)
	m.term(0, acc, 0, height)
	for i := 0; i < height; i += 4 {
		c.ADDQ(operand.Imm(4), mulPtr[i/4])
	}
	c.DECQ(mulCount)
	c.JNZ(operand.LabelRef(loop))
	c.Label(end)
}

// sumT emits the sum over k for C = Aᵀ·B. With a triangle, of the last 16 k only those up to the row.
func (m *panelMul) sumT(height int, acc group) {
	c := m.c
	loop, triangle, end := m.label("k"), m.label("triangle"), m.label("summed")
	if height == 16 {
		c.CMPQ(at(mulArgs, mulTriangle), operand.Imm(0))
		c.JEQ(operand.LabelRef(loop))
		c.SUBQ(operand.Imm(16), mulCount)
		c.JZ(operand.LabelRef(triangle))
	}
	c.Label(loop)
	m.term(0, acc, 0, height)
	c.ADDQ(operand.I32(panelStride), mulPtr[0])
	c.DECQ(mulCount)
	c.JNZ(operand.LabelRef(loop))
	if height == 16 {
		c.CMPQ(at(mulArgs, mulTriangle), operand.Imm(0))
		c.JEQ(operand.LabelRef(end))
		c.Label(triangle)
		for u := range height {
			m.term(u, acc, u, height)
		}
		c.Label(end)
	}
}

// triangle emits C = A·B for the 16 rows behind the others, if there is a triangle: of their 16 k only those from
// the row on.
func (m *panelMul) triangle() {
	c := m.c
	end := m.label("done")
	c.CMPQ(at(mulArgs, mulTriangle), operand.Imm(0))
	c.JEQ(operand.LabelRef(end))
	m.group = 16
	acc := m.from(0)
	m.clear(acc)
	m.point(len(acc))
	last := len(acc) - 1
	for u := range last {
		m.term(u, acc, 0, u+1)
	}
	m.finish(acc, last, mulTriangleAcc)
	c.Label(end)
}

// term adds k+u to rows [from, to).
func (m *panelMul) term(u int, acc group, from, to int) {
	m.load(true, group{at(mulRowB, 0)}, group{mulRight})
	m.c.ADDQ(mulStepB, mulRowB)
	for i := from; i < to; i++ {
		m.c.VFMADD231PS_BCST(m.left(i, u), mulRight, acc[i])
	}
}

// finish adds k+u, the last, and C if the argument says so, and stores each row of a block as soon as it is complete:
// all stores at the end would not overlap with what comes before.
func (m *panelMul) finish(acc group, u, add int) {
	c := m.c
	plain, end := m.label("plain"), m.label("stored")
	rows := func(add bool) {
		for i, r := range acc {
			c.VFMADD231PS_BCST(m.left(i, u), mulRight, r)
			if add {
				c.VADDPS(at(mulOut, 0), r, reg.K1, r)
			}
			m.storeRow(r)
		}
	}
	m.load(true, group{at(mulRowB, 0)}, group{mulRight})
	c.CMPQ(at(mulArgs, add), operand.Imm(0))
	c.JEQ(operand.LabelRef(plain))
	rows(true)
	c.JMP(operand.LabelRef(end))
	c.Label(plain)
	rows(false)
	c.Label(end)
}

// finishT multiplies the rows of a block by the factors, if there are any, and stores them.
func (m *panelMul) finishT(acc group) {
	c := m.c
	store := m.label("store")
	c.TESTQ(mulFactor, mulFactor)
	c.JZ(operand.LabelRef(store))
	for i, r := range acc {
		c.VMULPS_BCST(at(mulFactor, 4*i), r, r)
	}
	c.ADDQ(operand.I32(4*len(acc)), mulFactor)
	c.Label(store)
	for _, r := range acc {
		m.storeRow(r)
	}
}

// storeRow stores a row of C, and moves behind it.
func (m *panelMul) storeRow(r operand.Op) {
	m.store(true, group{r}, group{at(mulOut, 0)})
	m.c.ADDQ(mulStepC, mulOut)
}
