package graph

import (
	"cmp"
	"math"
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
	lent   bool   // off is in the vector of gradients, as that of a gradient is, not in the arena
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

// gradients gives the blocks of gradients their places in the vector of
// gradients, and returns its size in bytes.
func (l *lowered) gradients(blocks []*block) (size int) {
	places := map[*value]int{}
	for _, p := range l.g.params {
		places[l.grads[p]] = size
		size += paddedLen(p, l.g.dtype) * int(l.g.dtype.Size())
	}
	for _, b := range blocks {
		if b.home != nil {
			b.off = places[b.home]
		}
	}
	return size
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

// layOut gives every block its place and returns the arena's size in bytes. In
// the vector of gradients, of so many bytes, the memory of each is idle until
// the backward pass comes to it: what is gone by then, such as packed weights
// and what the backward pass reads of later layers, goes there as long as there
// is room, and takes up lent bytes of it.
func layOut(blocks []*block, gradients int) (arena, lent int) {
	var homes, rest []*block
	for _, b := range blocks {
		b.room = (b.bytes + cacheLine - 1) &^ (cacheLine - 1)
		b.lent = true
		if b.home != nil {
			homes = append(homes, b)
		} else {
			rest = append(rest, b)
		}
	}
	if len(homes) == 0 {
		gradients = 0 // they are nothing to this program
	}
	slices.SortFunc(homes, func(a, b *block) int { return cmp.Compare(a.off, b.off) })
	// What lives long finds room in few gradients only.
	slices.SortStableFunc(rest, func(a, b *block) int {
		return cmp.Or(cmp.Compare(b.life.to.phase, a.life.to.phase), bySize(a, b))
	})
	lent, left := arrange(rest, homes, gradients)
	for _, b := range left {
		b.lent = false
	}
	slices.SortStableFunc(left, bySize)
	arena, _ = arrange(left, nil, math.MaxInt)
	return arena, lent
}

// bySize puts the largest first, since the small ones fit into the gaps between
// them, and of one size those that come alive first.
func bySize(a, b *block) int {
	return cmp.Or(cmp.Compare(b.bytes, a.bytes), cmp.Compare(a.life.from.phase, b.life.from.phase), cmp.Compare(a.life.from.ord, b.life.from.ord))
}

// arrange places blocks, in their order, in one stretch of memory, in which
// there are others by their offsets. It returns the bytes that are used, and
// the blocks that would end beyond limit, which have no place.
func arrange(blocks, others []*block, limit int) (size int, left []*block) {
	placed := slices.Clone(others)
	var near []neighbour
	for _, b := range blocks {
		near = near[:0]
		for _, p := range placed {
			if apart, inRows := b.life.apart(p.life); !apart {
				near = append(near, neighbour{p, inRows && b.bytes == p.bytes && b.rows == p.rows})
			}
		}
		off := place(b.room, near)
		if off+b.room > limit {
			left = append(left, b)
			continue
		}
		b.off = off
		i, _ := slices.BinarySearchFunc(placed, b.off, func(p *block, off int) int { return cmp.Compare(p.off, off) })
		placed = slices.Insert(placed, i, b)
		size = max(size, b.off+b.room)
	}
	return size, left
}

// neighbour is a block that is alive at the same time as another one. shares
// says that the other may stand exactly where it does: a part's tasks run in
// order, its rows are nobody else's, and those of both are the same bytes.
type neighbour struct {
	*block
	shares bool
}

// place finds the lowest place for a block of so many bytes among its
// neighbours, which are in the order of their offsets: a gap, or the place of
// one or several that it may share.
func place(room int, near []neighbour) int {
	end := 0 // of the neighbours so far
	for i, n := range near {
		if end+room <= n.off {
			return end
		}
		if n.off >= end && shared(room, n.off, near[i:]) {
			return n.off
		}
		end = max(end, n.off+n.room)
	}
	return end
}

// shared says whether a block may stand at off, where the first of its
// neighbours stands: all that reach into it can be shared and stand there too.
func shared(room, off int, near []neighbour) bool {
	for _, n := range near {
		if n.off >= off+room {
			return true
		}
		if !n.shares || n.off != off {
			return false
		}
	}
	return true
}

// apart says whether one life ends before the other begins: everywhere, or
// only where both have the same rows in the same place.
func (l life) apart(o life) (everywhere, inRows bool) {
	before, beforeInRows := l.to.before(o.from)
	after, afterInRows := o.to.before(l.from)
	return before || after, beforeInRows || afterInRows
}
