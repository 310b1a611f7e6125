package graph

import "slices"

// fuse lets calls take their readers into themselves, as the operations'
// rules allow, until nothing changes. A fused call stands where its reader
// stood, so every operand is there.
func (l *lowered) fuse() {
	for i := 0; i < len(l.calls); i++ {
		c := l.calls[i]
		if c == nil {
			continue
		}
		if next := l.fuseOnce(c); next != nil {
			l.calls[i] = nil
			l.calls[next.pos] = next
		}
	}
	l.calls = slices.DeleteFunc(l.calls, func(c *call) bool { return c == nil })
	for i, c := range l.calls {
		c.pos = i
	}
}

// fuseOnce merges c with the first reader of one of its results, if a rule
// says how, and returns the merged call, which the loop will meet again.
func (l *lowered) fuseOnce(c *call) *call {
	f, ok := c.op.(Fuser)
	if !ok {
		return nil
	}
	for slot, v := range c.out {
		next, arg := firstReader(v)
		if next == nil || !movable(c, next.pos) || readsOther(next, arg, c) {
			continue
		}
		keep := v.keep || len(v.uses) > 1
		op, ok := f.Fuse(next.op, arg, slot, keep)
		if !ok {
			continue
		}
		return merge(c, next, slot, arg, keep, op)
	}
	return nil
}

func firstReader(v *value) (next *call, arg int) {
	for _, u := range v.uses {
		if next == nil || u.pos < next.pos {
			next = u
		}
	}
	if next != nil {
		arg = slices.Index(next.in, v)
	}
	return next, arg
}

// movable says whether c may run at position pos: nobody needs its results
// before.
func movable(c *call, pos int) bool {
	for _, v := range c.out {
		for _, u := range v.uses {
			if u.pos < pos {
				return false
			}
		}
	}
	return true
}

// readsOther says whether next reads c through another operand than arg, as
// x + x does: the merged call would need its own result.
func readsOther(next *call, arg int, c *call) bool {
	for i, v := range next.in {
		if i != arg && v.def == c {
			return true
		}
	}
	return false
}

func merge(c, next *call, slot, arg int, keep bool, op Op) *call {
	m := &call{op: op, pos: next.pos, in: slices.Clone(c.in)}
	for i, v := range next.in {
		if i != arg {
			m.in = append(m.in, v)
		}
	}
	if keep {
		m.out = append(slices.Clone(c.out), next.out...)
	} else {
		m.out = append(slices.Clone(c.out), next.out[1:]...)
		m.out[slot] = next.out[0]
	}
	for _, v := range m.out {
		v.def = m
	}
	c.out[slot].dropUse(next)
	for _, v := range c.in {
		v.replaceUse(c, m)
	}
	for i, v := range next.in {
		if i != arg {
			v.replaceUse(next, m)
		}
	}
	return m
}

func (v *value) dropUse(c *call) {
	i := slices.Index(v.uses, c)
	v.uses = slices.Delete(v.uses, i, i+1)
}

func (v *value) replaceUse(c, m *call) {
	v.uses[slices.Index(v.uses, c)] = m
}
