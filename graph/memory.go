package graph

import (
	"cmp"
	"slices"
)

// block is the memory of one value, or of several that take it over from each
// other.
type block struct {
	values []*value
	life   life
	bytes  int // of the values
	room   int // bytes, rounded up to whole cache lines
	rows   int // first axis, for reuse within a chain
	off    int
	home   *value // the member whose memory is given
}

// blocks groups the values that need memory: a result that an operation may
// write over its operand shares the operand's block where nobody reads that
// afterwards.
func (l *lowered) blocks(values []*value) []*block {
	of := map[*value]*block{}
	var all []*block
	for _, v := range values {
		b := &block{values: []*value{v}, life: v.life, bytes: v.bytes(), rows: v.rowCount()}
		if v.home {
			b.home = v
		}
		of[v] = b
		all = append(all, b)
	}
	for _, c := range l.calls {
		a, ok := c.op.(Aliaser)
		if !ok {
			continue
		}
		for i, out := range c.out {
			arg := a.Alias(i)
			if arg < 0 || arg >= len(c.in) {
				continue
			}
			in := c.in[arg]
			from, to := of[in], of[out]
			if from == nil || from == to || from.home != nil || from.bytes != to.bytes || from.rows != to.rows || from.life.to != in.life.to || !in.diesIn(c, out) {
				continue
			}
			to.values = append(from.values, to.values...)
			to.life.from = from.life.from
			for _, v := range from.values {
				of[v] = to
			}
			from.values = nil
		}
	}
	return slices.DeleteFunc(all, func(b *block) bool { return len(b.values) == 0 })
}

// diesIn says whether c, the call that makes out, is the last to read v: the
// only one, or the last in a chain, where every worker has done with its rows.
// A call that also reads v as another operand, as x + x·W does, could not
// write out without spoiling that.
func (v *value) diesIn(c *call, out *value) bool {
	if v.keep || v.usesBy(c) > 1 {
		return false
	}
	return len(v.uses) == 1 || v.life.to.chain != 0 && v.life.to == out.life.from
}

// usesBy is the number of c's operands that v is.
func (v *value) usesBy(c *call) int {
	n := 0
	for _, x := range c.in {
		if x == v {
			n++
		}
	}
	return n
}

func (v *value) rowCount() int {
	if len(v.shape) == 0 {
		return 1
	}
	return v.shape[0]
}

// layout gives every block a place in one arena and returns the arena's size
// in bytes. Blocks are placed in the order in which they come alive, each in
// the first gap that is free for its whole life; a block may also take over
// the exact place of one that its own chain has done with.
func layout(blocks []*block) int {
	blocks = slices.DeleteFunc(slices.Clone(blocks), func(b *block) bool { return b.home != nil })
	slices.SortStableFunc(blocks, func(a, b *block) int {
		return cmp.Or(cmp.Compare(a.life.from.phase, b.life.from.phase), cmp.Compare(a.life.from.ord, b.life.from.ord))
	})
	var placed []*block // by offset
	size := 0
	for _, b := range blocks {
		b.room = (b.bytes + cacheLine - 1) &^ (cacheLine - 1)
		placed = slices.DeleteFunc(placed, func(p *block) bool { return p.life.to.phase < b.life.from.phase })
		b.off = place(b, placed)
		i, _ := slices.BinarySearchFunc(placed, b.off, func(p *block, off int) int { return cmp.Compare(p.off, off) })
		placed = slices.Insert(placed, i, b)
		size = max(size, b.off+b.room)
	}
	return size
}

// place finds a place for b among the blocks that are alive, in the order of
// their offsets: the lowest that b can take over, or else the first gap.
func place(b *block, placed []*block) int {
	if off, ok := takeOver(b, placed); ok {
		return off
	}
	off := 0
	for _, p := range placed {
		if off+b.room <= p.off {
			break
		}
		off = max(off, p.off+p.room)
	}
	return off
}

// takeOver finds the lowest offset at which b can take over from one block or
// several, and overlaps nothing else. It goes through placed once, so that
// planning a deep model does not take the cube of its depth: a candidate is
// sound when everything before it has ended and nothing begins before its end.
func takeOver(b *block, placed []*block) (off int, ok bool) {
	candidate, ended := -1, 0 // ended: the end of what does not stand at the candidate's place
	for _, p := range placed {
		if candidate >= 0 && p.off >= candidate+b.room {
			return candidate, true
		}
		switch {
		case candidate >= 0 && p.off == candidate && p.takenOverBy(b):
			continue
		case candidate >= 0: // p overlaps it
			ended = max(ended, candidate+b.room)
			candidate = -1
		}
		if p.off >= ended && p.takenOverBy(b) {
			candidate = p.off
			continue
		}
		ended = max(ended, p.off+p.room)
	}
	return candidate, candidate >= 0
}

// takenOverBy says whether n may stand exactly where b stood: every worker has
// done with its rows of b when it comes to its rows of n, and those rows are
// the same bytes.
func (b *block) takenOverBy(n *block) bool {
	if b.bytes != n.bytes || b.rows != n.rows {
		return false
	}
	_, inRows := b.life.to.before(n.life.from)
	return inRows
}
