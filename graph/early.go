package graph

// early moves every call of which only outputs come, such as the norm of a
// hidden node, right behind the call whose result it waits for. Built last, it
// would otherwise run last, on operands that had to be kept for it and have
// left the caches. It comes after fuse, which looks for the first reader.
func (l *lowered) early() {
	behind := map[*call][]*call{}
	var stay []*call
	for _, c := range l.calls {
		if last := c.waitsFor(); last != nil && c.onlyOutputs() {
			behind[last] = append(behind[last], c)
		} else {
			stay = append(stay, c)
		}
	}
	l.calls = l.calls[:0]
	for _, c := range stay {
		l.calls = append(append(l.calls, c), behind[c]...)
	}
	for i, c := range l.calls {
		c.pos = i
	}
}

// waitsFor is the last call whose result c reads, nil if it reads leaves alone.
func (c *call) waitsFor() (last *call) {
	for _, v := range c.in {
		if v.def != nil && (last == nil || v.def.pos > last.pos) {
			last = v.def
		}
	}
	return last
}

// onlyOutputs says that c is there for outputs alone: all of its results are,
// and no call reads them.
func (c *call) onlyOutputs() bool {
	for _, v := range c.out {
		if !v.keep || v.home || len(v.uses) > 0 {
			return false
		}
	}
	return true
}
