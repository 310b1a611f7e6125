package kernel

// backward adds the tile that begins at query i to the gradients.
func (a *attention[T]) backward(i int) {
	t := a.tile(i)
	dq := a.dq[i*a.LdDQ+a.head*a.K:]
	if t.n == 0 {
		for r := range t.m {
			clear(dq[r*a.LdDQ:][:a.K])
		}
		return
	}
	a.product(t)
	a.dscoresOf(t)
	a.times(a.kept, a.scores, t)

	a.toKeys(a.dv[a.kv:], a.LdDV, t, a.scores, a.do[i*a.LdDO+a.head*a.K:], a.LdDO)
	a.toKeys(a.dk[a.kv:], a.LdDK, t, a.dscores, a.queries, a.ldQueries)
	a.written = max(a.written, t.j+t.n)
	a.toQueries(dq, a.LdDQ, t, a.dscores, a.keys[t.j*a.ldKeys:], a.ldKeys, nil)
	a.turnBack(&a.TurnDQ, dq, a.LdDQ, i, t.m)
}

// dscoresOf turns raw scores to weights, and computes the gradient of the product q·k, which is Scale times
// that of the scores. The factor comes in with do, unless the bias, which is added behind it, wants a gradient too.
func (a *attention[T]) dscoresOf(t *tile) {
	scale := T(a.Scale)
	if a.dRel != nil {
		scale = 1
	}
	packTile(a.dot, a.do[t.i*a.LdDO+a.head*a.K:], a.LdDO, a.K, t.m, scale)
	a.fill(a.dscores, t, a.v[t.j*a.LdV+a.kv:], a.LdV, a.dot)
	clear(a.dscores[t.values : t.rows*tileQueries])
	a.dropout(t)
	a.times(a.kept, a.dscores, t)
	if t.m < tileQueries {
		clear(a.tileLogSum[copy(a.tileLogSum, a.logSum[a.head*a.T+t.i:][:t.m]):])
	}

	a.panel(t).gradient()
	if a.dRel != nil {
		a.addTable(t)
		Scale(a.dscores[:t.values], a.dscores, a.Scale)
	}
	a.times(a.capped, a.dscores, t)
}

// addTable adds the gradient of the scores to that of the table.
func (a *attention[T]) addTable(t *tile) {
	for r := range t.n {
		at := t.i - t.j - r + a.tableOrigin()
		g := a.tableGrad[at : at+t.m]
		Add(g, g, a.dscores[r*tileQueries:])
	}
}

// finishHead turns the gradient of the keys back after the last head of a group, and adds the gradient
// of the table to that of the buckets.
func (a *attention[T]) finishHead() {
	if group := a.H / a.G; a.head%group == group-1 {
		a.clearKeys(a.dv[a.kv:], a.LdDV, a.S)
		a.clearKeys(a.dk[a.kv:], a.LdDK, a.S)
		a.turnBack(&a.TurnDK, a.dk[a.kv:], a.LdDK, 0, a.S)
	}
	if a.dRel == nil {
		return
	}
	for x, g := range a.tableGrad {
		if b := a.Offset + x - a.tableOrigin() + a.S - 1; b >= 0 && b < len(a.Bucket) {
			a.dRel[int(a.Bucket[b])*a.H+a.head] += g
		}
	}
}

// toKeys adds Σ p·b over the queries of a tile, b beginning with the first of them, to the rows of c of its keys. c
// begins with key 0. Rows that have not been written yet are overwritten.
func (a *attention[T]) toKeys(c []T, ldc int, t *tile, p, b []T, ldb int) {
	diagonal := t.j + t.below
	a.clearKeys(c, ldc, diagonal)
	var x panelProduct[T]
	x.rows, x.cols, x.k, x.triangle = t.n, a.K, t.m, t.below < t.n
	x.operands(p, tileQueries, b, ldb, c[t.j*ldc:], ldc)
	x.add(diagonal < a.written)
}

// clearKeys clears what has not been written yet of the rows of c before the last, K elements each.
func (a *attention[T]) clearKeys(c []T, ldc, last int) {
	for j := a.written; j < last; j++ {
		clear(c[j*ldc:][:a.K])
	}
}
