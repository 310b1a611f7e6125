package kernel

import (
	"fmt"
	"testing"
)

func TestAttentionFormula(t *testing.T) {
	for i := range attentionCases {
		t.Run(attentionCases[i].name, func(t *testing.T) {
			c := newAttentionCase(i)
			c.forward()
			o, logSum := c.output()
			near(t, "o", c.o, o, 1e-11, 1e-12)
			near(t, "logSum", c.logSum, logSum, 1e-11, 1e-12)
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

// nearAttention compares what a case in float32 gave with the same in float64: o and its logarithms within rel, the
// gradients within 1e-4, or within the absolute differences of o, of dq, dk and dv, and of dRel.
func nearAttention(t *testing.T, name string, got *attentionCase[float32], want *attentionCase[float64], rel float64, abs [3]float64) {
	t.Helper()
	near(t, name+" o", got.o, want.o, rel, abs[0])
	near(t, name+" logSum", got.logSum, want.logSum, rel, abs[0])
	near(t, name+" dq", got.dq, want.dq, 1e-4, abs[1])
	near(t, name+" dk", got.dk, want.dk, 1e-4, abs[1])
	near(t, name+" dv", got.dv, want.dv, 1e-4, abs[1])
	near(t, name+" dRel", got.dRel, want.dRel, 1e-4, abs[2])
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
			nearAttention(t, name, n, c, 1e-5, [3]float64{1e-5, 2e-5, 5e-5})
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
			same(t, name+" logSum", parts.logSum, all.logSum)
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
			for name, x := range map[string][]float32{"o": c.o, "logSum": c.logSum, "dq": c.dq, "dk": c.dk, "dv": c.dv} {
				if !AllFinite(x) {
					t.Errorf("scores of size %g²: %s = %v", size, name, x)
				}
			}
		}
	})
}

// Where one key has all the weight, the scores have no gradient at all.
func TestAttentionSaturated(t *testing.T) {
	onEachPath(t, func(t *testing.T) {
		c := narrowAttention(newAttentionCase(3))
		for i := range c.q {
			c.q[i] *= 3000
		}
		c.forward()
		c.backward()
		saturated := 0
		for h := range c.s.H {
			for i := range c.s.T {
				if c.logSum[h*c.s.T+i] == 0 {
					saturated++
					same(t, "dq", row(c.dq, i, c.full.LdDQ, h, c.s.K), make([]float32, c.s.K))
				}
			}
		}
		if saturated < c.s.H*c.s.T/2 {
			t.Errorf("only %d rows are saturated", saturated)
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
				o, logSum := make([]float64, s.LdO), make([]float64, s.H)
				Attention(o, logSum, c.q[r*s.LdQ:], c.k, c.v, &one, c.scratch)
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
		o, dq, dk, dv, logSum := make([]float32, n), make([]float32, n), make([]float32, kv), make([]float32, kv), make([]float32, c.t*c.h)
		scratch := make([]float32, AttentionScratch(&s))
		product := float64(c.h) * float64(c.t) * float64(c.t+1) * float64(c.k)
		rate := func(b *testing.B, products float64) {
			b.ReportMetric(products*product*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
		}
		b.Run(fmt.Sprintf("T%d_H%d_G%d_K%d", c.t, c.h, c.g, c.k), func(b *testing.B) {
			for b.Loop() {
				Attention(o, logSum, q, k, v, &s, scratch)
			}
			rate(b, 2)
		})
		b.Run(fmt.Sprintf("T%d_H%d_G%d_K%d_grad", c.t, c.h, c.g, c.k), func(b *testing.B) {
			for b.Loop() {
				AttentionGrad(dq, dk, dv, nil, do, logSum, q, k, v, &s, scratch)
			}
			rate(b, 5)
		})
	}
}
