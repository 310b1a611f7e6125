package graph

import "slices"

// Encloser is an Op that can do the work of the calls around it together with
// its own, piece by piece, so that what they hand to each other is never
// stored as a whole.
type Encloser interface {
	// Enclose looks around at the call, which is one of the receiver, and says
	// which calls can become one. The planner declines where somebody else
	// needs what would disappear.
	Enclose(at Spot) (Enclosure, bool)
}

// Enclosure is a set of calls that become one.
type Enclosure struct {
	Op      Op
	Calls   []Spot
	In, Out []Wire // operands and results of Op
	Saved   int    // elements that need no memory any more
}

// Spot is a call of the program, as an Encloser sees it.
type Spot struct{ c *call }

// Op is what is called.
func (s Spot) Op() Op { return s.c.op }

// In is operand i.
func (s Spot) In(i int) Wire { return Wire{s.c.in[i]} }

// Out is result i.
func (s Spot) Out(i int) Wire { return Wire{s.c.out[i]} }

// Operands is the number of operands.
func (s Spot) Operands() int { return len(s.c.in) }

// Results is the number of results.
func (s Spot) Results() int { return len(s.c.out) }

// Wire is a value that calls hand to each other.
type Wire struct{ v *value }

// Shape is the value's shape.
func (w Wire) Shape() Shape { return w.v.shape }

// Maker is the call that computes the value; there is none of an input.
func (w Wire) Maker() (Spot, bool) { return Spot{w.v.def}, w.v.def != nil }

// Readers are the calls that read the value.
func (w Wire) Readers() []Spot {
	var all []Spot
	for _, c := range w.v.uses {
		if !slices.Contains(all, Spot{c}) {
			all = append(all, Spot{c})
		}
	}
	return all
}

// encloseFrom is the bytes that an enclosure must save: its pieces cost
// barriers.
const encloseFrom = 4 << 20

// enclose lets calls enclose those around them, where that saves at least so
// many bytes.
func (l *lowered) enclose(least int) {
	for _, c := range slices.Clone(l.calls) {
		op, ok := c.op.(Encloser)
		if !ok || !slices.Contains(l.calls, c) { // enclosed by another one already
			continue
		}
		e, ok := op.Enclose(Spot{c})
		if !ok || e.Saved*int(l.g.dtype.Size()) < least {
			continue
		}
		if at, ok := e.place(); ok {
			l.replace(e, at)
		}
	}
}

// place is the position behind which the one call can stand, or false: what
// disappears must be needed by the enclosed calls alone, and every operand must
// be there before the first of the others that read a result.
func (e *Enclosure) place() (at int, ok bool) {
	inside := func(c *call) bool { return slices.Contains(e.Calls, Spot{c}) }
	at = -1
	for _, w := range e.In {
		if w.v.def == nil {
			continue
		}
		if inside(w.v.def) {
			return 0, false
		}
		at = max(at, w.v.def.pos)
	}
	for _, s := range e.Calls {
		for _, v := range s.c.out {
			result := slices.Contains(e.Out, Wire{v})
			if !result && (v.keep || v.home) {
				return 0, false
			}
			for _, u := range v.uses {
				if !inside(u) && (!result || u.pos <= at) {
					return 0, false
				}
			}
		}
	}
	return at, true
}

// replace puts the one call in the place of those that it encloses, behind the
// call at position at. It belongs to the forward pass, whose end it is: nothing
// that it reads is worth computing again.
func (l *lowered) replace(e Enclosure, at int) {
	m := &call{op: e.Op}
	for _, s := range e.Calls {
		for _, v := range s.c.in {
			v.dropUse(s.c)
		}
	}
	for _, w := range e.In {
		m.in = append(m.in, w.v)
		w.v.uses = append(w.v.uses, m)
	}
	for _, w := range e.Out {
		m.out = append(m.out, w.v)
		w.v.def = m
	}
	var calls []*call
	if at < 0 {
		calls = append(calls, m)
	}
	for _, c := range l.calls {
		if !slices.Contains(e.Calls, Spot{c}) {
			calls = append(calls, c)
		}
		if c.pos == at {
			calls = append(calls, m)
		}
	}
	l.calls = calls
	for i, c := range l.calls {
		c.pos = i
	}
}
