package kernel

import (
	"math"
	"unsafe"
)

// Attention works on tiles of tileQueries queries of one head. The scores of a tile are kept transposed,
// in a panel [keys][tileQueries]: then the softmax runs down columns, without sums across a vector, and
// every product has a panel on one side. Bias, causal mask and window depend on i - j alone; they
// are one table, of which a row of the panel reads a piece.

// tileQueries is the number of queries in a tile: one AVX-512 vector. More would be more above the diagonal.
const tileQueries = 16

// attention is one call under way.
type attention[T Float] struct {
	AttentionShape[T]
	q, k, v, o, logSum   []T
	do, dq, dk, dv, dRel []T

	scores, dscores  []T // panels
	capped, kept     []T // panels, if needed: the softcap's derivative, the dropout's factors
	qt, dot          []T // queries and rows of do of a tile, transposed: [K][tileQueries]
	tileLogSum       []T // of a tile's rows
	inverse          []T // 1/Σ exp(score - greatest score), of a tile's rows
	table, tableGrad []T // of i - j, from -S

	keys, queries             []T // of the head at hand, and of the tile: as they are, or turned
	ldKeys, ldQueries         int
	turnedKeys, turnedQueries []T // [S][K], [tileQueries][K]

	head, kv          int // head, and first column of its kv head
	written           int // keys that dk and dv have been written for, of the head at hand or of one before it in its group
	at                tile
	columns           panel[T] // of the tile
	biased, hasWindow bool
	drop              dropper[T]
}

// allocate cuts the scratch memory.
func (a *attention[T]) allocate(scratch []T) {
	var zero T
	size := unsafe.Sizeof(zero)
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(scratch)))%64) / int(size)
	scratch = scratch[skip:]
	take := func(n int) []T {
		s := scratch[:n:n]
		scratch = scratch[n:]
		return s
	}
	panel := a.panelRows() * tileQueries
	a.scores, a.dscores = take(panel), take(panel)
	a.qt, a.dot = take(a.K*tileQueries), take(a.K*tileQueries)
	a.tileLogSum, a.inverse = take(tileQueries), take(tileQueries)
	if a.Softcap != 0 {
		a.capped = take(panel)
	}
	if a.Dropout > 0 {
		a.kept = take(panel)
		a.drop = newDropper[T](a.Dropout, a.DropoutKey)
	}
	keys, queries := a.turnedLen()
	a.turnedKeys, a.turnedQueries = take(keys), take(queries)
	a.table = take(a.tableLen())
	if a.RelBias != nil {
		a.tableGrad = take(a.tableLen())
	}
	a.columns.table, a.columns.inverse = a.table, a.inverse
	a.biased, a.hasWindow = a.Slopes != nil || a.RelBias != nil, a.Window > 0
}

// startHead prepares the keys and the table, which is the same for every head unless there is a bias.
func (a *attention[T]) startHead(h int) {
	first, group := h == a.From*a.H/a.G, a.H/a.G
	a.head, a.kv = h, h/group*a.K
	if h%group == 0 {
		a.written = 0
	}
	a.startKeys(h%group == 0)
	if !first && !a.biased {
		return
	}
	clear(a.table)
	if a.biased {
		a.bias(h)
	}
	mask := func(from, to int) {
		for x := max(from, 0); x < min(to, len(a.table)); x++ {
			a.table[x] = T(math.Inf(-1))
		}
	}
	here := a.tableOrigin() - a.Offset // where the positions are equal
	if a.Causal {
		mask(0, here)
	}
	if a.hasWindow {
		mask(0, here-a.Window+1)
		mask(here+a.Window, len(a.table))
	}
	if a.dRel != nil {
		clear(a.tableGrad)
	}
}

// bias adds the bias of head h to the table.
func (a *attention[T]) bias(h int) {
	for x := range a.table {
		distance := a.Offset + x - a.tableOrigin() // position of the query less that of the key
		if a.Slopes != nil {
			a.table[x] -= T(a.Slopes[h] * math.Abs(float64(distance)))
		}
		if b := distance + a.S - 1; a.RelBias != nil && b >= 0 && b < len(a.Bucket) {
			a.table[x] += a.RelBias[int(a.Bucket[b])*a.H+h]
		}
	}
}

// tile is a block of queries and the keys that they see.
type tile struct {
	i, m   int // first query, number of queries
	j, n   int // first key, number of keys
	rows   int // of the panel: n, made a multiple of panelStep
	below  int // rows of the panel below the triangle at the diagonal, n if there is none
	plain  int // rows of the panel that need no table
	first  int // index in the table of query i and key j + plain
	values int // elements of the panel
}

