package kernel

import (
	"fmt"
	"math"
	"testing"
)

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
	{name: "tiles cached", s: AttentionShape[float64]{T: 35, S: 90, H: 2, G: 2, K: 4, Causal: true, Offset: 50}, alibi: true},
}

// attentionCase is a shape with its operands.
type attentionCase[T Float] struct {
	s                    AttentionShape[T]
	q, k, v, o, lse      []T
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
	f := s.leading()
	c.s, c.full = s, f
	c.q, c.k, c.v = normals[float64](1, s.T*f.LdQ), normals[float64](2, s.S*f.LdK), normals[float64](3, s.S*f.LdV)
	c.o, c.lse, c.do = make([]float64, s.T*f.LdO), make([]float64, s.H*s.T), normals[float64](4, s.T*f.LdDO)
	c.dq, c.dk, c.dv = normals[float64](5, s.T*f.LdDQ), normals[float64](6, s.S*f.LdDK), normals[float64](7, s.S*f.LdDV)
	c.scratch = make([]float64, AttentionScratch(&s))
	return c
}

// narrowAttention is the same case in float32.
func narrowAttention(c *attentionCase[float64]) *attentionCase[float32] {
	convert := func(s AttentionShape[float64]) AttentionShape[float32] {
		return AttentionShape[float32]{s.T, s.S, s.H, s.G, s.K, s.LdQ, s.LdK, s.LdV, s.LdO, s.Scale, s.Causal, s.Window, s.Softcap, s.Slopes,
			narrow(s.RelBias), s.Bucket, s.KeyValid, s.Offset, s.Dropout, s.DropoutKey, s.From, s.To, s.LdDQ, s.LdDK, s.LdDV, s.LdDO}
	}
	n := &attentionCase[float32]{s: convert(c.s), full: convert(c.full), q: narrow(c.q), k: narrow(c.k), v: narrow(c.v), o: narrow(c.o), lse: narrow(c.lse),
		do: narrow(c.do), dq: narrow(c.dq), dk: narrow(c.dk), dv: narrow(c.dv), dRel: narrow(c.dRel)}
	n.scratch = make([]float32, AttentionScratch(&n.s))
	return n
}

func (c *attentionCase[T]) forward() { Attention(c.o, c.lse, c.q, c.k, c.v, &c.s, c.scratch) }
func (c *attentionCase[T]) backward() {
	AttentionGrad(c.dq, c.dk, c.dv, c.dRel, c.do, c.o, c.lse, c.q, c.k, c.v, &c.s, c.scratch)
}

// row is head h of row i of a matrix.
func row[T Float](x []T, i, ld, h, k int) []T { return x[i*ld+h*k : i*ld+(h+1)*k] }

// weights is the definition of attention's weights of one head and row, and of lse, from whole rows of scores.
func (c *attentionCase[T]) weights(h, i int) (p []float64, lse float64) {
	s := &c.full
	x, mask := make([]float64, s.S), make([]bool, s.S)
	sum := 0.
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
			sum += math.Exp(x[j])
		}
	}
	p = softmaxOf(x, mask)
	if sum > 0 {
		lse = math.Log(sum)
	}
	return p, lse
}

// output is the definition of attention's output.
func (c *attentionCase[T]) output() (o, lse []float64) {
	s := &c.full
	o, lse = widen(c.o), widen(c.lse)
	for h := s.From * s.H / s.G; h < s.To*s.H/s.G; h++ {
		for i := range s.T {
			p, l := c.weights(h, i)
			lse[h*s.T+i] = l
			oi := row(o, i, s.LdO, h, s.K)
			clear(oi)
			Dropout(p, p, s.Dropout, s.DropoutKey, uint64((h*s.T+i)*s.S))
			for j := range p {
				AXPY(oi, p[j], widen(row(c.v, j, s.LdV, h*s.G/s.H, s.K)))
			}
		}
	}
	return o, lse
}

func TestAttentionFormula(t *testing.T) {
	for i := range attentionCases {
		t.Run(attentionCases[i].name, func(t *testing.T) {
			c := newAttentionCase(i)
			c.forward()
			o, lse := c.output()
			near(t, "o", c.o, o, 1e-11, 1e-12)
			near(t, "lse", c.lse, lse, 1e-11, 1e-12)
		})
	}
}

