package kernel

import "math"

// AttentionShape describes attention of one sequence: T queries, S keys, H query heads of width K
// and G key/value heads, G a divisor of H. Query head h reads kv head h/(H/G). Query row i stands at
// position Offset+i, key row j at position j.
//
//	q, o [T, H·K]    k, v [S, G·K]    lse [H, T]
//
// The score of query i and key j is
//
//	s = softcap(Scale·q·k) - Slopes[h]·|i - j| + RelBias[Bucket[i - j + S-1], h]
//
// with i the position of the query. Key j is visible iff (not Causal or j ≤ i) and (Window is 0 or
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

// bias is what is added to the score of query row i and key j in head h.
func (s *AttentionShape[E]) bias(h, i, j int) E {
	var b E
	if s.Slopes != nil {
		b -= E(s.Slopes[h] * math.Abs(float64(s.Offset+i-j)))
	}
	if s.RelBias != nil {
		b += s.RelBias[int(s.Bucket[s.Offset+i-j+s.S-1])*s.H+h]
	}
	return b
}

// dropIndex is the index of the weight of query row i and key j in head h for the dropout generator.
func (s *AttentionShape[E]) dropIndex(h, i, j int) uint64 {
	return (uint64(h)*uint64(s.T)+uint64(i))*uint64(s.S) + uint64(j)
}

// AttentionScratch returns the elements of scratch memory that Attention and AttentionGrad need.
func AttentionScratch[T Float](s *AttentionShape[T]) int { return 3*s.S + s.T }

// Attention computes o = softmax(scores)·v for every head and row, and the logarithm of the sum of
// exponentiated scores in lse (0 for a row with no visible key). Scores are never stored whole:
// scratch has AttentionScratch elements.
func Attention[T Float](o, lse, q, k, v []T, shape *AttentionShape[T], scratch []T) {
	s := shape.leading()
	p := scratch[:s.S]
	drop := newDropper[T](s.Dropout, s.DropoutKey)
	for h := s.From * s.H / s.G; h < s.To*s.H/s.G; h++ {
		kv := h / (s.H / s.G) * s.K
		for i := range s.T {
			lo, hi := s.visible(i)
			qi, oi := q[i*s.LdQ+h*s.K:][:s.K], o[i*s.LdO+h*s.K:][:s.K]
			s.scores(p, nil, h, i, lo, hi, qi, k[kv:])
			m := Max(p[lo:hi])
			var sum T
			for j := lo; j < hi; j++ {
				if math.IsInf(float64(p[j]), -1) {
					p[j] = 0
					continue
				}
				p[j] = exp(p[j] - m)
				sum += p[j]
			}
			clear(oi)
			lse[h*s.T+i] = 0
			if sum == 0 {
				continue
			}
			lse[h*s.T+i] = m + T(math.Log(float64(sum)))
			for j := lo; j < hi; j++ {
				w := p[j] / sum
				if !drop.none() {
					w *= drop.factor(s.dropIndex(h, i, j))
				}
				AXPY(oi, float64(w), v[j*s.LdV+kv:][:s.K])
			}
		}
	}
}

// scores writes the biased scores of keys [lo, hi) to p, -Inf where a key is not valid, and, unless
// dcap is nil, the derivative of the softcap there.
func (s *AttentionShape[E]) scores(p, dcap []E, h, i, lo, hi int, q, k []E) {
	for j := lo; j < hi; j++ {
		if s.KeyValid != nil && !s.KeyValid[j] {
			p[j] = E(math.Inf(-1))
			continue
		}
		x := E(s.Scale) * dot(q, k[j*s.LdK:][:s.K])
		if s.Softcap != 0 {
			t := tanh(x / E(s.Softcap))
			x = E(s.Softcap) * t
			if dcap != nil {
				dcap[j] = (1 - t) * (1 + t)
			}
		}
		p[j] = x + s.bias(h, i, j)
	}
}

// AttentionGrad is the gradient of Attention. It overwrites dq, dk and dv, and adds to dRel, [buckets, H]
// (nil if not wanted). Weights are computed again from q, k and lse. With p the weights, dropped ones
// zeroed and scaled by m, and δ = Σ do ⊙ o of a row,
//
//	dp = m ⊙ (do·vᵀ),  ds = p ⊙ (dp - δ),  dv = (m ⊙ p)ᵀ·do,  dq = Scale·ds·k,  dk = Scale·dsᵀ·q
func AttentionGrad[T Float](dq, dk, dv, dRel, do, o, lse, q, k, v []T, shape *AttentionShape[T], scratch []T) {
	s := shape.leading()
	p, dcap := scratch[:s.S], scratch[s.S:2*s.S]
	drop := newDropper[T](s.Dropout, s.DropoutKey)
	for j := range s.S {
		clear(dk[j*s.LdDK+s.From*s.K : j*s.LdDK+s.To*s.K])
		clear(dv[j*s.LdDV+s.From*s.K : j*s.LdDV+s.To*s.K])
	}
	for h := s.From * s.H / s.G; h < s.To*s.H/s.G; h++ {
		kv := h / (s.H / s.G) * s.K
		for i := range s.T {
			lo, hi := s.visible(i)
			qi, dqi := q[i*s.LdQ+h*s.K:][:s.K], dq[i*s.LdDQ+h*s.K:][:s.K]
			doi, oi := do[i*s.LdDO+h*s.K:][:s.K], o[i*s.LdO+h*s.K:][:s.K]
			clear(dqi)
			s.scores(p, dcap, h, i, lo, hi, qi, k[kv:])
			delta := dot(doi, oi)
			for j := lo; j < hi; j++ {
				if math.IsInf(float64(p[j]), -1) {
					continue
				}
				w := exp(p[j] - lse[h*s.T+i])
				m := T(1)
				if !drop.none() {
					m = drop.factor(s.dropIndex(h, i, j))
				}
				AXPY(dv[j*s.LdDV+kv:][:s.K], float64(w*m), doi)
				ds := w * (m*dot(doi, v[j*s.LdV+kv:][:s.K]) - delta)
				if dRel != nil {
					dRel[int(s.Bucket[s.Offset+i-j+s.S-1])*s.H+h] += ds
				}
				if s.Softcap != 0 {
					ds *= dcap[j]
				}
				ds *= T(s.Scale)
				AXPY(dqi, float64(ds), k[j*s.LdK+kv:][:s.K])
				AXPY(dk[j*s.LdDK+kv:][:s.K], float64(ds), qi)
			}
		}
	}
}