// tile finds the tile that begins at query i.
func (a *attention[T]) tile(i int) *tile {
	t := &a.at
	t.i, t.m, t.plain = i, min(tileQueries, a.T-i), 0
	t.j, _ = a.visible(i)
	_, end := a.visible(i + t.m - 1)
	t.n = max(end-t.j, 0)
	t.rows = roundUp(t.n, panelStep)
	t.below = t.n
	if a.Causal && t.m == tileQueries && t.n >= tileQueries && end == a.Offset+i+t.m {
		t.below -= tileQueries
	}
	t.values = t.n * tileQueries
	switch {
	case a.biased || a.hasWindow:
	case a.Causal:
		t.plain = min(max(a.Offset+i+1-t.j, 0), t.rows) &^ (panelStep - 1)
	default:
		t.plain = t.rows
	}
	t.first = i - t.j - t.plain + a.tableOrigin()
	return t
}

// product fills the panel of raw scores of a tile: Scale·k·qᵀ, capped, -Inf where a key is not valid.
func (a *attention[T]) product(t *tile) {
	a.startQueries(t.i, t.m)
	packTile(a.qt, a.queries, a.ldQueries, a.K, t.m, T(a.Scale))
	a.fill(a.scores, t, a.keys[t.j*a.ldKeys:], a.ldKeys, a.qt)
	if a.Softcap != 0 {
		Softcap(a.scores[:t.values], a.scores, a.Softcap)
		for i, y := range a.scores[:t.values] {
			y /= T(a.Softcap)
			a.capped[i] = (1 - y) * (1 + y)
		}
	}
	if a.KeyValid != nil {
		for j, valid := range a.KeyValid[t.j : t.j+t.n] {
			if !valid {
				Fill(a.scores[j*tileQueries:(j+1)*tileQueries], math.Inf(-1))
			}
		}
	}
	if t.rows > t.n {
		Fill(a.scores[t.values:t.rows*tileQueries], math.Inf(-1))
	}
}

// fill computes a panel of a tile: x·yt for rows x of its keys, ld apart, and a packed tile yt.
func (a *attention[T]) fill(panel []T, t *tile, x []T, ld int, yt []T) {
	var p panelProduct[T]
	p.rows, p.cols, p.k = t.n, tileQueries, a.K
	p.operands(x, ld, yt, tileQueries, panel, tileQueries)
	p.mul()
}

// toQueries computes the rows of c of a tile: Σ p·b over the keys, b beginning with the first of them, times factors.
func (a *attention[T]) toQueries(c []T, ldc int, t *tile, p, b []T, ldb int, factors []T) {
	var x panelProduct[T]
	x.rows, x.cols, x.k, x.triangle = t.m, a.K, t.n, t.below < t.n
	x.operands(p, tileQueries, b, ldb, c, ldc)
	x.mulT(factors)
}

// forward computes the output of the tile that begins at query i.
func (a *attention[T]) forward(i int) {
	t := a.tile(i)
	logSum := a.logSum[a.head*a.T+i:][:t.m]
	if t.n == 0 {
		clear(logSum)
		for r := range t.m {
			clear(a.o[(i+r)*a.LdO+a.head*a.K:][:a.K])
		}
		return
	}
	a.product(t)
	p := a.panel(t)
	p.softmax()
	if t.m < tileQueries {
		copy(logSum, p.logSum)
	}
	a.dropout(t)
	a.times(a.kept, a.scores, t)
	a.toQueries(a.o[i*a.LdO+a.head*a.K:], a.LdO, t, a.scores, a.v[t.j*a.LdV+a.kv:], a.LdV, a.inverse)
}

// times computes p = p ⊙ f over a tile, if f exists.
func (a *attention[T]) times(f, p []T, t *tile) {
	if f != nil {
		Mul(p[:t.values], p, f)
	}
}

// dropIndex is the index of the weight of query i and key j for the dropout's generator.
func (a *attention[T]) dropIndex(i, j int) uint64 {
	return (uint64(a.head)*uint64(a.T)+uint64(i))*uint64(a.S) + uint64(j)
}

// dropout fills the panel of factors, if there is dropout.
func (a *attention[T]) dropout(t *tile) {
	if a.kept == nil {
		return
	}
	for c := range t.m {
		at := a.dropIndex(t.i+c, t.j)
		for r := range t.n {
			a.kept[r*tileQueries+c] = a.drop.factor(at + uint64(r))
		}
	}
}

// panel is the panel of a tile for the functions that walk down its columns.
func (a *attention[T]) panel(t *tile) *panel[T] {
	p := &a.columns
	p.p, p.dp = a.scores[:t.rows*tileQueries], a.dscores[:t.rows*tileQueries]
	p.plain, p.first = t.plain, t.first
	if p.logSum = a.tileLogSum; t.m == tileQueries {
		p.logSum = a.logSum[a.head*a.T+t.i:][:tileQueries]
	}
	return p
}
