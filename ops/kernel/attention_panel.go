package kernel

import "math"

// panel is a panel of scores, [rows][PanelWidth], with what belongs to its columns. Rows from plain on
// get a piece of the table added: row r, column c get table[first - (r - plain) + c]. The number of
// rows and plain are even.
type panel[T Float] struct {
	p, dp  []T
	plain  int
	table  []T
	first  int
	logSum []T // [PanelWidth], as delta
	delta  []T
	scale  T
}

// added is the piece of the table that belongs to row r, nil for none.
func (p *panel[T]) added(r int) []T {
	if r < p.plain {
		return nil
	}
	at := p.first - (r - p.plain)
	return p.table[at : at+PanelWidth]
}

func (p *panel[T]) rows() int { return len(p.p) / PanelWidth }

// row is row r of a panel.
func panelRow[T Float](p []T, r int) *[PanelWidth]T {
	return (*[PanelWidth]T)(p[r*PanelWidth : (r+1)*PanelWidth])
}

// addTable adds the table and returns the maxima of the columns.
func (p *panel[T]) addTable() (most [PanelWidth]T) {
	for c := range most {
		most[c] = lowest[T]()
	}
	for r := range p.rows() {
		x := panelRow(p.p, r)
		if b := p.added(r); b != nil {
			Add(x[:], x[:], b)
		}
		for c, v := range x {
			most[c] = max(most[c], v)
		}
	}
	return most
}

// softmax turns each column to weights and sets logSum:
//
//	p = exp(p + table - max)/Σ,  logSum = log Σ
//
// A column of minus infinities becomes zeros, its logSum 0.
func (p *panel[T]) softmax() {
	if isFloat32[T]() && p.softmaxVector() {
		return
	}
	most := p.addTable()
	var sum [PanelWidth]T
	for r := range p.rows() {
		x := panelRow(p.p, r)
		for c, v := range x {
			x[c] = exp(v - most[c])
			sum[c] += x[c]
		}
	}
	for c, s := range sum {
		p.logSum[c], sum[c] = 0, 0
		if s != 0 {
			p.logSum[c], sum[c] = T(math.Log(float64(s))), 1/s
		}
	}
	for r := range p.rows() {
		x := panelRow(p.p, r)
		Mul(x[:], x[:], sum[:])
	}
}

// lowest is the least finite number.
func lowest[T Float]() T {
	low := -math.MaxFloat64
	if isFloat32[T]() {
		low = -math.MaxFloat32
	}
	return T(low)
}

// gradient turns scores to the weights that softmax found, and the gradient of the weights to that of
// the scores:
//
//	p = exp(p + table - max - logSum),  dp = p ⊙ (dp - delta)·scale
//
// The maximum is subtracted first: next to a large score, max + logSum would lose the digits of logSum.
func (p *panel[T]) gradient() {
	if isFloat32[T]() && p.gradientVector() {
		return
	}
	most := p.addTable()
	for r := range p.rows() {
		x, d := panelRow(p.p, r), panelRow(p.dp, r)
		for c, v := range x {
			x[c] = exp(v - most[c] - p.logSum[c])
			d[c] = x[c] * (d[c] - p.delta[c]) * p.scale
		}
	}
}
