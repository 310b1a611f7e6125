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
	m.sum(height, acc)
	m.finish(acc, mulAcc)
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

// sum emits the sum over k. For C = Aᵀ·B with a triangle, of the last 16 k only those up to the row.
func (m *panelMul) sum(height int, acc group) {
	c := m.c
	loop, triangle, end := m.label("k"), m.label("triangle"), m.label("summed")
	hasTriangle := m.transposed && height == 16
	if hasTriangle {
		c.CMPQ(at(mulArgs, mulTriangle), operand.Imm(0))
		c.JEQ(operand.LabelRef(loop))
		c.SUBQ(operand.Imm(16), mulCount)
		c.JZ(operand.LabelRef(triangle))
	}
	c.Label(loop)
	m.term(0, acc, 0, height)
	if m.transposed {
		c.ADDQ(operand.I32(panelStride), mulPtr[0])
	} else {
		for i := 0; i < height; i += 4 {
			c.ADDQ(operand.Imm(4), mulPtr[i/4])
		}
	}
	c.DECQ(mulCount)
	c.JNZ(operand.LabelRef(loop))
	if hasTriangle {
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
	for u := range acc {
		m.term(u, acc, 0, u+1)
	}
	m.finish(acc, mulTriangleAcc)
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

// finish adds C if the argument says so, or multiplies by the factors if there are any, stores the rows of a block, and moves behind them.
func (m *panelMul) finish(acc group, add int) {
	c := m.c
	store := m.label("store")
	if m.transposed {
		c.TESTQ(mulFactor, mulFactor)
		c.JZ(operand.LabelRef(store))
		for i, r := range acc {
			c.VMULPS_BCST(at(mulFactor, 4*i), r, r)
		}
		c.ADDQ(operand.I32(4*len(acc)), mulFactor)
	} else {
		c.CMPQ(at(mulArgs, add), operand.Imm(0))
		c.JEQ(operand.LabelRef(store))
		c.MOVQ(mulOut, mulRowB)
		for _, r := range acc {
			c.VADDPS(at(mulRowB, 0), r, reg.K1, r)
			c.ADDQ(mulStepC, mulRowB)
		}
	}
	c.Label(store)
	for _, r := range acc {
		m.store(true, group{r}, group{at(mulOut, 0)})
		c.ADDQ(mulStepC, mulOut)
	}
}
