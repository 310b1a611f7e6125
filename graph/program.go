package graph

import (
	"fmt"
	"slices"
	"unsafe"

	"gorgonia.org/gorgonia"
)

// Program runs a compiled graph. Inputs are written before a run and outputs
// read after it; the gradients of parameters are in their Params. It is not
// safe for concurrent use.
type Program struct {
	team    *Team
	phases  []round
	inputs  map[string]*Buffer
	outputs map[string]*Buffer
	squares map[string][]float64 // by parameter
	arena   []byte
	gaps    [][]byte // between the gradients, where there was something else
	stats   Stats
}

var _ gorgonia.VM = (*Program)(nil)

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
		team: team, stats: plan.Stats, inputs: map[string]*Buffer{}, outputs: map[string]*Buffer{}, squares: map[string][]float64{},
		arena: o.arena,
	}
	if len(p.arena) < plan.Stats.Arena {
		p.arena = alignedBytes(max(plan.Stats.Arena, o.room))
	}
	bindLeaves(plan.lowered, p, params, o.inputs)
	bindBlocks(plan.blocks, base(p.arena), params)
	workers := make([]Worker, team.Size())
	for i := range workers {
		workers[i] = Worker{team: team, local: alignedBytes(plan.Stats.Local + cacheLine)}
	}
	p.phases = plan.schedule.rounds(workers)
	plan.release()
	p.gaps = params.gaps(plan.Stats.Lent)
	for name, v := range plan.lowered.outputs {
		p.outputs[name] = v.Buffer
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
		p.squares[s.Name] = v.squares
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

// RunAll runs the program once.
func (p *Program) RunAll() error {
	p.Run()
	return nil
}

// Run runs the program once. It allocates nothing.
func (p *Program) Run() {
	p.team.claim()
	p.team.run(p.phases)
	for _, g := range p.gaps {
		clear(g)
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

// GradSquares is Σ g² of a parameter's gradient as a run has left it, in parts that depend on the graph alone; nil if
// the program does not give it.
func (p *Program) GradSquares(param string) []float64 { return p.squares[param] }

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
