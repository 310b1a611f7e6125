package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

// vector generates the element-wise functions, norms, losses, attention's panels and the optimizer.
func vector(c *build.Context) {
	values := map[uint32]operand.Mem{}
	window := maskWindow(c)
	for _, s := range []*isa{
		{c: c, name: "512", regs: zmm[:], bytes: 64},
		{c: c, name: "256", regs: ymm[:], bytes: 32, window: window},
	} {
		v := &vec{isa: s, values: values}
		v.maps()
		v.norm(true)
		v.norm(false)
		v.normGrad()
		v.dyt()
		v.dytGrad()
		v.rowDots()
		v.rotateHalves()
		v.dropout()
		v.expRows()
		v.expScaled()
		v.softmaxGrad()
		v.colSum()
		v.adamW()
		v.adamWMeasured()
		v.sumSquaresNarrow()
		p := newPanel(v)
		p.softmax()
		p.gradient()
		if !v.wide() { // both paths use them: widening to 512 bits takes twice as long as twice to 256
			v.sums("sum", "adds x.", 0)
			v.sums("sumSquares", "adds x².", 1)
			v.sums("dot", "adds x·y.", 2)
		} else {
			for _, transposed := range []bool{false, true} {
				m := panelMul{vec: v, transposed: transposed}
				m.emit()
			}
		}
	}
}
