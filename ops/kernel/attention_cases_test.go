package kernel

import "math"

// attentionCases are shapes with their options. Zero leading dimensions mean dense.
var attentionCases = []struct {
	name    string
	s       AttentionShape[float64]
	alibi   bool
	rel     bool
	padding bool
}{
	{name: "one", s: AttentionShape[float64]{T: 1, S: 1, H: 1, G: 1, K: 1, Causal: true}},
	{name: "causal", s: AttentionShape[float64]{T: 5, S: 5, H: 2, G: 2, K: 4, Causal: true}},
	{name: "bidirectional", s: AttentionShape[float64]{T: 5, S: 5, H: 2, G: 1, K: 3}},
	{name: "grouped", s: AttentionShape[float64]{T: 6, S: 6, H: 4, G: 2, K: 5, Causal: true}},
	{name: "multi-query", s: AttentionShape[float64]{T: 6, S: 6, H: 3, G: 1, K: 4, Causal: true}},
	{name: "window 1", s: AttentionShape[float64]{T: 6, S: 6, H: 2, G: 1, K: 4, Causal: true, Window: 1}},
	{name: "window 3", s: AttentionShape[float64]{T: 7, S: 7, H: 2, G: 2, K: 4, Causal: true, Window: 3}},
	{name: "window both sides", s: AttentionShape[float64]{T: 7, S: 7, H: 2, G: 2, K: 4, Window: 2}},
	{name: "softcap", s: AttentionShape[float64]{T: 5, S: 5, H: 2, G: 2, K: 4, Causal: true, Softcap: 1.5}},
	{name: "alibi", s: AttentionShape[float64]{T: 6, S: 6, H: 3, G: 3, K: 4, Causal: true}, alibi: true},
	{name: "alibi bidirectional", s: AttentionShape[float64]{T: 6, S: 6, H: 2, G: 1, K: 4}, alibi: true},
	{name: "t5", s: AttentionShape[float64]{T: 6, S: 6, H: 4, G: 2, K: 4, Causal: true}, rel: true},
	{name: "t5 bidirectional", s: AttentionShape[float64]{T: 6, S: 6, H: 2, G: 2, K: 4, Softcap: 2}, rel: true},
	{name: "padding", s: AttentionShape[float64]{T: 6, S: 6, H: 2, G: 1, K: 4, Causal: true}, padding: true},
	{name: "everything", s: AttentionShape[float64]{T: 7, S: 7, H: 4, G: 2, K: 5, Causal: true, Window: 4, Softcap: 2, Dropout: .3}, alibi: true, padding: true},
	{name: "dropout", s: AttentionShape[float64]{T: 6, S: 6, H: 2, G: 2, K: 4, Causal: true, Dropout: .4}},
	{name: "cached", s: AttentionShape[float64]{T: 2, S: 9, H: 4, G: 2, K: 4, Causal: true, Offset: 5}, alibi: true},
	{name: "cached t5", s: AttentionShape[float64]{T: 1, S: 9, H: 4, G: 2, K: 4, Causal: true, Offset: 8, Window: 5}, rel: true},
	{name: "views", s: AttentionShape[float64]{T: 5, S: 5, H: 2, G: 1, K: 4, LdQ: 17, LdK: 9, LdV: 11, LdO: 13, LdDQ: 8, LdDK: 4, LdDV: 20, LdDO: 10, Causal: true}},
	{name: "second group", s: AttentionShape[float64]{T: 5, S: 5, H: 4, G: 2, K: 4, Causal: true, From: 1, To: 2}},
	{name: "tiles", s: AttentionShape[float64]{T: 67, S: 67, H: 2, G: 1, K: 6, Causal: true}},
	{name: "tiles window", s: AttentionShape[float64]{T: 70, S: 70, H: 1, G: 1, K: 3, Causal: true, Window: 33}, padding: true},
	{name: "tiles window both sides", s: AttentionShape[float64]{T: 70, S: 70, H: 1, G: 1, K: 3, Window: 20}, rel: true},
	{name: "tiles everything", s: AttentionShape[float64]{T: 37, S: 37, H: 4, G: 2, K: 5, Causal: true, Window: 30, Softcap: 2, Dropout: .3}, alibi: true, padding: true},
	{name: "tiles t5 softcap", s: AttentionShape[float64]{T: 33, S: 33, H: 2, G: 1, K: 17, Softcap: 2}, rel: true},
	{name: "tiles wide", s: AttentionShape[float64]{T: 40, S: 40, H: 2, G: 1, K: 48, Causal: true}},
	{name: "one tile", s: AttentionShape[float64]{T: 12, S: 12, H: 4, G: 2, K: 4, Causal: true}, padding: true},
	{name: "one tile t5", s: AttentionShape[float64]{T: 10, S: 10, H: 2, G: 2, K: 3, Causal: true, Dropout: .2, Softcap: 3}, rel: true},
	{name: "tiles grouped", s: AttentionShape[float64]{T: 48, S: 48, H: 4, G: 2, K: 16, Causal: true, Dropout: .2}},
	{name: "tiles before the last keys", s: AttentionShape[float64]{T: 32, S: 83, H: 2, G: 1, K: 20, Causal: true, Offset: 17, Window: 40}},
	{name: "tiles fetched ahead", s: AttentionShape[float64]{T: 130, S: 130, H: 16, G: 4, K: 32, Causal: true}},
	{name: "tiles fetched ahead, second group", s: AttentionShape[float64]{T: 131, S: 140, H: 16, G: 4, K: 32, LdQ: 520, LdDO: 515, Causal: true, Offset: 9, From: 1, To: 3}},
	{name: "tiles cached", s: AttentionShape[float64]{T: 35, S: 90, H: 2, G: 2, K: 4, Causal: true, Offset: 50}, alibi: true},
}

