package ops

import (
	"ablate/graph"
	"ablate/ops/kernel"
)

// turn is a rope that attention has taken into itself, for one of its operands
// or, turning back, of its gradients.
type turn struct {
	tables      int // place of cos among attention's operands, that of sin is the next; 0 for none
	interleaved bool
}

// turns are those of q and k, or of dq and dk.
type turns [2]turn

// turnOf puts the tables of a rope behind the operands that there are, if it
// turns heads as attention has them.
func (o *attention) turnOf(op graph.Op, arg int, back bool) (turn, bool) {
	r, ok := op.(rope)
	if !ok || r.back != back || r.heads != [2]int{o.Heads, o.KVHeads}[arg] {
		return turn{}, false
	}
	t := turn{tables: o.operands, interleaved: r.interleaved}
	o.operands += 2
	return t, true
}

// Absorb takes in the rope of q or k, so that turned queries and keys exist for
// a head at a time.
func (o attention) Absorb(prev graph.Op, arg int) (graph.Op, bool) {
	if arg >= len(o.turns) || o.turns[arg].tables > 0 {
		return nil, false
	}
	var ok bool
	o.turns[arg], ok = o.turnOf(prev, arg, false)
	return o, ok
}

// Absorb takes in what the forward pass does.
func (o attentionGrad) Absorb(prev graph.Op, arg int) (graph.Op, bool) {
	if arg < gradOffset {
		return nil, false
	}
	f, ok := o.forward.Absorb(prev, arg-gradOffset)
	if ok {
		o.forward = f.(attention)
	}
	return o, ok
}

// Fuse takes in the rope that turns dq or dk back.
func (o attentionGrad) Fuse(next graph.Op, arg, slot int, keep bool) (graph.Op, bool) {
	if keep || arg > 0 || slot >= len(o.back) || o.back[slot].tables > 0 {
		return nil, false
	}
	var ok bool
	o.back[slot], ok = o.forward.turnOf(next, slot, true)
	return o, ok
}

// String names the operands that are turned, for dumps.
func (t turns) String() string {
	s := ""
	for i, name := range []string{" rope q", " rope k"} {
		if t[i].tables > 0 {
			s += name
		}
	}
	return s
}

// bindTurns finds the tables of turns in order, and tells the shape how far they
// reach.
func (a *sequences[T]) bindTurns(c *graph.Call, offset int, s *kernel.AttentionShape[T], all ...turn) {
	for i, r := range rotations(s) {
		if at := all[i].tables; at > 0 {
			a.tables[i] = [2]*graph.Buffer{c.In(offset + at), c.In(offset + at + 1)}
			r.Rotated, r.Interleaved = 2*width(a.tables[i][0].Shape()), all[i].interleaved
		}
	}
}

// rotations are what the kernels know of turns: those of q, k, dq and dk.
func rotations[T graph.Float](s *kernel.AttentionShape[T]) [4]*kernel.Rotation[T] {
	return [4]*kernel.Rotation[T]{&s.TurnQ, &s.TurnK, &s.TurnDQ, &s.TurnDK}
}
