package graph

import "slices"

// Absorber is an Op that can compute an operand itself, from what that is
// computed from. Nobody then has to store it.
type Absorber interface {
	// Absorb gives the operation that does what prev and the receiver do, where
	// prev's only result is the receiver's operand number arg. Prev's first
	// operand stands in the place of arg; its others follow the receiver's own.
	Absorb(prev Op, arg int) (Op, bool)
}

// absorb removes calls that all their readers can do themselves, as the
// operations' rules say. Readers in the backward pass then keep what the
// removed call read instead of what it computed.
func (l *lowered) absorb() {
	l.calls = slices.DeleteFunc(l.calls, (*call).absorbed)
	for i, c := range l.calls {
		c.pos = i
	}
}

// absorbed hands the work of c to its readers, if each of them takes it.
func (c *call) absorbed() bool {
	v := c.out[0]
	if len(c.out) > 1 || v.keep || len(v.uses) == 0 {
		return false
	}
	var readers []*call
	var ops []Op
	for _, u := range v.uses {
		if slices.Contains(readers, u) { // it reads v twice
			continue
		}
		op, ok := u.absorbing(c)
		if !ok {
			return false
		}
		readers, ops = append(readers, u), append(ops, op)
	}
	for i, u := range readers {
		u.op = ops[i]
		u.readInsteadOf(c)
	}
	for _, x := range c.in {
		x.dropUse(c)
	}
	return true
}

// absorbing is the operation of u after it has taken c into itself.
func (u *call) absorbing(c *call) (op Op, ok bool) {
	op = u.op
	for arg, x := range u.in {
		if x != c.out[0] {
			continue
		}
		a, isAbsorber := op.(Absorber)
		if !isAbsorber {
			return nil, false
		}
		if op, ok = a.Absorb(c.op, arg); !ok {
			return nil, false
		}
	}
	return op, true
}

// readInsteadOf makes u read what c reads in the place of c's result.
func (u *call) readInsteadOf(c *call) {
	for arg, x := range u.in {
		if x != c.out[0] {
			continue
		}
		u.in[arg] = c.in[0]
		u.in = append(u.in, c.in[1:]...)
		for _, y := range c.in {
			y.uses = append(y.uses, u)
		}
	}
}
