package kernel

import (
	"math"
	"unsafe"
)

// Attention works on tiles of PanelWidth queries of one head. The scores of a tile are kept transposed,
// in a panel [keys][PanelWidth]: then the softmax runs down columns, without sums across a vector, and
// every product has whole panels on one side. Bias, causal mask and window depend on i - j alone; they
// are one table, of which a row of the panel reads a piece.

// attention is one call under way.
type attention[T Float] struct {
	AttentionShape[T]
	q, k, v, o, logSum   []T
	do, dq, dk, dv, dRel []T

	scores, dscores   []T // panels
	capped, kept      []T // panels, if needed: the softcap's derivative, the dropout's factors
	qt, dot, ot       []T // queries and rows of do and o of a tile, transposed: [K][PanelWidth]
	tileLogSum, delta []T // of a tile's rows
	table, tableGrad  []T // of i - j, from -S

	keys, queries             []T // of the head at hand, and of the tile: as they are, or turned
	ldKeys, ldQueries         int
	turnedKeys, turnedQueries []T // [S][K], [PanelWidth][K]

	head, kv          int // head, and first column of its kv head
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
	panel := a.panelRows() * PanelWidth
	a.scores, a.dscores = take(panel), take(panel)
	a.qt, a.dot, a.ot = take(a.K*PanelWidth), take(a.K*PanelWidth), take(a.K*PanelWidth)
	a.tileLogSum, a.delta = take(PanelWidth), take(PanelWidth)
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
	a.biased, a.hasWindow = a.Slopes != nil || a.RelBias != nil, a.Window > 0
}

// startHead prepares the keys and the table, which is the same for every head unless there is a bias.
func (a *attention[T]) startHead(h int) {
	first, group := h == a.From*a.H/a.G, a.H/a.G
	a.head, a.kv = h, h/group*a.K
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
	here := a.S - a.Offset // where the positions are equal
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
		distance := a.Offset + x - a.S // position of the query less that of the key
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
	rows   int // of the panel: n, made even
	plain  int // rows of the panel that need no table
	first  int // index in the table of query i and key j + plain
	values int // elements of the panel
}

// tile returns the tile that begins at query i.
func (a *attention[T]) tile(i int) tile {
	t := tile{i: i, m: min(PanelWidth, a.T-i)}
	t.j, _ = a.visible(i)
	_, end := a.visible(i + t.m - 1)
	t.n = max(end-t.j, 0)
	t.rows = (t.n + 1) &^ 1
	t.values = t.n * PanelWidth
	switch {
	case a.biased || a.hasWindow:
	case a.Causal:
		t.plain = min(max(a.Offset+i+1-t.j, 0), t.rows) &^ 1
	default:
		t.plain = t.rows
	}
	t.first = i - t.j - t.plain + a.S
	return t
}

// product fills the panel of raw scores of a tile: Scale·k·qᵀ, capped, -Inf where a key is not valid.
func (a *attention[T]) product(t tile) {
	a.startQueries(t.i, t.m)
	PackT(a.qt, a.queries, a.ldQueries, a.K, t.m, 0, 1)
	Scale(a.qt, a.qt, a.Scale)
	MulPacked(t.n, PanelWidth, a.K, a.keys[t.j*a.ldKeys:], a.ldKeys, a.qt, a.scores, PanelWidth, 0, PanelWidth, Epilogue[T]{})
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
				Fill(a.scores[j*PanelWidth:(j+1)*PanelWidth], math.Inf(-1))
			}
		}
	}
	if t.rows > t.n {
		Fill(a.scores[t.values:t.values+PanelWidth], math.Inf(-1))
	}
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
	a.panel(t).softmax()
	copy(logSum, a.tileLogSum)
	a.dropout(t)
	a.times(a.kept, a.scores, t)
	mulPanelT(t.m, a.K, t.n, a.scores, a.v[t.j*a.LdV+a.kv:], a.LdV, a.o[i*a.LdO+a.head*a.K:], a.LdO)
}

// times computes p = p ⊙ f over a tile, if f exists.
func (a *attention[T]) times(f, p []T, t tile) {
	if f != nil {
		Mul(p[:t.values], p, f)
	}
}

