package kernel

// AttentionShape describes attention of one sequence: T queries, S keys, H query heads of width K
// and G key/value heads, G a divisor of H. Query head h reads kv head h/(H/G). Query row i stands at
// position Offset+i, key row j at position j.
//
//	q, o [T, H·K]    k, v [S, G·K]    logSum [H, T]
//
// The score of query i and key j is
//
//	s = softcap(Scale·q·k) - Slopes[h]·|i - j| + RelBias[Bucket[i - j + S-1], h]
//
// with i the position of the query, and q and k turned by TurnQ and TurnK. Key j is visible iff (not Causal or j ≤ i) and (Window is 0 or
// |i - j| < Window) and (KeyValid is nil or KeyValid[j]). A row with no visible key gives zeros and
// zero gradients.
type AttentionShape[E Float] struct {
	T, S, H, G, K      int
	LdQ, LdK, LdV, LdO int // distance between rows of q, k, v, o and, unless given below, their gradients; 0: dense

	Scale   float64
	Causal  bool
	Window  int       // 0: no limit
	Softcap float64   // 0: none, else scores become Softcap·tanh(s/Softcap)
	Slopes  []float64 // ALiBi (Press, Smith and Lewis 2021, arXiv:2108.12409): one a head, or nil
	RelBias []E       // T5 (Raffel et al. 2019, arXiv:1910.10683): [buckets, H], or nil
	Bucket  []int32   // bucket of i - j, at index i - j + S-1; at least Offset+T+S-1 entries

	TurnQ, TurnK   Rotation[E] // of q and k, before their product
	TurnDQ, TurnDK Rotation[E] // of their gradients, by the opposite angle

	KeyValid []bool // [S], or nil for all
	Offset   int    // position of query 0; more than 0 when earlier keys come from a cache

	Dropout    float64 // probability that a weight of the sum over values is dropped (as in Dropout)
	DropoutKey [2]uint64

	From, To int // kv heads [From, To) alone, with the query heads that read them; To 0: all

	LdDQ, LdDK, LdDV, LdDO int // leading dimensions of the gradients; 0: as the value's
}

// leading returns the shape with every leading dimension and the range of heads filled in.
func (s AttentionShape[E]) leading() AttentionShape[E] {
	fill := func(ld *int, otherwise int) {
		if *ld == 0 {
			*ld = otherwise
		}
	}
	fill(&s.LdQ, s.H*s.K)
	fill(&s.LdK, s.G*s.K)
	fill(&s.LdV, s.G*s.K)
	fill(&s.LdO, s.H*s.K)
	fill(&s.LdDQ, s.LdQ)
	fill(&s.LdDK, s.LdK)
	fill(&s.LdDV, s.LdV)
	fill(&s.LdDO, s.LdO)
	fill(&s.To, s.G)
	return s
}

// visible returns the range of keys that mask and window leave to query row i. KeyValid may make holes in it.
func (s *AttentionShape[E]) visible(i int) (lo, hi int) {
	i += s.Offset
	hi = s.S
	if s.Causal {
		hi = min(hi, i+1)
	}
	if s.Window > 0 {
		lo = max(lo, i-s.Window+1)
		hi = min(hi, i+s.Window)
	}
	return min(lo, hi), hi
}

// AttentionScratch returns the elements of scratch memory that Attention and AttentionGrad need. It
// is linear in S and T: scores exist for a tile of queries at a time.
func AttentionScratch[T Float](s *AttentionShape[T]) int {
	panels := 2
	if s.Softcap != 0 {
		panels++
	}
	if s.Dropout > 0 {
		panels++
	}
	keys, queries := s.turnedLen()
	n := panels*s.panelRows()*tileQueries + 2*s.K*tileQueries + 2*tileQueries + keys + queries + s.tableLen() + cacheLine
	if s.RelBias != nil {
		n += s.tableLen()
	}
	return n
}

// cacheLine is more than enough elements to move a slice to the beginning of one.
const cacheLine = 16

// panelRows is the most keys that a tile of queries sees, made a multiple of panelStep.
func (s *AttentionShape[E]) panelRows() int {
	n := s.S
	if s.Window > 0 {
		seen := s.Window + tileQueries - 1 // back from the last query to the first one's oldest key
		if !s.Causal {
			seen += s.Window - 1
		}
		n = min(n, seen)
	}
	return roundUp(n, panelStep)
}

// tableLen is the length of a table over i - j, i a query of any tile and j a key.
func (s *AttentionShape[E]) tableLen() int {
	return s.tableOrigin() + roundUp(s.T, tileQueries)
}

// tableOrigin is the place of 0 in such a table. Its first entries are for rows of a panel behind the last key.
func (s *AttentionShape[E]) tableOrigin() int { return s.S + panelStep }

// roundUp is the least multiple of m from n on, m a power of two.
func roundUp(n, m int) int { return (n + m - 1) &^ (m - 1) }

// Attention computes o = softmax(scores)·v for every head and row, and for the gradient
// logSum = log Σ exp(score - greatest score of the row), 0 for a row with no visible key. scratch has
// AttentionScratch elements.
func Attention[T Float](o, logSum, q, k, v []T, shape *AttentionShape[T], scratch []T) {
	a := attention[T]{AttentionShape: shape.leading(), q: q, k: k, v: v, o: o, logSum: logSum}
	a.allocate(scratch)
	for h := a.From * a.H / a.G; h < a.To*a.H/a.G; h++ {
		a.startHead(h)
		if a.T <= fewQueries {
			for i := range a.T {
				a.forwardRow(i)
			}
			continue
		}
		for i := 0; i < a.T; i += tileQueries {
			a.fetchNext(i)
			a.forward(i)
		}
	}
}

// AttentionGrad is the gradient of Attention. It overwrites dq, dk and dv, and adds to dRel, [buckets, H]
// (nil if not wanted). Weights are computed again from q, k and logSum. With p the weights, m the
// dropout's factors and δ = Σ p ⊙ dp of a row, which is Σ do ⊙ o,
//
//	dp = m ⊙ (do·vᵀ),  ds = p ⊙ (dp - δ),  dv = (m ⊙ p)ᵀ·do,  dq = Scale·ds·k,  dk = Scale·dsᵀ·q
//
// where ds also passes through the softcap's derivative, q and k are turned, and dq and dk are turned back.
// Heads and queries are taken in order.
func AttentionGrad[T Float](dq, dk, dv, dRel, do, logSum, q, k, v []T, shape *AttentionShape[T], scratch []T) {
	a := attention[T]{AttentionShape: shape.leading(), q: q, k: k, v: v, logSum: logSum, do: do, dq: dq, dk: dk, dv: dv, dRel: dRel}
	a.allocate(scratch)
	for h := a.From * a.H / a.G; h < a.To*a.H/a.G; h++ {
		a.startHead(h)
		for i := 0; i < a.T; i += tileQueries {
			a.fetchNext(i)
			a.backward(i)
		}
		a.finishHead()
	}
}
