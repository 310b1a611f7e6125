package kernel

import "math"

// panel is a panel of scores, [rows][PanelWidth], with what belongs to its columns. Rows from plain on
// get a piece of the table added: row r, column c get table[first - (r - plain) + c]. The number of
// rows and plain are even.
type panel[T Float] struct {
	p, dp      []T
	plain      int
	table      []T
	first      int
	lse, delta []T // [PanelWidth]
	scale      T
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

// softmax turns each column to weights and sets lse:
//
//	p = exp(p + table - max)/Σ,  lse = max + log Σ
//
// A column of minus infinities becomes zeros, its lse 0.
func (p *panel[T]) softmax() {
	if isFloat32[T]() && p.softmaxVector() {
		return
	}
	var most, sum [PanelWidth]T
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
	for r := range p.rows() {
		x := panelRow(p.p, r)
		for c, v := range x {
			x[c] = exp(v - most[c])
			sum[c] += x[c]
		}
	}
	for c, s := range sum {
		p.lse[c], sum[c] = 0, 0
		if s != 0 {
			p.lse[c], sum[c] = most[c]+T(math.Log(float64(s))), 1/s
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

// gradient turns scores to weights, and the gradient of the weights to that of the scores:
//
//	p = exp(p + table - lse),  dp = p ⊙ (dp - delta)·scale
func (p *panel[T]) gradient() {
	if isFloat32[T]() && p.gradientVector() {
		return
	}
	for r := range p.rows() {
		x, d := panelRow(p.p, r), panelRow(p.dp, r)
		if b := p.added(r); b != nil {
			Add(x[:], x[:], b)
		}
		for c, v := range x {
			x[c] = exp(v - p.lse[c])
			d[c] = x[c] * (d[c] - p.delta[c]) * p.scale
		}
	}
}