// attentionCase is a shape with its operands.
type attentionCase[T Float] struct {
	s                    AttentionShape[T]
	q, k, v, o, logSum   []T
	do, dq, dk, dv, dRel []T
	scratch              []T
	full                 AttentionShape[T] // with leading dimensions filled in
}

const relBuckets = 5

func newAttentionCase(i int) *attentionCase[float64] {
	tc := attentionCases[i]
	s := tc.s
	s.Scale, s.DropoutKey = 0.6, [2]uint64{1, uint64(i)}
	if tc.alibi {
		for h := range s.H {
			s.Slopes = append(s.Slopes, math.Pow(2, -float64(h+1)))
		}
	}
	c := &attentionCase[float64]{}
	if tc.rel {
		s.RelBias, c.dRel = normals[float64](9, relBuckets*s.H), make([]float64, relBuckets*s.H)
		for d := range s.Offset + s.T + s.S - 1 {
			s.Bucket = append(s.Bucket, int32(d*7%relBuckets))
		}
	}
	if tc.padding { // the first rows of a causal sequence see nothing
		for j := range s.S {
			s.KeyValid = append(s.KeyValid, j > 1 && j%5 != 4)
		}
	}
	c.s = s
	c.allocate()
	return c
}

// allocate draws the operands of the case's shape, and what its results are written over.
func (c *attentionCase[T]) allocate() {
	s, f := &c.s, c.s.leading()
	c.full = f
	c.q, c.k, c.v = normals[T](1, s.T*f.LdQ), normals[T](2, s.S*f.LdK), normals[T](3, s.S*f.LdV)
	c.o, c.logSum, c.do = make([]T, s.T*f.LdO), make([]T, s.H*s.T), normals[T](4, s.T*f.LdDO)
	c.dq, c.dk, c.dv = normals[T](5, s.T*f.LdDQ), normals[T](6, s.S*f.LdDK), normals[T](7, s.S*f.LdDV)
	c.scratch = make([]T, AttentionScratch(s))
}

