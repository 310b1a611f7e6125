package kernel

import (
	"fmt"
	"testing"
)

func narrowTurn(r Rotation[float64]) Rotation[float32] {
	return Rotation[float32]{narrow(r.Cos), narrow(r.Sin), r.Rotated, r.Interleaved}
}

// turned gives case i rotations of q, k and their gradients: other ones for k than for q, so that a mix-up
// shows.
func turned(i int, partial, interleaved bool) *attentionCase[float64] {
	c := newAttentionCase(i)
	rotated := c.s.K &^ 1
	if partial {
		rotated = c.s.K / 2 &^ 1
	}
	q, k := Rotation[float64]{Rotated: rotated, Interleaved: interleaved}, Rotation[float64]{Rotated: rotated, Interleaved: interleaved}
	q.Cos, q.Sin = ropeTables[float64](c.s.T, rotated)
	k.Sin, k.Cos = ropeTables[float64](c.s.S, rotated)
	c.s.TurnQ, c.s.TurnK, c.s.TurnDQ, c.s.TurnDK = q, k, q, k
	c.scratch = make([]float64, AttentionScratch(&c.s))
	return c
}

// apart computes the same by rotating before and after. It writes over q and k.
func (c *attentionCase[T]) apart() {
	f, s := c.full, c.s
	c.s.TurnQ, c.s.TurnK, c.s.TurnDQ, c.s.TurnDK = Rotation[T]{}, Rotation[T]{}, Rotation[T]{}, Rotation[T]{}
	turn := func(x []T, rows, ld, from, to int, r Rotation[T], rope func(y, x, cos, sin []T, s *RoPEShape)) {
		x = x[from*f.K:]
		rope(x, x, r.Cos, r.Sin, &RoPEShape{Rows: rows, Heads: to - from, HeadDim: f.K, Rotated: r.Rotated, Interleaved: r.Interleaved, LdX: ld, LdY: ld})
	}
	q0, q1 := f.From*f.H/f.G, f.To*f.H/f.G
	turn(c.q, f.T, f.LdQ, q0, q1, s.TurnQ, RoPE[T])
	turn(c.k, f.S, f.LdK, f.From, f.To, s.TurnK, RoPE[T])
	c.forward()
	c.backward()
	turn(c.dq, f.T, f.LdDQ, q0, q1, s.TurnDQ, RoPEGrad[T])
	turn(c.dk, f.S, f.LdDK, f.From, f.To, s.TurnDK, RoPEGrad[T])
}

func compareTurned[T Float](t *testing.T, name string, c, want *attentionCase[T]) {
	t.Helper()
	q, k := append([]T(nil), c.q...), append([]T(nil), c.k...)
	c.forward()
	c.backward()
	want.apart()
	same(t, name+" q", c.q, q)
	same(t, name+" k", c.k, k)
	same(t, name+" o", c.o, want.o)
	same(t, name+" logSum", c.logSum, want.logSum)
	same(t, name+" dq", c.dq, want.dq)
	same(t, name+" dk", c.dk, want.dk)
	same(t, name+" dv", c.dv, want.dv)
	same(t, name+" dRel", c.dRel, want.dRel)
	noAllocs(t, name, func() { c.forward(); c.backward() })
}

// Attention that turns q and k itself is attention of turned q and k, to the bit.
func TestAttentionTurns(t *testing.T) {
	for i := range attentionCases {
		for layout := range 4 {
			partial, interleaved := layout&1 != 0, layout&2 != 0
			name := fmt.Sprint(attentionCases[i].name, " partial=", partial, " interleaved=", interleaved)
			compareTurned(t, name, turned(i, partial, interleaved), turned(i, partial, interleaved))
			onEachPath(t, func(t *testing.T) {
				compareTurned(t, name, narrowAttention(turned(i, partial, interleaved)), narrowAttention(turned(i, partial, interleaved)))
			})
		}
	}
}

// Queries alone, keys alone, and gradients that stay as they are: each rotation stands for itself.
func TestAttentionTurnsOneOperand(t *testing.T) {
	for which := range 4 {
		fresh := func() *attentionCase[float64] {
			c := turned(3, false, false)
			for k, r := range []*Rotation[float64]{&c.s.TurnQ, &c.s.TurnK, &c.s.TurnDQ, &c.s.TurnDK} {
				if k != which {
					*r = Rotation[float64]{}
				}
			}
			return c
		}
		compareTurned(t, fmt.Sprint("rotation ", which), fresh(), fresh())
	}
}
