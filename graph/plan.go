package graph

import "math"

// Stats is what the planner did.
type Stats struct {
	Calls, Fused int // calls in the program; operations that were fused into others
	Again        int // calls of the forward pass that the backward pass repeats
	Tasks        int
	Phases       int
	Arena        int // bytes of the arena, in which intermediate values live that find no room among the gradients
	Lent         int // of the gradients' vector, the first so many bytes hold such values where there are no gradients yet
	Values       int // bytes of all those values, had each its own memory
	Local        int // bytes of memory of one worker
}

// Option changes how a graph is compiled, never what it computes.
type Option func(*options)

type options struct {
	fuse      bool
	enclose   int
	pending   int // bytes; negative is for pendingBudget to say
	recompute Recompute
	inputs    map[string]*Buffer // of another program
	arena     []byte             // of another program
	room      int                // bytes that an arena must have at least
}

// WithoutFusion keeps every operation by itself, to test the fused ones.
func WithoutFusion() Option { return func(o *options) { o.fuse, o.enclose = false, math.MaxInt } }

// WithEnclosing encloses calls wherever that saves at least so many bytes; see
// encloseFrom. The results do not depend on it.
func WithEnclosing(bytes int) Option { return func(o *options) { o.enclose = bytes } }

// WithPending bounds the bytes that wait for the end of a phase; see pendingBudget.
func WithPending(bytes int) Option { return func(o *options) { o.pending = bytes } }

// WithInputsOf shares the inputs of p that have the same name, shape and type:
// what one program leaves in them the other finds. The two must not run at
// once.
func WithInputsOf(p *Program) Option { return func(o *options) { o.inputs = p.inputs } }

// WithArena makes the arena at least so many bytes, for another program that
// needs more than this one; see WithArenaOf.
func WithArena(bytes int) Option { return func(o *options) { o.room = bytes } }

// WithArenaOf lets a program that needs no more memory than p compute in p's:
// what one leaves in its outputs is lost when the other runs. The two must not
// run at once.
func WithArenaOf(p *Program) Option { return func(o *options) { o.arena = p.arena } }

// Plan is a graph as it will run: fused, scheduled and laid out, but without
// memory. It tells what a model costs that this machine could not hold.
type Plan struct {
	Stats    Stats
	lowered  *lowered
	schedule *schedule
	blocks   []*block
}

func readOptions(opts []Option) options {
	o := options{fuse: true, enclose: encloseFrom, pending: -1}
	for _, f := range opts {
		f(&o)
	}
	return o
}

// NewPlan plans g.
func NewPlan(g *Graph, opts ...Option) (*Plan, error) {
	o := readOptions(opts)
	l, err := lower(g)
	if err != nil {
		return nil, err
	}
	nodes := len(l.calls)
	if o.fuse {
		l.absorb()
	}
	l.enclose(o.enclose)
	once := len(l.calls)
	l.recompute(o.recompute)
	again := len(l.calls) - once
	if o.fuse {
		l.join()
		l.fuse()
	}
	l.early()
	if o.pending < 0 {
		o.pending = g.pendingBudget()
	}
	s, local, err := l.schedule(o.pending)
	if err != nil {
		return nil, err
	}
	p := &Plan{lowered: l, schedule: s, blocks: l.blocks(s.values)}
	p.Stats = Stats{
		Calls: len(l.calls), Fused: nodes + again - len(l.calls), Again: again, Tasks: len(s.tasks), Phases: s.phases, Local: local,
	}
	p.Stats.Arena, p.Stats.Lent = layOut(p.blocks, l.gradients(p.blocks))
	for _, b := range p.blocks {
		for _, v := range b.values {
			if !v.home {
				p.Stats.Values += v.bytes()
			}
		}
	}
	return p, nil
}

// release lets go of what only planning needs, once the tasks are in a program:
// for a deep model half of what there is beside the values' memory.
func (p *Plan) release() {
	for _, c := range p.lowered.calls {
		c.bound.task = nil
		for _, bs := range [][]*Buffer{c.bound.in, c.bound.out, c.bound.aux} {
			for _, b := range bs {
				b.v = nil
			}
		}
	}
	for _, t := range p.schedule.tasks {
		t.Reads, t.Writes, t.Whole, t.reads, t.writes, t.label = nil, nil, nil, nil, nil, ""
	}
}
