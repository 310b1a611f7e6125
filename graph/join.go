package graph

import "slices"

// Joiner is an Op that can do another's work along with its own, where both read
// the same operands: the gradient of an activation computes the activation again
// with what it has at hand.
type Joiner interface {
	// Join gives the operation that does what the receiver and other do. Operand i
	// of other is the receiver's operand at[i]. Its operands are the receiver's, its
	// results the receiver's followed by other's.
	Join(other Op, at []int) (Op, bool)
}

// join lets calls do the work of others of the same pass that read nothing else, as
// the operations' rules say. It comes after recompute, which makes most of those
// others, and before fuse, which takes the one call into what its operand comes
// from.
func (l *lowered) join() {
	for _, c := range slices.Clone(l.calls) {
		if len(c.in) == 0 || c.out[0].def != c { // joined already
			continue
		}
		for _, u := range slices.Clone(c.in[0].uses) {
			if op, ok := u.joining(c); ok && l.replaceBoth(u, c, op) {
				break
			}
		}
	}
}

// joining is the operation of u after it has taken in the work of c.
func (u *call) joining(c *call) (op Op, ok bool) {
	j, ok := u.op.(Joiner)
	if !ok || u == c || u.backward != c.backward {
		return nil, false
	}
	for _, v := range u.in {
		if v.def == c {
			return nil, false
		}
	}
	at := make([]int, len(c.in))
	for i, v := range c.in {
		if at[i] = slices.Index(u.in, v); at[i] < 0 {
			return nil, false
		}
	}
	return j.Join(c.op, at)
}

// replaceBoth puts one call in the place of u and c, as soon as all that u reads is
// there, unless somebody needs a result of c before.
func (l *lowered) replaceBoth(u, c *call, op Op) bool {
	at := 0
	if last := u.waitsFor(); last != nil {
		at = last.pos + 1
	}
	for _, v := range c.out {
		for _, r := range v.uses {
			if r.pos < at {
				return false
			}
		}
	}
	m := &call{op: op, in: u.in, out: append(slices.Clone(u.out), c.out...), backward: u.backward}
	for _, v := range m.out {
		v.def = m
	}
	for _, v := range c.in {
		v.dropUse(c)
	}
	for _, v := range u.in {
		v.replaceUse(u, m)
	}
	l.calls = slices.Insert(l.calls, at, m)
	l.calls = slices.DeleteFunc(l.calls, func(x *call) bool { return x == u || x == c })
	for i, x := range l.calls {
		x.pos = i
	}
	return true
}
