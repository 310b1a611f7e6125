package graph

// Recomputable is an Op whose result costs little next to its memory. Where
// its operands are kept for the backward pass anyway, the planner computes it
// a second time there instead of keeping it.
type Recomputable interface {
	Recompute() bool
}

// Recompute says what the backward pass computes again instead of keeping.
type Recompute int

const (
	// RecomputeCheap is every Recomputable result whose operands are kept anyway.
	RecomputeCheap Recompute = iota
	// RecomputeNothing keeps everything that the backward pass reads.
	RecomputeNothing
	// RecomputeBlocks keeps what Scope.Boundary named and computes everything
	// between two boundaries again, at the cost of a second forward pass: the
	// checkpointing of Chen et al. 2016 (arXiv:1604.06174).
	RecomputeBlocks
)

// WithRecompute chooses what is computed again. Results depend on it in rounding
// alone: a product that is an output too is stored before a sum is added to it, and
// its copy for the backward pass need not be.
func WithRecompute(r Recompute) Option { return func(o *options) { o.recompute = r } }

// Boundary says that n is kept when blocks are recomputed.
func (s *Scope) Boundary(n *Node) { s.g.boundaries = append(s.g.boundaries, n) }

// recompute gives backward calls copies of the forward calls whose results
// they would otherwise keep alive. A copy stands right before its first
// reader, and reads copies of what is recomputed itself.
func (l *lowered) recompute(level Recompute) {
	if level == RecomputeNothing {
		return
	}
	r := recomputer{again: l.recomputed(level), copies: map[*call]*call{}}
	for _, c := range l.calls {
		if c.backward {
			for i, v := range c.in {
				if w := r.copyOf(v); w != v {
					c.in[i] = w
					v.dropUse(c)
					w.uses = append(w.uses, c)
				}
			}
		}
		r.calls = append(r.calls, c)
	}
	l.calls = r.calls
	for i, c := range l.calls {
		c.pos = i
	}
}

// recomputed is the set of forward calls that are to be computed again.
func (l *lowered) recomputed(level Recompute) map[*call]bool {
	again := map[*call]bool{}
	if level == RecomputeBlocks {
		l.insideBlocks(again)
		return again
	}
	for _, c := range l.calls {
		op, ok := c.op.(Recomputable)
		if !ok || !op.Recompute() || c.backward {
			continue
		}
		again[c] = true
		for _, v := range c.in {
			if v.def != nil && !again[v.def] && !v.readBackward() {
				delete(again, c)
				break
			}
		}
	}
	return again
}

// insideBlocks adds every call that a later boundary depends on and that makes
// no boundary itself. What follows the last boundary is needed at once, so
// computing it twice would gain nothing.
func (l *lowered) insideBlocks(again map[*call]bool) {
	boundary := map[*value]bool{}
	for _, n := range l.g.boundaries {
		if v := l.values[n]; v != nil {
			boundary[v] = true
		}
	}
	var visit func(c *call)
	visit = func(c *call) {
		if c == nil || c.backward || again[c] {
			return
		}
		again[c] = true
		for _, v := range c.in {
			visit(v.def)
		}
	}
	for v := range boundary {
		visit(v.def)
	}
	for v := range boundary {
		delete(again, v.def)
	}
}

func (v *value) readBackward() bool {
	for _, u := range v.uses {
		if u.backward {
			return true
		}
	}
	return false
}

type recomputer struct {
	again  map[*call]bool
	copies map[*call]*call
	calls  []*call
}

// copyOf is v, or the same result of its call's copy.
func (r *recomputer) copyOf(v *value) *value {
	if v.def == nil || !r.again[v.def] {
		return v
	}
	c := r.copies[v.def]
	if c == nil {
		c = r.copyCall(v.def)
		r.copies[v.def] = c
	}
	for i, w := range v.def.out {
		if w == v {
			return c.out[i]
		}
	}
	panic("graph: a result that its call does not have")
}

func (r *recomputer) copyCall(c *call) *call {
	n := &call{op: c.op, backward: true}
	for _, v := range c.in {
		w := r.copyOf(v)
		n.in = append(n.in, w)
		w.uses = append(w.uses, n)
	}
	for _, v := range c.out {
		n.out = append(n.out, newValue(v.shape, v.dtype, n))
	}
	r.calls = append(r.calls, n)
	return n
}
