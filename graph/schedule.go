package graph

import (
	"fmt"
	"slices"
)

// task is a Task with its place in the program.
type task struct {
	Task
	label         string
	reads, writes []*value
	ord           int // position in topological order
	phase         int
	backward      bool
}

// point is a moment of a program: a phase, and within it, for values that a
// worker carries along with its rows, the task of the chain. chain is the
// number of parts of that chain, 0 for the phase as a whole.
type point struct{ phase, chain, ord int }

// life is when a value's memory is in use.
type life struct{ from, to point }

// schedule is the tasks of a program in phases, one after the other. Within a
// phase nobody waits: all its tasks that are split by rows with one number of
// parts form a chain, in which the tasks of a part run in order, whoever runs
// them; other tasks only depend on earlier phases.
type schedule struct {
	tasks  []*task
	phases int
	values []*value // results and scratch of all calls
}

// pendingBudget bounds the bytes that wait for the end of a chain: because work
// that needs all rows, such as the gradient of a weight, reads them, or because
// the chain itself reads them whole, such as packed weights. A smaller budget
// means more phases, a larger one more memory. Beside large parameters a
// share of theirs is little.
func (g *Graph) pendingBudget() int {
	const least, share = 4 << 20, 8
	n := 0
	for _, p := range g.params {
		n += p.Size()
	}
	return max(least, n*int(g.dtype.Size())/share)
}

// schedule also gives the bytes of memory that a worker needs. Memory that no
// task says it writes would have no lifetime, and be given to others.
func (l *lowered) schedule(pending int) (s *schedule, local int, err error) {
	s = &schedule{}
	p := placer{budget: pending, writers: map[*value][]*task{}, readers: map[*value][]*task{}, pending: map[*value]bool{}}
	for _, c := range l.calls {
		aux := c.bind(l.g.dtype)
		local = max(local, c.bound.local)
		s.values = append(append(s.values, c.out...), aux...)
		for _, t := range c.tasks() {
			t.ord = len(s.tasks)
			p.place(t)
			s.tasks = append(s.tasks, t)
			s.phases = max(s.phases, t.phase+1)
		}
	}
	for _, v := range s.values {
		if len(p.writers[v]) == 0 {
			return nil, 0, fmt.Errorf("graph: no task of %v writes its memory of shape %v", v.def.op, v.shape)
		}
		v.life = lifetime(v, p.writers[v], p.readers[v], s.phases)
	}
	return s, local, nil
}

// bind asks the op for its work and returns the values of its scratch memory.
func (c *call) bind(dt Dtype) (aux []*value) {
	c.bound = &Call{op: c.op, dtype: dt}
	for _, v := range c.in {
		c.bound.in = append(c.bound.in, v.Buffer)
	}
	for _, v := range c.out {
		c.bound.out = append(c.bound.out, v.Buffer)
	}
	c.bound.task = c.op.Bind(c.bound)
	for _, b := range c.bound.aux {
		aux = append(aux, valueOn(b, c))
	}
	return aux
}

func (c *call) tasks() []*task {
	out := make([]*task, len(c.bound.task))
	for i, t := range c.bound.task {
		out[i] = &task{Task: t, label: c.op.String(), backward: c.backward}
		out[i].reads = valuesOf(t.Reads, c.in)
		out[i].writes = valuesOf(t.Writes, c.out)
	}
	return out
}

func valuesOf(bs []*Buffer, all []*value) []*value {
	if bs == nil {
		return all
	}
	vs := make([]*value, len(bs))
	for i, b := range bs {
		vs[i] = b.v
	}
	return vs
}

// placer assigns phases in topological order.
type placer struct {
	writers, readers map[*value][]*task
	rows             int  // the earliest phase for chains
	backward         bool // the backward pass has begun
	pending          map[*value]bool
	pendingBytes     int
	budget           int
}

func (p *placer) place(t *task) {
	if t.Rows {
		// Between the forward and the backward pass a new phase gives back what
		// only the forward pass reads whole, such as packed weights.
		if turn := t.backward && !p.backward; turn || p.pendingBytes > p.budget {
			p.backward = p.backward || turn
			p.nextChain(p.rows + 1)
		}
		t.phase = p.rows
	} else {
		t.phase = max(0, p.rows-1) // just before the chain that may read it, not from the start
	}
	for _, v := range t.reads {
		for _, w := range p.writers[v] {
			p.after(t, w, v)
		}
	}
	for _, v := range t.writes {
		for _, o := range p.writers[v] {
			p.after(t, o, v)
		}
		for _, o := range p.readers[v] {
			p.after(t, o, v)
		}
	}
	if t.Rows && t.phase > p.rows {
		p.nextChain(t.phase)
	}
	for _, v := range t.reads {
		p.readers[v] = append(p.readers[v], t)
		if v.def != nil && p.pins(t, v) && !p.pending[v] {
			p.pending[v] = true
			p.pendingBytes += v.bytes()
		}
	}
	for _, v := range t.writes {
		p.writers[v] = append(p.writers[v], t)
	}
}

// pins says whether t, which reads v, holds it until all workers are at the end
// of the chains under way: t comes after them, or is in one and reads more than
// its rows, as a product does of packed weights.
func (p *placer) pins(t *task, v *value) bool {
	if t.Rows {
		return !t.keepsToRows(v)
	}
	return t.phase > p.rows
}

// nextChain begins the chains of a later phase.
func (p *placer) nextChain(phase int) {
	p.rows = phase
	p.pendingBytes = 0
	clear(p.pending)
}

// after makes t run after o, which touched v: in the same chain if both keep
// to their rows of it, in a later phase otherwise.
func (p *placer) after(t, o *task, v *value) {
	if chained(t, o) && t.keepsToRows(v) && o.keepsToRows(v) {
		t.phase = max(t.phase, o.phase)
		return
	}
	t.phase = max(t.phase, o.phase+1)
}

// chained says whether two tasks can be in one chain.
func chained(t, o *task) bool { return t.Rows && o.Rows && t.Parts == o.Parts }

func (t *task) keepsToRows(v *value) bool {
	return t.Rows && !slices.Contains(t.Whole, v.Buffer)
}

// lifetime spans all tasks that touch v.
func lifetime(v *value, writers, readers []*task, phases int) life {
	all := append(slices.Clone(writers), readers...)
	first, last := all[0].phase, all[0].phase
	for _, t := range all {
		first, last = min(first, t.phase), max(last, t.phase)
	}
	l := life{v.pointIn(all, first, false), v.pointIn(all, last, true)}
	if v.keep {
		l.to = point{phase: phases}
	}
	return l
}

// pointIn is when v is first, or last, touched in a phase.
func (v *value) pointIn(all []*task, phase int, last bool) point {
	pt := point{phase: phase, ord: -1}
	for _, t := range all {
		if t.phase != phase {
			continue
		}
		if !t.keepsToRows(v) || pt.chain != 0 && pt.chain != t.Parts {
			return point{phase: phase}
		}
		if pt.ord < 0 || last == (t.ord > pt.ord) {
			pt.ord = t.ord
		}
		pt.chain = t.Parts
	}
	return pt
}

// before says whether a value that ends at p is gone when one that starts at
// q begins: everywhere, or only where both have the same rows in the same
// place.
func (p point) before(q point) (everywhere, inRows bool) {
	if p.phase != q.phase {
		return p.phase < q.phase, false
	}
	return false, p.chain != 0 && p.chain == q.chain && p.ord < q.ord
}