func TestAttentionGradient(t *testing.T) {
	for i := range attentionCases {
		t.Run(attentionCases[i].name, func(t *testing.T) {
			c := newAttentionCase(i)
			before := newAttentionCase(i)
			c.forward()
			c.backward()
			s, o := &c.full, append([]float64(nil), c.o...)
			loss := func() float64 {
				c.forward()
				l := 0.
				for i := range s.T {
					for h := s.From * s.H / s.G; h < s.To*s.H/s.G; h++ {
						l += weighted(row(c.o, i, s.LdO, h, s.K), row(c.do, i, s.LdDO, h, s.K))
					}
				}
				return l
			}
			untouched := func(what string, got, old []float64, rows, ld, from, to int) {
				for r := range rows {
					same(t, what+" outside its columns", got[r*ld:r*ld+from], old[r*ld:r*ld+from])
					same(t, what+" outside its columns", got[r*ld+to:(r+1)*ld], old[r*ld+to:(r+1)*ld])
				}
			}
			check := func(what string, x, grad, old []float64, rows, ld, ldd, from, to int) {
				if c.s.T > 16 {
					directions(t, what, x, grad, rows, ld, ldd, from, to, loss)
					rows = 0
				}
				for r := range rows {
					slope(t, what, x[r*ld+from:r*ld+to], grad[r*ldd+from:r*ldd+to], loss)
				}
				untouched(what, grad, old, len(grad)/ldd, ldd, from, to)
			}
			kv0, kv1 := s.From*s.K, s.To*s.K
			q0, q1 := kv0*s.H/s.G, kv1*s.H/s.G
			check("dq", c.q, c.dq, before.dq, s.T, s.LdQ, s.LdDQ, q0, q1)
			check("dk", c.k, c.dk, before.dk, s.S, s.LdK, s.LdDK, kv0, kv1)
			check("dv", c.v, c.dv, before.dv, s.S, s.LdV, s.LdDV, kv0, kv1)
			untouched("o", o, before.o, s.T, s.LdO, q0, q1)
			if c.dRel != nil {
				slope(t, "dRel", c.s.RelBias, c.dRel, loss)
			}
		})
	}
}

// directions compares a gradient with differences along random directions, for matrices with too many
// elements to take one by one.
func directions(t *testing.T, what string, x, grad []float64, rows, ld, ldd, from, to int, loss func() float64) {
	const h = 1e-5
	old := append([]float64(nil), x...)
	for n := range 6 {
		d := normals[float64](uint64(100+n), rows*ld)
		move := func(h float64) float64 {
			for i := range x {
				x[i] = old[i] + h*d[i]
			}
			return loss()
		}
		want, got := (move(h)-move(-h))/(2*h), 0.
		for r := range rows {
			got += weighted(grad[r*ldd+from:r*ldd+to], d[r*ld+from:r*ld+to])
		}
		near(t, what+" along a direction", []float64{got}, []float64{want}, 1e-6, 1e-6)
	}
	copy(x, old)
}

// Rows and keys that the mask takes away give exact zeros.
func TestAttentionPadding(t *testing.T) {
	for i := range attentionCases {
		if !attentionCases[i].padding {
			continue
		}
		c := newAttentionCase(i)
		c.forward()
		c.backward()
		for h := range c.s.H {
			for r := range 2 {
				same(t, "o of an empty row", row(c.o, r, c.full.LdO, h, c.s.K), make([]float64, c.s.K))
				same(t, "dq of an empty row", row(c.dq, r, c.full.LdDQ, h, c.s.K), make([]float64, c.s.K))
			}
		}
		for g := range c.s.G {
			for j, valid := range c.s.KeyValid {
				if !valid {
					same(t, "dk of an invalid key", row(c.dk, j, c.full.LdDK, g, c.s.K), make([]float64, c.s.K))
					same(t, "dv of an invalid key", row(c.dv, j, c.full.LdDV, g, c.s.K), make([]float64, c.s.K))
				}
			}
		}
	}
}

func TestAttentionFloat32(t *testing.T) {
	onEachPath(t, func(t *testing.T) {
		for i := range attentionCases {
			c := newAttentionCase(i)
			n := narrowAttention(c)
			c.forward()
			c.backward()
			n.forward()
			n.backward()
			name := attentionCases[i].name
			near(t, name+" o", n.o, c.o, 1e-5, 1e-5)
			near(t, name+" lse", n.lse, c.lse, 1e-5, 1e-5)
			near(t, name+" dq", n.dq, c.dq, 1e-4, 2e-5)
			near(t, name+" dk", n.dk, c.dk, 1e-4, 2e-5)
			near(t, name+" dv", n.dv, c.dv, 1e-4, 2e-5)
			near(t, name+" dRel", n.dRel, c.dRel, 1e-4, 5e-5)
			noAllocs(t, name, func() { n.forward(); n.backward() })
		}
	})
}

