package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Byte offsets of the fields of the Go type narrowArgs.
const (
	narrowRows = 8 * iota
	narrowCols
	narrowK
	narrowA
	narrowB
	narrowLdb
	narrowC
	narrowLdc
	narrowAcc
)

// narrow emits the product of a panel, [·][32], and a matrix of at most one vector of columns: for
// heads so narrow that half of a tile of the general product would be empty. Element (i, k) of the
// left side is row i and column k of the panel, or with transposed row k and column i. As in the
// general product, the sum runs over k in ascending order and C is added last.
func (v *vec) narrow(transposed bool) {
	name, rowStep, kStep := "narrow", panelStride, 4
	if transposed {
		name, rowStep, kStep = "narrowT", 4, panelStride
	}
	v.begin(name, "func(args *narrowArgs)", "multiplies a panel by a matrix of up to 16 columns.")
	c := v.c
	args, rows, k, a, ldb, out, ldc := reg.R15, reg.R8, reg.R9, reg.RSI, reg.R10, reg.RDI, reg.R11
	aRow, bRow := reg.RAX, reg.RBX
	c.Load(c.Param("args"), args)
	c.MOVQ(at(args, narrowCols), reg.RCX)
	v.maskFor(reg.RCX, aRow)
	c.MOVQ(at(args, narrowRows), rows)
	c.MOVQ(at(args, narrowA), a)
	c.MOVQ(at(args, narrowLdb), ldb)
	c.MOVQ(at(args, narrowC), out)
	c.MOVQ(at(args, narrowLdc), ldc)
	for _, height := range []int{16, 4, 1} {
		block, next := fmt.Sprintf("block%d", height), fmt.Sprintf("next%d", height)
		v.group = height
		acc, x := v.from(0), group{v.regs[31]}
		c.Label(block)
		c.SUBQ(operand.Imm(uint64(height)), rows)
		c.JL(operand.LabelRef(next))
		v.clear(acc)
		c.MOVQ(a, aRow)
		c.MOVQ(at(args, narrowB), bRow)
		c.MOVQ(at(args, narrowK), k)
		loop := v.label("k")
		c.Label(loop)
		v.load(true, group{at(bRow, 0)}, x)
		for i := range height {
			c.VFMADD231PS_BCST(at(aRow, i*rowStep), x[0], acc[i])
		}
		c.ADDQ(ldb, bRow)
		c.ADDQ(operand.I32(kStep), aRow)
		c.DECQ(k)
		c.JNZ(operand.LabelRef(loop))
		v.narrowStore(acc, args, out, ldc, bRow)
		c.ADDQ(operand.I32(height*rowStep), a)
		c.JMP(operand.LabelRef(block))
		c.Label(next)
		c.ADDQ(operand.Imm(uint64(height)), rows)
	}
	c.VZEROUPPER()
	c.RET()
}

// narrowStore adds C if asked for, stores the rows of a block, and moves out behind them.
func (v *vec) narrowStore(acc group, args, out, ldc, tmp reg.Register) {
	c := v.c
	store := v.label("store")
	c.CMPQ(at(args, narrowAcc), operand.Imm(0))
	c.JEQ(operand.LabelRef(store))
	c.MOVQ(out, tmp)
	for _, r := range acc {
		c.VADDPS(at(tmp, 0), r, reg.K1, r)
		c.ADDQ(ldc, tmp)
	}
	c.Label(store)
	for _, r := range acc {
		v.store(true, group{r}, group{at(out, 0)})
		c.ADDQ(ldc, out)
	}
}
