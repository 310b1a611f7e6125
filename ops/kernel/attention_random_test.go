package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// TestAttentionRandom draws shapes and options, so that they meet in ways that nobody thought of: float64
// agrees with the definition and with differences, and float32 with float64 on every path, whatever scratch memory held before.
func TestAttentionRandom(t *testing.T) {
	cases := 100
	if testing.Short() {
		cases = 20
	}
	for seed := range cases {
		c := randomAttention(rand.New(rand.NewPCG(uint64(seed), 1)))
		name := fmt.Sprintf("case %d: %+v", seed, c.s)
		narrowed := narrowAttention(c)
		c.forward()
		if c.s.TurnQ.Rotated == 0 {
			o, logSum := c.output()
			near(t, name+" o by definition", c.o, o, 1e-11, 1e-11)
			near(t, name+" logSum by definition", c.logSum, logSum, 1e-11, 1e-11)
		}
		c.backward()
		checkSlope(t, name, c)
		onEachPath(t, func(t *testing.T) {
			n := narrowed.clone()
			Fill(n.scratch, math.NaN())
			n.forward()
			Fill(n.scratch, math.NaN())
			n.backward()
			nearAttention(t, name, n, c, 1e-4, [3]float64{2e-5, 3e-4, 1e-3})
		})
		if t.Failed() {
			return
		}
	}
}

// randomAttention draws a case. Lengths lie around multiples of a tile, widths around those of a vector.
func randomAttention(r *rand.Rand) *attentionCase[float64] {
	coin := func(n int) bool { return r.IntN(n) == 0 }
	around := func(n, most int) int { return max(1, n*r.IntN(most/n+1)+r.IntN(3)-1) }
	s := AttentionShape[float64]{T: around(tileQueries, 80), K: around(8, 64), G: 1 + r.IntN(3), Causal: !coin(3), Scale: 0.5}
	s.H, s.S = s.G*(1+r.IntN(3)), s.T
	if coin(3) {
		s.T, s.K = 1+r.IntN(80), 1+r.IntN(64)
		s.Offset = r.IntN(40)
		s.S = max(1, s.T+s.Offset+r.IntN(40)-20)
	}
	if coin(3) {
		s.Window = 1 + r.IntN(s.S+5)
	}
	if coin(4) {
		s.Softcap = 1.5
	}
	if coin(4) {
		s.Dropout, s.DropoutKey = 0.3, [2]uint64{r.Uint64(), r.Uint64()}
	}
	if coin(4) {
		for h := range s.H {
			s.Slopes = append(s.Slopes, math.Pow(2, -float64(h+1)))
		}
	}
	if coin(4) {
		for invalid := 1 + r.IntN(5); len(s.KeyValid) < s.S; {
			s.KeyValid = append(s.KeyValid, !coin(invalid))
		}
	}
	if coin(4) {
		s.From = r.IntN(s.G)
		s.To = s.From + 1 + r.IntN(s.G-s.From)
	}
	if s.K > 1 && coin(3) {
		turn := Rotation[float64]{Rotated: 2 * (1 + r.IntN(s.K/2)), Interleaved: coin(2)}
		s.TurnQ, s.TurnK = turn, turn
		s.TurnQ.Cos, s.TurnQ.Sin = ropeTables[float64](s.T, turn.Rotated)
		s.TurnK.Cos, s.TurnK.Sin = ropeTables[float64](s.S, turn.Rotated)
		s.TurnDQ, s.TurnDK = s.TurnQ, s.TurnK
	}
	c := &attentionCase[float64]{}
	if coin(4) {
		s.RelBias = normals[float64](r.Uint64(), relBuckets*s.H)
		for range s.Offset + s.T + s.S - 1 {
			s.Bucket = append(s.Bucket, r.Int32N(relBuckets))
		}
		if coin(2) {
			c.dRel = make([]float64, relBuckets*s.H)
		}
	}
	c.s = s
	c.allocate()
	return c
}

// checkSlope compares the gradients with differences along a random direction of q, k and v at once.
func checkSlope(t *testing.T, name string, c *attentionCase[float64]) {
	const h = 1e-5
	s, n, slope := &c.full, c.clone(), 0.
	n.q, n.k, n.v = make([]float64, len(c.q)), make([]float64, len(c.k)), make([]float64, len(c.v))
	operands := []struct {
		x, dx, moved, along []float64
		rows, ld, columns   int // columns of a kv head
	}{
		{c.q, c.dq, n.q, make([]float64, len(c.q)), s.T, s.LdQ, s.H / s.G * s.K},
		{c.k, c.dk, n.k, make([]float64, len(c.k)), s.S, s.LdK, s.K},
		{c.v, c.dv, n.v, make([]float64, len(c.v)), s.S, s.LdV, s.K},
	}
	for i, x := range operands {
		d := normals[float64](uint64(100+i), len(x.x))
		for r := range x.rows { // only these columns belong to the heads that are computed
			from, to := r*x.ld+s.From*x.columns, r*x.ld+s.To*x.columns
			copy(x.along[from:to], d[from:to])
			slope += weighted(x.dx[from:to], d[from:to])
		}
	}
	loss := func(h float64) float64 {
		for _, x := range operands {
			copy(x.moved, x.x)
			AXPY(x.moved, h, x.along)
		}
		clear(n.o) // of heads that are not computed
		n.forward()
		return weighted(n.o, c.do)
	}
	near(t, name+" slope", []float64{slope}, []float64{(loss(h) - loss(-h)) / (2 * h)}, 1e-6, 1e-5)
}

// clone is the case with memory of its own for all that is written.
func (c *attentionCase[T]) clone() *attentionCase[T] {
	n := *c
	for _, x := range []*[]T{&n.o, &n.logSum, &n.dq, &n.dk, &n.dv, &n.dRel, &n.scratch} {
		*x = append([]T(nil), *x...)
	}
	return &n
}