// dropIndex is the index of the weight of query i and key j for the dropout's generator.
func (a *attention[T]) dropIndex(i, j int) uint64 {
	return (uint64(a.head)*uint64(a.T)+uint64(i))*uint64(a.S) + uint64(j)
}

// dropout fills the panel of factors, if there is dropout.
func (a *attention[T]) dropout(t tile) {
	if a.kept == nil {
		return
	}
	for c := range t.m {
		at := a.dropIndex(t.i+c, t.j)
		for r := range t.n {
			a.kept[r*PanelWidth+c] = a.drop.factor(at + uint64(r))
		}
	}
}

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

	mulPanel(t.n, a.K, t.m, a.scores, a.do[i*a.LdDO+a.head*a.K:], a.LdDO, a.dv[t.j*a.LdDV+a.kv:], a.LdDV)
	mulPanel(t.n, a.K, t.m, a.dscores, a.queries, a.ldQueries, a.dk[t.j*a.LdDK+a.kv:], a.LdDK)
	mulPanelT(t.m, a.K, t.n, a.dscores, a.keys[t.j*a.ldKeys:], a.ldKeys, dq, a.LdDQ)
	a.turnBack(&a.TurnDQ, dq, a.LdDQ, i, t.m)
}

// dscoresOf turns raw scores to weights, and computes the gradient of the product Scale·q·k.
func (a *attention[T]) dscoresOf(t tile) {
	PackT(a.dot, a.do[t.i*a.LdDO+a.head*a.K:], a.LdDO, a.K, t.m, 0, 1)
	PackT(a.ot, a.o[t.i*a.LdO+a.head*a.K:], a.LdO, a.K, t.m, 0, 1)
	// Summed in the order of the product below, so that a row whose softmax is one key gets exact zeros.
	ColDot(a.delta, a.dot, a.ot, a.K, PanelWidth, PanelWidth, PanelWidth, false)
	MulPacked(t.n, PanelWidth, a.K, a.v[t.j*a.LdV+a.kv:], a.LdV, a.dot, a.dscores, PanelWidth, 0, PanelWidth, Epilogue[T]{})
	clear(a.dscores[t.values : t.rows*PanelWidth])
	a.dropout(t)
	a.times(a.kept, a.dscores, t)
	clear(a.tileLogSum[copy(a.tileLogSum, a.logSum[a.head*a.T+t.i:][:t.m]):])

	p := a.panel(t)
	if a.dRel == nil {
		p.scale = T(a.Scale)
		p.gradient()
	} else { // the bias is added to what the scale has been applied to
		p.scale = 1
		p.gradient()
		a.addTable(t)
		Scale(a.dscores[:t.values], a.dscores, a.Scale)
	}
	a.times(a.capped, a.dscores, t)
}

// addTable adds the gradient of the scores to that of the table.
func (a *attention[T]) addTable(t tile) {
	for r := range t.n {
		at := t.i - t.j - r + a.S
		g := a.tableGrad[at : at+t.m]
		Add(g, g, a.dscores[r*PanelWidth:])
	}
}

// finishHead turns the gradient of the keys back after the last head of a group, and adds the gradient
// of the table to that of the buckets.
func (a *attention[T]) finishHead() {
	if group := a.H / a.G; a.head%group == group-1 {
		a.turnBack(&a.TurnDK, a.dk[a.kv:], a.LdDK, 0, a.S)
	}
	if a.dRel == nil {
		return
	}
	for x, g := range a.tableGrad {
		if b := a.Offset + x - 1; b >= 0 && b < len(a.Bucket) {
			a.dRel[int(a.Bucket[b])*a.H+a.head] += g
		}
	}
}

// panel is the panel of a tile for the functions that walk down its columns.
func (a *attention[T]) panel(t tile) *panel[T] {
	return &panel[T]{p: a.scores[:t.rows*PanelWidth], dp: a.dscores[:t.rows*PanelWidth], plain: t.plain,
		table: a.table, first: t.first, logSum: a.tileLogSum, delta: a.delta}
}
