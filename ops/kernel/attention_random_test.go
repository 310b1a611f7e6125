package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// TestAttentionRandom draws shapes and options, so that they meet in ways that nobody thought of: float64
// agrees with the definition, and float32 with float64 on every path, whatever scratch memory held before.
func TestAttentionRandom(t *testing.T) {
	const cases = 150
	for seed := range uint64(cases) {
		c := randomAttention(rand.New(rand.NewPCG(seed, 1)))
		name := fmt.Sprintf("case %d: %+v", seed, c.s)
		narrowed := narrowAttention(c)
		c.forward()
		if c.s.TurnQ.Rotated == 0 {
			o, logSum := c.output()
			near(t, name+" o by definition", c.o, o, 1e-11, 1e-11)
			near(t, name+" logSum by definition", c.logSum, logSum, 1e-11, 1e-11)
		}
		c.backward()
		onEachPath(t, func(t *testing.T) {
			n := narrowed.clone()
			Fill(n.scratch, math.NaN())
			n.forward()
			Fill(n.scratch, math.NaN())
			n.backward()
			near(t, name+" o", n.o, c.o, 1e-4, 2e-5)
			near(t, name+" logSum", n.logSum, c.logSum, 1e-4, 2e-5)
			near(t, name+" dq", n.dq, c.dq, 1e-4, 3e-4)
			near(t, name+" dk", n.dk, c.dk, 1e-4, 3e-4)
			near(t, name+" dv", n.dv, c.dv, 1e-4, 3e-4)
			near(t, name+" dRel", n.dRel, c.dRel, 1e-4, 1e-3)
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

// clone is the case with memory of its own for all that is written.
func (c *attentionCase[T]) clone() *attentionCase[T] {
	n := *c
	for _, x := range []*[]T{&n.o, &n.logSum, &n.dq, &n.dk, &n.dv, &n.dRel, &n.scratch} {
		*x = append([]T(nil), *x...)
	}
	return &n
}
