package kernel

import "math"

// fewQueries is the number of queries up to which a tile would be mostly empty: they are computed one
// by one. Generation with a cache has one.
const fewQueries = 8

// forwardRow computes the output of query i alone: the scores are a matrix-vector product with the keys.
func (a *attention[T]) forwardRow(i int) {
	lo, hi := a.visible(i)
	n := hi - lo
	o, logSum := a.o[i*a.LdO+a.head*a.K:][:a.K], &a.logSum[a.head*a.T+i]
	clear(o)
	*logSum = 0
	if n == 0 {
		return
	}
	a.startQueries(i, 1)
	q, p := a.qt[:a.K], a.scores[:n]
	Scale(q, a.queries, a.Scale)
	rowDots(p, a.keys[lo*a.ldKeys:], a.ldKeys, q)
	a.finishScores(p, i, lo)
	_, sum := expRow(p, p)
	if sum == 0 {
		return
	}
	*logSum = T(math.Log(float64(sum)))
	Scale(p, p, float64(1/sum))
	if a.kept != nil {
		at := a.dropIndex(i, lo)
		for j := range p {
			p[j] *= a.drop.factor(at + uint64(j))
		}
	}
	MulNN(1, a.K, n, p, n, a.v[lo*a.LdV+a.kv:], a.LdV, o, a.LdO, false)
}

// finishScores applies softcap, bias and the validity of keys to the scores of query i and keys from lo on.
func (a *attention[T]) finishScores(p []T, i, lo int) {
	if a.Softcap != 0 {
		Softcap(p, p, a.Softcap)
	}
	if a.biased {
		for j := range p {
			p[j] += a.table[i-lo-j+a.tableOrigin()]
		}
	}
	if a.KeyValid != nil {
		for j, valid := range a.KeyValid[lo : lo+len(p)] {
			if !valid {
				p[j] = T(math.Inf(-1))
			}
		}
	}
}

// rowDots computes dst[r] = Σ x[r, ·] ⊙ w for rows of x that are ldx apart.
func rowDots[T Float](dst, x []T, ldx int, w []T) {
	if len(dst) == 0 {
		return
	}
	x = x[:(len(dst)-1)*ldx+len(w)]
	if isFloat32[T]() && rowDotsVector(as32(dst), as32(x), ldx, as32(w)) {
		return
	}
	for r := range dst {
		dst[r] = dot(x[r*ldx:r*ldx+len(w)], w)
	}
}