// narrowAttention is the same case in float32.
func narrowAttention(c *attentionCase[float64]) *attentionCase[float32] {
	convert := func(s AttentionShape[float64]) AttentionShape[float32] {
		return AttentionShape[float32]{s.T, s.S, s.H, s.G, s.K, s.LdQ, s.LdK, s.LdV, s.LdO, s.Scale, s.Causal, s.Window, s.Softcap, s.Slopes,
			narrow(s.RelBias), s.Bucket, narrowTurn(s.TurnQ), narrowTurn(s.TurnK), narrowTurn(s.TurnDQ), narrowTurn(s.TurnDK), s.KeyValid, s.Offset, s.Dropout, s.DropoutKey, s.From, s.To, s.LdDQ, s.LdDK, s.LdDV, s.LdDO}
	}
	n := &attentionCase[float32]{s: convert(c.s), full: convert(c.full), q: narrow(c.q), k: narrow(c.k), v: narrow(c.v), o: narrow(c.o), logSum: narrow(c.logSum),
		do: narrow(c.do), dq: narrow(c.dq), dk: narrow(c.dk), dv: narrow(c.dv), dRel: narrow(c.dRel)}
	n.scratch = make([]float32, AttentionScratch(&n.s))
	return n
}

func (c *attentionCase[T]) forward() { Attention(c.o, c.logSum, c.q, c.k, c.v, &c.s, c.scratch) }
func (c *attentionCase[T]) backward() {
	AttentionGrad(c.dq, c.dk, c.dv, c.dRel, c.do, c.logSum, c.q, c.k, c.v, &c.s, c.scratch)
}

// row is head h of row i of a matrix.
func row[T Float](x []T, i, ld, h, k int) []T { return x[i*ld+h*k : i*ld+(h+1)*k] }

// weights is the definition of attention's weights of one head and row, and of logSum, from whole rows of scores.
func (c *attentionCase[T]) weights(h, i int) (p []float64, logSum float64) {
	s := &c.full
	x, mask := make([]float64, s.S), make([]bool, s.S)
	sum, most := 0., math.Inf(-1)
	for j := range x {
		pos := s.Offset + i
		mask[j] = (!s.Causal || j <= pos) && (s.Window == 0 || pos-j < s.Window && j-pos < s.Window) && (s.KeyValid == nil || s.KeyValid[j])
		x[j] = s.Scale * weighted(widen(row(c.q, i, s.LdQ, h, s.K)), widen(row(c.k, j, s.LdK, h*s.G/s.H, s.K)))
		if s.Softcap > 0 {
			x[j] = s.Softcap * math.Tanh(x[j]/s.Softcap)
		}
		if s.Slopes != nil {
			x[j] -= s.Slopes[h] * math.Abs(float64(pos-j))
		}
		if s.RelBias != nil {
			x[j] += float64(s.RelBias[int(s.Bucket[pos-j+s.S-1])*s.H+h])
		}
		if mask[j] {
			most = max(most, x[j])
		}
	}
	for j := range x {
		if mask[j] {
			sum += math.Exp(x[j] - most)
		}
	}
	if sum > 0 {
		logSum = math.Log(sum)
	}
	return softmaxOf(x, mask), logSum
}

// output is the definition of attention's output.
func (c *attentionCase[T]) output() (o, logSum []float64) {
	s := &c.full
	o, logSum = widen(c.o), widen(c.logSum)
	for h := s.From * s.H / s.G; h < s.To*s.H/s.G; h++ {
		for i := range s.T {
			p, l := c.weights(h, i)
			logSum[h*s.T+i] = l
			oi := row(o, i, s.LdO, h, s.K)
			clear(oi)
			Dropout(p, p, s.Dropout, s.DropoutKey, uint64((h*s.T+i)*s.S))
			for j := range p {
				AXPY(oi, p[j], widen(row(c.v, j, s.LdV, h*s.G/s.H, s.K)))
			}
		}
	}
	return o, logSum
}
