package kernel

import "unsafe"

// panelArgs are the arguments of the assembly of panels. gen/panel.go knows the order of the fields,
// all of which are eight bytes but the last.
type panelArgs struct {
	p, dp         *float32
	rows, plain   int
	table         *float32
	logSum, delta *float32
	scale         float32
}

func (p *panel[T]) args() panelArgs {
	a := panelArgs{rows: p.rows(), plain: p.plain, scale: float32(p.scale)}
	a.p, a.dp = unsafe.SliceData(as32(p.p)), unsafe.SliceData(as32(p.dp))
	a.logSum, a.delta = unsafe.SliceData(as32(p.logSum[:PanelWidth])), unsafe.SliceData(as32(p.delta[:PanelWidth]))
	if n := p.rows(); n > p.plain {
		_ = p.added(p.plain) // the first and the last piece must be inside the table
		_ = p.added(n - 1)
		a.table = unsafe.SliceData(as32(p.table[p.first:]))
	}
	return a
}

func (p *panel[T]) softmaxVector() bool {
	if active < pathAVX2 {
		return false
	}
	a := p.args()
	if active == pathAVX512 {
		softmaxPanel512(&a)
	} else {
		softmaxPanel256(&a)
	}
	return true
}

func (p *panel[T]) gradientVector() bool {
	if active < pathAVX2 {
		return false
	}
	a := p.args()
	if active == pathAVX512 {
		gradPanel512(&a)
	} else {
		gradPanel256(&a)
	}
	return true
}

// narrowArgs are the arguments of the products of panels. gen/narrow.go knows the order of the
// fields, all of which are eight bytes. Strides are in bytes.
type narrowArgs struct {
	rows, cols, k int
	a, b          *float32
	ldb           int
	c             *float32
	ldc           int
	acc           int // C is added if not 0
}

func narrowVector(rows, cols, k int, p, b []float32, ldb int, c []float32, ldc int) bool {
	if active != pathAVX512 {
		return false
	}
	narrow512(&narrowArgs{rows, cols, k, unsafe.SliceData(p), unsafe.SliceData(b), 4 * ldb, unsafe.SliceData(c), 4 * ldc, 1})
	return true
}

func narrowVectorT(rows, cols, k int, p, b []float32, ldb int, c []float32, ldc int) bool {
	if active != pathAVX512 {
		return false
	}
	narrowT512(&narrowArgs{rows, cols, k, unsafe.SliceData(p), unsafe.SliceData(b), 4 * ldb, unsafe.SliceData(c), 4 * ldc, 0})
	return true
}
