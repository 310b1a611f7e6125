package kernel

import "math"

// Softmax normalises the exponentials of each row of x[rows, d]:
//
//	y = exp(x - max) / Σ exp(x - max)
//
// over the columns whose mask is true; mask is [rows, d] or nil for all. The other columns, and all
// of a row with no true mask, become 0. y may be x.
func Softmax[T Float](y, x []T, mask []bool, rows, d int) {
	for r := range rows {
		xr, yr := x[r*d:(r+1)*d], y[r*d:(r+1)*d]
		if mask != nil {
			maskedSoftmax(yr, xr, mask[r*d:(r+1)*d])
			continue
		}
		_, s := expRow(yr, xr)
		Scale(yr, yr, float64(1/s))
	}
}

// expRow returns the maximum m of x and Σ exp(x - m), and writes the terms of the sum to y.
func expRow[T Float](y, x []T) (m, s T) {
	var most, sum [1]T
	expRows(y, x, most[:], sum[:], 1, len(x))
	return most[0], sum[0]
}

// expRows computes the maximum of each row of x[rows, d], Σ exp(x - most), and, unless y is nil, the terms
// y of the sum. A row of minus infinities has the sum 0.
func expRows[T Float](y, x, most, sum []T, rows, d int) {
	if d > 0 && isFloat32[T]() && expRowsVector(as32(y), as32(x), as32(most), as32(sum), rows, d) {
		return
	}
	for r := range rows {
		row := x[r*d : (r+1)*d]
		m := max(Max(row), lowest[T]())
		var s T
		for i, v := range row {
			e := exp(v - m)
			if y != nil {
				y[r*d+i] = e
			}
			s += e
		}
		most[r], sum[r] = m, s
	}
}

func maskedSoftmax[T Float](y, x []T, mask []bool) {
	m := T(math.Inf(-1))
	for i, v := range x {
		if mask[i] {
			m = max(m, v)
		}
	}
	var s T
	for i, v := range x {
		var e T
		if mask[i] {
			e = exp(v - m)
		}
		y[i] = e
		s += e
	}
	if s > 0 {
		Scale(y, y, float64(1/s))
	}
}

// SoftmaxGrad is the gradient of Softmax from its result y: dx = y ⊙ (dy - Σ dy ⊙ y), row by row.
// Masked columns get 0. dx may be dy.
func SoftmaxGrad[T Float](dx, dy, y []T, rows, d int) {
	n := rows * d
	if n == 0 {
		return
	}
	dx, dy, y = dx[:n], dy[:n], y[:n]
	if isFloat32[T]() && softmaxGradVector(as32(dx), as32(dy), as32(y), rows, d) {
		return
	}
	for r := range rows {
		gr, yr, xr := dy[r*d:(r+1)*d], y[r*d:(r+1)*d], dx[r*d:(r+1)*d]
		s := dot(gr, yr)
		for i, v := range yr {
			xr[i] = v * (gr[i] - s)
		}
	}
}

// Softcap bounds x softly: y = limit·tanh(x/limit) (Bello et al. 2016, arXiv:1611.09940; Gemma 2 2024). y may be x.
func Softcap[T Float](y, x []T, limit float64) {
	x = x[:len(y)]
	if mapped(mapSoftcap, y, x, nil, limit) {
		return
	}
	c := T(limit)
	for i, v := range x {
		y[i] = c * tanh(v/c)
	}
}

// SoftcapGrad is the gradient of Softcap: dx = dy ⊙ (1 - tanh²(x/limit)). dx may be dy or x.
func SoftcapGrad[T Float](dx, dy, x []T, limit float64) {
	dy, x = dy[:len(dx)], x[:len(dx)]
	if mapped(mapSoftcapGrad, dx, dy, x, limit) {
		return
	}
	for i, v := range x {
		h := math.Tanh(float64(v) / limit)
		dx[i] = dy[i] * T((1-h)*(1+h))
	}
}

func exp[T Float](x T) T { return T(math.Exp(float64(x))) }