// Attention of one kv head at a time is attention of all, to the bit.
func TestAttentionByHead(t *testing.T) {
	onEachPath(t, func(t *testing.T) {
		for i := range attentionCases {
			all, parts := narrowAttention(newAttentionCase(i)), narrowAttention(newAttentionCase(i))
			if all.s.To != 0 {
				continue
			}
			all.forward()
			all.backward()
			for g := range parts.s.G {
				parts.s.From, parts.s.To = g, g+1
				parts.forward()
				parts.backward()
			}
			name := attentionCases[i].name
			same(t, name+" o", parts.o, all.o)
			same(t, name+" lse", parts.lse, all.lse)
			same(t, name+" dq", parts.dq, all.dq)
			same(t, name+" dk", parts.dk, all.dk)
			same(t, name+" dv", parts.dv, all.dv)
			same(t, name+" dRel", parts.dRel, all.dRel)
		}
	})
}

func TestAttentionExtremes(t *testing.T) {
	onEachPath(t, func(t *testing.T) {
		for _, size := range []float32{1e-20, 1, 300, 1e4} {
			c := narrowAttention(newAttentionCase(3))
			for i := range c.q {
				c.q[i] *= size
			}
			for i := range c.k {
				c.k[i] *= size
			}
			c.forward()
			c.backward()
			for name, x := range map[string][]float32{"o": c.o, "lse": c.lse, "dq": c.dq, "dk": c.dk, "dv": c.dv} {
				if !AllFinite(x) {
					t.Errorf("scores of size %g²: %s = %v", size, name, x)
				}
			}
		}
	})
}

// Decoding token by token with a cache gives the rows of the whole forward pass.
func TestAttentionCached(t *testing.T) {
	for _, i := range []int{1, 3, 6, 8, 9, 11} {
		t.Run(attentionCases[i].name, func(t *testing.T) {
			c := newAttentionCase(i)
			c.forward()
			s := c.full
			one := c.s
			for r := range s.T {
				one.T, one.Offset = 1, r
				o, lse := make([]float64, s.LdO), make([]float64, s.H)
				Attention(o, lse, c.q[r*s.LdQ:], c.k, c.v, &one, c.scratch)
				near(t, "o", o, c.o[r*s.LdO:(r+1)*s.LdO], 1e-12, 1e-13)
			}
		})
	}
}

// Shapes of small models. The rate counts the products over visible keys: two forward, five backward.
func BenchmarkAttention(b *testing.B) {
	for _, c := range []struct{ t, h, g, k int }{{64, 4, 4, 16}, {128, 4, 4, 32}, {256, 6, 6, 64}, {256, 8, 2, 64}, {1024, 4, 4, 64}} {
		s := AttentionShape[float32]{T: c.t, S: c.t, H: c.h, G: c.g, K: c.k, Scale: 0.1, Causal: true}
		n, kv := c.t*c.h*c.k, c.t*c.g*c.k
		q, k, v, do := normals[float32](1, n), normals[float32](2, kv), normals[float32](3, kv), normals[float32](4, n)
		o, dq, dk, dv, lse := make([]float32, n), make([]float32, n), make([]float32, kv), make([]float32, kv), make([]float32, c.t*c.h)
		scratch := make([]float32, AttentionScratch(&s))
		product := float64(c.h) * float64(c.t) * float64(c.t+1) * float64(c.k)
		rate := func(b *testing.B, products float64) {
			b.ReportMetric(products*product*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
		}
		b.Run(fmt.Sprintf("T%d_H%d_G%d_K%d", c.t, c.h, c.g, c.k), func(b *testing.B) {
			for b.Loop() {
				Attention(o, lse, q, k, v, &s, scratch)
			}
			rate(b, 2)
		})
		b.Run(fmt.Sprintf("T%d_H%d_G%d_K%d_grad", c.t, c.h, c.g, c.k), func(b *testing.B) {
			for b.Loop() {
				AttentionGrad(dq, dk, dv, nil, do, o, lse, q, k, v, &s, scratch)
			}
			rate(b, 5)
		})
	}
}
