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
	panelDelta
	panelScale
)

const panelStride = 4 * 32 // bytes between two rows of a panel

// Registers of the panel functions.
var (
	panelArgs          = reg.R15
	pPtr, dpPtr, tabP  = reg.RDI, reg.RSI, reg.RDX
	rowsFirst, rowsAll = reg.R8, reg.R9 // without the table; of the panel
	stripeOffset       = reg.R10        // in bytes, of the columns at work
	leftRows           = reg.RCX
)

// panel writes functions that walk down the columns of a panel, two vectors of columns at a time (a
// stripe) and one or two rows in a step.
type panel struct {
	*vec
	rows int // in a step
	tmp  int // vectors of a group: 2·rows
}

func newPanel(v *vec) *panel {
	p := &panel{vec: v, rows: 1}
	if v.wide() {
		p.rows = 2
	}
	p.tmp = 2 * p.rows
	return p
}

// columnwise is a group that holds the same two registers for every row of a step.
func (p *panel) columnwise(first int) group {
	var g group
	for range p.rows {
		g = append(g, p.regs[first], p.regs[first+1])
	}
	return g
}

// step is the group of a step's vectors in the panel at ptr.
func (p *panel) step(ptr reg.Register) group {
	var g group
	for r := range p.rows {
		g = append(g, at(ptr, r*panelStride), at(ptr, r*panelStride+p.bytes))
	}
	return g
}

// table is the group of a step's vectors in the table: a row further down begins an element earlier.
func (p *panel) table() group {
	var g group
	for r := range p.rows {
		g = append(g, at(tabP, -4*r), at(tabP, -4*r+p.bytes))
	}
	return g
}

// stripes emits body for every stripe, with the pointers of the panel set to it.
func (p *panel) stripes(body func()) {
	c := p.c
	c.Load(c.Param("args"), panelArgs)
	c.MOVQ(at(panelArgs, panelPlain), rowsFirst)
	c.MOVQ(at(panelArgs, panelN), rowsAll)
	c.XORQ(stripeOffset, stripeOffset)
	c.Label("stripe")
	body()
	c.ADDQ(operand.I32(2*p.bytes), stripeOffset)
	c.CMPQ(stripeOffset, operand.I32(panelStride))
	c.JL(operand.LabelRef("stripe"))
	c.VZEROUPPER()
	c.RET()
}

// pointer sets r to the stripe's place in what field points to.
func (p *panel) pointer(field int, r reg.Register) {
	p.c.MOVQ(at(panelArgs, field), r)
	p.c.ADDQ(stripeOffset, r)
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

// foldRows combines the rows of a step to the first two vectors.
func (p *panel) foldRows(op func(a, b, d group), g group) {
	for r := 1; r < p.rows; r++ {
		op(g[:2], g[2*r:2*r+2], g[:2])
	}
}

// maxima emits p = p + table and leaves the maxima of the columns in the first two registers of acc.
func (p *panel) maxima(x, acc group) {
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
}

// softmax emits, for each column of p with the table added to its rows: p = exp(p - max)/Σ, and
// logSum = log Σ. A column of minus infinities becomes zeros, its logSum 0.
func (p *panel) softmax() {
	p.begin("softmaxPanel", "func(args *panelArgs)", "is the softmax of the columns of a panel.")
	n := p.tmp
	p.group = n
	x, k, y, acc := p.from(0), p.from(n), p.from(2*n), p.from(3*n)
	top := p.columnwise(4 * n)
	p.hold(2, p.expConstants()...)
	p.stripes(func() {
		p.maxima(x, acc)
		p.mov(acc[:2], top[:2])
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
		p.statistics(acc[:2])
		p.pointer(panelP, pPtr)
		p.walk(rowsAll, func() {
			p.mov(p.step(pPtr), k)
			p.mul(k, p.columnwise(0), k)
			p.mov(k, p.step(pPtr))
		}, pPtr)
	})
}

// statistics stores the logarithms of the sums of a stripe, and leaves 1/sum in the first two
// registers. Both are 0 where the sum is.
func (p *panel) statistics(sum group) {
	steps := p.group
	p.group = 2
	x, e, f, y := p.from(0), p.from(2), p.from(4), p.from(p.temporaries())
	p.mov(sum, x)
	p.log(x, e, f, y)
	p.where(notEqual, sum, x, y)
	p.pointer(panelLogSum, reg.R11)
	p.mov(y, p.memory(reg.R11, 0))
	p.mov(p.k(1), x)
	p.div(x, sum, x)
	p.where(notEqual, sum, e, x)
	p.group = steps
}

// gradient emits, for p with the table added: p = exp(p - max - logSum), dp = p ⊙ (dp - delta)·scale.
func (p *panel) gradient() {
	p.begin("gradPanel", "func(args *panelArgs)", "computes weights and gradients of the scores of a panel.")
	n := p.tmp
	p.group = n
	x, k, y := p.from(0), p.from(n), p.from(2*n)
	top, logSum, delta := p.columnwise(3*n), p.columnwise(4*n), p.columnwise(4*n+2)
	scale := p.regs[4*n+4]
	p.hold(4*n+5-p.temporaries(), p.expConstants()...)
	p.stripes(func() {
		p.maxima(x, p.from(3*n))
		p.c.VBROADCASTSS(at(panelArgs, panelScale), scale)
		p.pointer(panelLogSum, reg.R11)
		p.mov(p.memory(reg.R11, 0)[:2], logSum[:2])
		p.pointer(panelDelta, reg.R11)
		p.mov(p.memory(reg.R11, 0)[:2], delta[:2])
		p.pointer(panelP, pPtr)
		p.pointer(panelDP, dpPtr)
		p.walk(rowsAll, func() {
			p.mov(p.step(pPtr), x)
			p.sub(x, top, x)
			p.sub(x, logSum, x)
			p.exp(x, k, y, false)
			p.mov(y, p.step(pPtr))
			p.mov(p.step(dpPtr), k)
			p.sub(k, delta, k)
			p.mul(k, y, k)
			p.mul(k, p.same(scale), k)
			p.mov(k, p.step(dpPtr))
		}, pPtr, dpPtr)
	})
}
