package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Byte offsets of the fields of the Go type panelArgs.
const (
	panelP = 8 * iota
	panelDP
	panelN
	panelPlain
	panelTab
	panelLogSum
	panelInverse
)

const panelStride = 4 * 16 // bytes between two rows of a panel

// Registers of the panel functions.
var (
	panelArgs          = reg.R15
	pPtr, dpPtr, tabP  = reg.RDI, reg.RSI, reg.RDX
	rowsFirst, rowsAll = reg.R8, reg.R9 // without the table; of the panel
	leftRows           = reg.RCX
)

// panel writes functions that walk down the columns of a panel, four vectors in a step, or two where
// registers are few.
type panel struct {
	*vec
	vectors int // of a row
	rows    int // in a step
	tmp     int // vectors of a step
}

func newPanel(v *vec) *panel {
	p := &panel{vec: v, vectors: panelStride / v.bytes, rows: 1}
	if v.wide() {
		p.rows = 4
	}
	p.tmp = p.vectors * p.rows
	return p
}

// columnwise is a group that holds the same registers for every row of a step.
func (p *panel) columnwise(first int) group {
	var g group
	for range p.rows {
		for u := range p.vectors {
			g = append(g, p.regs[first+u])
		}
	}
	return g
}

// step is the group of a step's vectors in the panel at ptr.
func (p *panel) step(ptr reg.Register) group { return p.memory(ptr, 0) }

// table is the group of a step's vectors in the table: a row further down begins an element earlier.
func (p *panel) table() group {
	var g group
	for r := range p.rows {
		for u := range p.vectors {
			g = append(g, at(tabP, -4*r+u*p.bytes))
		}
	}
	return g
}

// start loads the arguments.
func (p *panel) start() {
	c := p.c
	c.Load(c.Param("args"), panelArgs)
	c.MOVQ(at(panelArgs, panelPlain), rowsFirst)
	c.MOVQ(at(panelArgs, panelN), rowsAll)
}

// finish ends a function.
func (p *panel) finish() {
	p.c.VZEROUPPER()
	p.c.RET()
}

// pointer sets r to what field points to.
func (p *panel) pointer(field int, r reg.Register) { p.c.MOVQ(at(panelArgs, field), r) }

// column is what field points to, one element a column.
func (p *panel) column(field int) group {
	p.pointer(field, reg.R11)
	return p.memory(reg.R11, 0)[:p.vectors]
}

// walk emits a loop over count rows, a step at a time.
func (p *panel) walk(count reg.Register, body func(), advance ...reg.Register) {
	c := p.c
	loop, end := p.label("walk"), p.label("walked")
	c.MOVQ(count, leftRows)
	c.TESTQ(leftRows, leftRows)
	c.JLE(operand.LabelRef(end))
	c.Label(loop)
	body()
	for _, r := range advance {
		c.ADDQ(operand.I32(p.rows*panelStride), r)
	}
	c.SUBQ(operand.Imm(uint64(p.rows)), leftRows)
	c.JG(operand.LabelRef(loop))
	c.Label(end)
}

// both emits a loop over the rows without the table, then one over the rows with it.
func (p *panel) both(body func(table bool), advance ...reg.Register) {
	p.walk(rowsFirst, func() { body(false) }, advance...)
	p.c.MOVQ(rowsAll, reg.R11)
	p.c.SUBQ(rowsFirst, reg.R11)
	p.walk(reg.R11, func() {
		body(true)
		p.c.SUBQ(operand.Imm(uint64(4*p.rows)), tabP)
	}, advance...)
}

// foldRows combines the rows of a step to the vectors of the first.
func (p *panel) foldRows(op func(a, b, d group), g group) {
	n := p.vectors
	for r := 1; r < p.rows; r++ {
		op(g[:n], g[n*r:n*r+n], g[:n])
	}
}

