package kernel

// Rotation is RoPE of the heads of q or of k, for attention to turn them itself: row r of a matrix
// turns by row r of the tables. The zero value is none.
type Rotation[E Float] struct {
	Cos, Sin    []E // [rows, Rotated/2]
	Rotated     int // as in RoPEShape, and so is Interleaved
	Interleaved bool
}

// rows turns rows [r0, r0+n) of one head of k entries: those of x go to y, which may be x, by the angle
// for a sign of 1, and back by it for -1. x and y begin with row r0.
func (r *Rotation[E]) rows(y []E, ldy int, x []E, ldx, r0, n, k int, sign E) {
	half := r.Rotated / 2
	rotate(y, x, r.Cos[r0*half:], r.Sin[r0*half:],
		&RoPEShape{Rows: n, Heads: 1, HeadDim: k, Rotated: r.Rotated, Interleaved: r.Interleaved, LdX: ldx, LdY: ldy}, sign)
}

// turnedLen is the scratch memory of turned rows: the keys of a head, and a tile of its queries.
func (s *AttentionShape[E]) turnedLen() (keys, queries int) {
	if s.TurnK.Rotated > 0 {
		keys = (s.S*s.K + cacheLine - 1) / cacheLine * cacheLine
	}
	if s.TurnQ.Rotated > 0 {
		queries = tileQueries * s.K
	}
	return keys, queries
}

// startKeys finds the keys of the head at hand. They are turned for the first head of a group, and stay
// for the others.
func (a *attention[T]) startKeys(firstOfGroup bool) {
	a.keys, a.ldKeys = a.k[a.kv:], a.LdK
	if a.TurnK.Rotated == 0 {
		return
	}
	if firstOfGroup {
		a.TurnK.rows(a.turnedKeys, a.K, a.keys, a.LdK, 0, a.S, a.K, 1)
	}
	a.keys, a.ldKeys = a.turnedKeys, a.K
}

// startQueries finds n queries of the head at hand, from query i.
func (a *attention[T]) startQueries(i, n int) {
	a.queries, a.ldQueries = a.q[i*a.LdQ+a.head*a.K:], a.LdQ
	if a.TurnQ.Rotated == 0 {
		return
	}
	a.TurnQ.rows(a.turnedQueries, a.K, a.queries, a.LdQ, i, n, a.K, 1)
	a.queries, a.ldQueries = a.turnedQueries, a.K
}

// turnBack turns rows [r0, r0+n) of a gradient, of which x begins with the first, to where the operand
// came from.
func (a *attention[T]) turnBack(r *Rotation[T], x []T, ldx, r0, n int) {
	if r.Rotated > 0 {
		r.rows(x, ldx, x, ldx, r0, n, a.K, -1)
	}
}
