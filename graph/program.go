package graph

import (
	"fmt"
	"slices"
	"sync/atomic"
	"unsafe"

	"gorgonia.org/gorgonia"
)

// Program runs a compiled graph. Inputs are written before a run and outputs
// read after it; the gradients of parameters are in their Params. It is not
// safe for concurrent use.
type Program struct {
	team    *Team
	phases  []phase
	workers []Worker
	inputs  map[string]*Buffer
	outputs map[string]*Buffer
	arena   []byte
	gaps    [][]byte // between the gradients, where there was something else
	stats   Stats
}

var _ gorgonia.VM = (*Program)(nil)

// phase is a set of items without dependencies on each other.
type phase struct {
	items []item
	next  atomic.Int64
	_     [cacheLine]byte // workers of the next phase count elsewhere
}

// chain is tasks that a worker runs one after the other.
type chain struct {
	tasks []*task
	ahead ahead
}

// item is a chain for parts [from, to), which take turns at every task: the
// weights that one has read are still in the cache for the next.
type item struct {
	*chain
	from, to int
}

// together is the number of parts in an item of a chain, as long as there are
// as many for every worker. More gain little, and leave less to share out.
const together = 2

// Compile turns g into a program that runs on team and works on params.
func Compile[T Float](g *Graph, params *Params[T], team *Team, opts ...Option) (*Program, error) {
	if err := params.fits(g); err != nil {
		return nil, err
	}
	plan, err := NewPlan(g, opts...)
	if err != nil {
		return nil, err
	}
	o := readOptions(opts)
	p := &Program{
		team: team, stats: plan.Stats, inputs: map[string]*Buffer{}, outputs: map[string]*Buffer{},
		arena: o.arena, workers: make([]Worker, team.Size()),
	}
	if len(p.arena) < plan.Stats.Arena {
		p.arena = alignedBytes(max(plan.Stats.Arena, o.room))
	}
	bindLeaves(plan.lowered, p, params, o.inputs)
	bindBlocks(plan.blocks, base(p.arena), params)
	p.phases = plan.schedule.items(team.Size())
	plan.release()
	p.gaps = params.gaps(plan.Stats.Lent)
	for name, v := range plan.lowered.outputs {
		p.outputs[name] = v.Buffer
	}
	for i := range p.workers {
		p.workers[i].local = alignedBytes(plan.Stats.Local + cacheLine)
	}
	return p, nil
}

// bindLeaves gives inputs, tables, parameters and their gradients their memory.
func bindLeaves[T Float](l *lowered, p *Program, params *Params[T], shared map[string]*Buffer) {
	g := l.g
	for n, v := range l.values {
		switch {
		case v.def != nil:
		case g.paramOf[n] != nil:
			v.ptr = params.pointer(g.paramOf[n].Name, false)
		case g.tables[n] != nil:
			t := aligned[T](v.n)
			for i, x := range g.tables[n] {
				t[i] = T(x)
			}
			v.ptr = unsafe.Pointer(unsafe.SliceData(t))
		case g.intTables[n] != nil:
			v.ptr = unsafe.Pointer(unsafe.SliceData(g.intTables[n]))
		default:
			if b := shared[v.name]; b != nil && b.dtype == v.dtype && b.shape.Eq(v.shape) {
				v.ptr = b.ptr
			} else {
				v.ptr = base(alignedBytes(v.bytes()))
			}
			p.inputs[v.name] = v.Buffer
		}
	}
	for s, v := range l.grads {
		v.ptr = params.pointer(s.Name, true)
	}
}

// bindBlocks gives results and scratch their places.
func bindBlocks[T Float](blocks []*block, arena unsafe.Pointer, params *Params[T]) {
	for _, b := range blocks {
		var ptr unsafe.Pointer
		switch {
		case b.home != nil:
			ptr = b.home.ptr
		case b.lent:
			ptr = addBytes(unsafe.Pointer(unsafe.SliceData(params.Grads())), b.off)
		default:
			ptr = addBytes(arena, b.off)
		}
		for _, v := range b.values {
			v.ptr = ptr
		}
	}
}

// items lists the work of every phase for a team: first the chains, which are
// long, then everything else, which fills the gaps. Buffers have their memory.
func (s *schedule) items(workers int) []phase {
	phases := make([]phase, s.phases)
	for i := range phases {
		chains := map[int]*chain{}
		var order []int
		for _, t := range s.tasks {
			if t.phase == i && t.Rows {
				if chains[t.Parts] == nil {
					chains[t.Parts] = &chain{}
					order = append(order, t.Parts)
				}
				chains[t.Parts].tasks = append(chains[t.Parts].tasks, t)
			}
		}
		for _, parts := range order {
			c := chains[parts]
			c.ahead = aheadOf(c.tasks, together)
			for from, to := 0, 0; from < parts; from = to {
				to = from + 1
				if parts-from >= together*workers {
					to = from + together
				}
				phases[i].items = append(phases[i].items, item{c, from, to})
			}
		}
		for _, t := range s.tasks {
			if t.phase == i && !t.Rows {
				c := &chain{tasks: []*task{t}}
				c.ahead = aheadOf(c.tasks, 1)
				for part := range t.Parts {
					phases[i].items = append(phases[i].items, item{c, part, part + 1})
				}
			}
		}
	}
	return phases
}

// RunAll runs the program once.
func (p *Program) RunAll() error {
	p.Run()
	return nil
}

// Run runs the program once. It allocates nothing.
func (p *Program) Run() {
	for i := range p.phases {
		p.phases[i].next.Store(0)
	}
	if len(p.phases) > 0 {
		p.team.run(p)
	}
	for _, g := range p.gaps {
		clear(g)
	}
}

// work is what every worker of the team does: take items until the phase has
// none left, then wait for the others.
func (p *Program) work(worker int) {
	w := &p.workers[worker]
	for i := range p.phases {
		ph := &p.phases[i]
		for {
			k := int(ph.next.Add(1)) - 1
			if k >= len(ph.items) {
				break
			}
			ph.items[k].run(w)
		}
		p.team.barrier()
	}
}

// run does all of an item.
func (it *item) run(w *Worker) {
	w.begin(&it.ahead, it.from, it.to)
	for i, t := range it.tasks {
		w.task(i)
		for part := it.from; part < it.to; part++ {
			t.Run(part, w)
		}
	}
}

// Reset does nothing: a program can always run again.
func (p *Program) Reset() {}

// Close does nothing; the team belongs to the caller.
func (p *Program) Close() error { return nil }

// Input is the memory of an input, to be written before a run. It panics if
// the graph has none of this name, or does not read it.
func (p *Program) Input(name string) *Buffer { return find(p.inputs, "input", name) }

// Output is the memory of an output, to be read after a run.
func (p *Program) Output(name string) *Buffer { return find(p.outputs, "output", name) }

// HasInput says whether the program reads an input of this name.
func (p *Program) HasInput(name string) bool { return p.inputs[name] != nil }

// HasOutput says whether the program has an output of this name.
func (p *Program) HasOutput(name string) bool { return p.outputs[name] != nil }

// Stats says what the planner did.
func (p *Program) Stats() Stats { return p.stats }

func find(m map[string]*Buffer, kind, name string) *Buffer {
	b, ok := m[name]
	if !ok {
		var known []string
		for k := range m {
			known = append(known, k)
		}
		slices.Sort(known)
		panic(fmt.Sprintf("graph: the program has no %s %q; it has %v", kind, name, known))
	}
	return b
}
