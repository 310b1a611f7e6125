package kernel

import "unsafe"

// panelArgs are the arguments of the assembly of panels. gen/panel.go knows the order of the fields,
// all of which are eight bytes.
type panelArgs struct {
	p, dp           *float32
	rows, plain     int
	table           *float32
	logSum, inverse *float32
}

// set fills in the arguments.
func (a *panelArgs) set(p *panel[float32]) {
	a.rows, a.plain = p.rows(), p.plain
	a.p, a.dp = unsafe.SliceData(p.p), unsafe.SliceData(p.dp)
	a.logSum, a.inverse = unsafe.SliceData(p.logSum[:tileQueries]), unsafe.SliceData(p.inverse[:tileQueries])
	if n := p.rows(); n > p.plain {
		_ = p.added(p.plain) // the first and the last piece must be inside the table
		_ = p.added(n - 1)
		a.table = unsafe.SliceData(p.table[p.first:])
	}
}

func (p *panel[T]) softmaxVector() bool {
	if active < pathAVX2 {
		return false
	}
	var a panelArgs
	a.set((*panel[float32])(unsafe.Pointer(p)))
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
	var a panelArgs
	a.set((*panel[float32])(unsafe.Pointer(p)))
	if active == pathAVX512 {
		gradPanel512(&a)
	} else {
		gradPanel256(&a)
	}
	return true
}

// panelMulArgs are the arguments of the products of panels. gen/panelmul.go knows the order of the
// fields, all of which are eight bytes. Strides are in bytes.
type panelMulArgs struct {
	rows, cols, k int
	a             *float32
	lda           int
	b             *float32
	ldb           int
	c             *float32
	ldc           int
	acc           int // asked for if not 0, as the next two
	triangle      int // without transposition, its rows come behind the others
	triangleAcc   int
	factors       *float32
}

// set fills in the arguments, but for the columns.
func (a *panelMulArgs) set(p *panelProduct[float32]) {
	a.rows, a.k, a.triangle = p.rows, p.k, flag(p.triangle)
	a.a, a.lda, a.ldb, a.ldc = unsafe.SliceData(p.a), 4*p.lda, 4*p.ldb, 4*p.ldc
}

// column sets the arguments to one vector of columns, from j on.
func (a *panelMulArgs) column(p *panelProduct[float32], j int) {
	a.b, a.c = offset(unsafe.SliceData(p.b), j), offset(unsafe.SliceData(p.c), j)
	a.cols = min(tileQueries, p.cols-j)
}

// flag is 1 for true.
func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

func panelMulVector(p *panelProduct[float32], acc, triangleAcc bool) bool {
	if active != pathAVX512 {
		return false
	}
	var a panelMulArgs
	a.set(p)
	if p.triangle {
		a.rows -= tileQueries
	}
	a.acc, a.triangleAcc = flag(acc), flag(triangleAcc)
	for j := 0; j < p.cols; j += tileQueries {
		a.column(p, j)
		panelMul512(&a)
	}
	return true
}

func panelMulTVector(p *panelProduct[float32], factors []float32) bool {
	if active != pathAVX512 {
		return false
	}
	var a panelMulArgs
	a.set(p)
	a.factors = unsafe.SliceData(factors)
	for j := 0; j < p.cols; j += tileQueries {
		a.column(p, j)
		panelMulT512(&a)
	}
	return true
}

// packTileVector packs as many whole vectors of a tile's rows as fit, and returns the number of their elements.
func packTileVector(dst, src []float32, ld, k int, scale float32) int {
	lanes := 16
	if active != pathAVX512 {
		lanes = 8
	}
	blocks := k / lanes
	if active < pathAVX2 || blocks == 0 {
		return 0
	}
	for j := 0; j < tileQueries; j += lanes {
		if lanes == 16 {
			packTile512(&dst[j], &src[j*ld], 4*ld, blocks, scale)
		} else {
			packTile256(&dst[j], &src[j*ld], 4*ld, blocks, scale)
		}
	}
	return blocks * lanes
}