// maxima emits p = p + table and leaves the maxima of the columns in the registers of top.
func (p *panel) maxima(x, acc, top group) {
	p.pointer(panelP, pPtr)
	p.pointer(panelTab, tabP)
	p.mov(p.k(lowest), acc)
	p.both(func(table bool) {
		p.mov(p.step(pPtr), x)
		if table {
			p.add(x, p.table(), x)
			p.mov(x, p.step(pPtr))
		}
		p.max(x, acc, acc)
	}, pPtr)
	p.foldRows(p.max, acc)
	p.mov(acc[:p.vectors], top[:p.vectors])
}

// softmax emits, for each column of p with the table added to its rows: p = exp(p - max), inverse = 1/Σ
// and logSum = log Σ over the column. A column of minus infinities becomes zeros, as both of its sums.
func (p *panel) softmax() {
	p.begin("softmaxPanel", "func(args *panelArgs)", "computes the exponentials of the columns of a panel, and their sums.")
	n := p.tmp
	p.group = n
	x, k, y, acc := p.from(0), p.from(n), p.from(2*n), p.from(3*n)
	top := p.columnwise(4 * n)
	p.hold(0, p.expConstants()...)
	p.start()
	p.maxima(x, acc, top)
	p.clear(acc)
	p.pointer(panelP, pPtr)
	p.walk(rowsAll, func() {
		p.mov(p.step(pPtr), x)
		p.sub(x, top, x)
		p.exp(x, k, y, false)
		p.add(acc, y, acc)
		p.mov(y, p.step(pPtr))
	}, pPtr)
	p.foldRows(p.add, acc)
	p.statistics(acc[:p.vectors], top[:p.vectors])
	p.finish()
}

// statistics stores 1/sum and the logarithms of the sums, or 0 where the sum is. It overwrites y.
func (p *panel) statistics(sum, y group) {
	n := p.vectors
	p.group = n
	x, e, f := p.from(0), p.from(n), p.from(2*n)
	p.mov(p.k(1), x)
	p.div(x, sum, x)
	p.where(notEqual, sum, e, x)
	p.mov(x, p.column(panelInverse))
	p.mov(sum, x)
	p.log(x, e, f, y)
	p.where(notEqual, sum, x, y)
	p.mov(y, p.column(panelLogSum))
}

// gradient emits, for p with the table added: p = exp(p - max - logSum), δ = Σ p ⊙ dp over the column, and
// dp = p ⊙ (dp - δ).
func (p *panel) gradient() {
	p.begin("gradPanel", "func(args *panelArgs)", "computes weights and gradients of the scores of a panel.")
	n := p.tmp
	p.group = n
	x, k, y, acc := p.from(0), p.from(n), p.from(2*n), p.from(3*n)
	top, logSum, delta := p.columnwise(4*n), p.columnwise(4*n+p.vectors), p.columnwise(3*n)
	p.hold(max(4*n+2*p.vectors-p.temporaries(), 0), p.expConstants()...)
	p.start()
	p.maxima(x, acc, top)
	p.mov(p.column(panelLogSum), logSum[:p.vectors])
	p.clear(acc)
	p.pointer(panelP, pPtr)
	p.pointer(panelDP, dpPtr)
	p.walk(rowsAll, func() {
		p.mov(p.step(pPtr), x)
		p.sub(x, top, x)
		p.sub(x, logSum, x)
		p.exp(x, k, y, false)
		p.mov(y, p.step(pPtr))
		p.addMul(y, p.step(dpPtr), acc)
	}, pPtr, dpPtr)
	p.foldRows(p.add, acc)
	p.pointer(panelP, pPtr)
	p.pointer(panelDP, dpPtr)
	p.walk(rowsAll, func() {
		p.mov(p.step(dpPtr), x)
		p.sub(x, delta, x)
		p.mul(x, p.step(pPtr), x)
		p.mov(x, p.step(dpPtr))
	}, pPtr, dpPtr)
	p.finish()
}
