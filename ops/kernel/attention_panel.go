package kernel

import "math"

// panelStep is what the number of rows of a panel is a multiple of.
const panelStep = 4

// panel is a panel of scores, [rows][tileQueries], with what belongs to its columns. Rows from plain on
// get a piece of the table added: row r, column c get table[first - (r - plain) + c]. plain is a multiple
// of panelStep, too.
type panel[T Float] struct {
	p, dp   []T
	plain   int
	table   []T
	first   int
	logSum  []T // [tileQueries]
	inverse []T // [tileQueries]
}

// added is the piece of the table that belongs to row r, nil for none.
func (p *panel[T]) added(r int) []T {
	if r < p.plain {
		return nil
	}
	at := p.first - (r - p.plain)
	return p.table[at : at+tileQueries]
}

func (p *panel[T]) rows() int { return len(p.p) / tileQueries }

// row is row r of a panel.
func panelRow[T Float](p []T, r int) *[tileQueries]T {
	return (*[tileQueries]T)(p[r*tileQueries : (r+1)*tileQueries])
}

// addTable adds the table and returns the maxima of the columns.
func (p *panel[T]) addTable() (most [tileQueries]T) {
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

// softmax turns each column to weights, but for a factor, and sets logSum and that factor:
//
//	p = exp(p + table - max),  inverse = 1/Σ,  logSum = log Σ
//
// A column of minus infinities becomes zeros, as both of its sums.
func (p *panel[T]) softmax() {
	if isFloat32[T]() && p.softmaxVector() {
		return
	}
	most := p.addTable()
	var sum [tileQueries]T
	for r := range p.rows() {
		x := panelRow(p.p, r)
		for c, v := range x {
			x[c] = exp(v - most[c])
			sum[c] += x[c]
		}
	}
	for c, s := range sum {
		p.logSum[c], p.inverse[c] = 0, 0
		if s != 0 {
			p.logSum[c], p.inverse[c] = T(math.Log(float64(s))), 1/s
		}
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
// the scores, with δ = Σ p ⊙ dp over a column:
//
//	p = exp(p + table - max - logSum),  dp = p ⊙ (dp - δ)
//
// The maximum is subtracted first: next to a large score, max + logSum would lose the digits of logSum.
// Where one key has all the weight, δ is its dp to the bit, and all of the gradient zero.
func (p *panel[T]) gradient() {
	if isFloat32[T]() && p.gradientVector() {
		return
	}
	most := p.addTable()
	var delta [tileQueries]T
	for r := range p.rows() {
		x, d := panelRow(p.p, r), panelRow(p.dp, r)
		for c, v := range x {
			x[c] = exp(v - most[c] - p.logSum[c])
			delta[c] += x[c] * d[c]
		}
	}
	for r := range p.rows() {
		x, d := panelRow(p.p, r), panelRow(p.dp, r)
		for c, v := range d {
			d[c] = x[c] * (v - delta[c])
		}
	}
}
