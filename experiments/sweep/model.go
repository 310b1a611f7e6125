package sweep

import (
	"errors"
	"fmt"
	"runtime/debug"

	"ablate/data"
	"ablate/graph"
	"ablate/nn"
	"ablate/train"
)

// Size is what a model costs, read off its built graph.
type Size struct {
	Params int64   // numbers that are trained, a tied matrix once
	FLOPs  float64 // of a training step, per token
}

// measure builds the graph of a resolved configuration, allocating no weights, and
// reads its size off it.
func measure(c Config) (Size, error) {
	m, err := nn.New(c.Model)
	if err != nil {
		return Size{}, err
	}
	g, err := m.Eval(graph.Float32, 1, c.Model.Context)
	if err != nil {
		return Size{}, err
	}
	if err := CheckUpdates(c, g); err != nil {
		return Size{}, err
	}
	a := m.Attest(g)
	for l, b := range a.Blocks {
		if !b.AsConfigured {
			return Size{}, fmt.Errorf("block %d was built as %s with the norms %v, which is not what the configuration says", l, b.Placement, b.Norms)
		}
	}
	return Size{Params: int64(a.Params), FLOPs: a.FLOPsPerToken}, nil
}

// CheckUpdates reports multipliers of the training that do nothing to the parameters
// of the model's graph; each error starts with its key.
func CheckUpdates(c Config, g *graph.Graph) error {
	if err := c.Train.Multipliers.Check(g.Params()); err != nil {
		return keyed("train.multipliers.", err)
	}
	return nil
}

// keyed puts a prefix before every part of an error.
func keyed(prefix string, err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var parts []error
		for _, e := range joined.Unwrap() {
			parts = append(parts, keyed(prefix, e))
		}
		return errors.Join(parts...)
	}
	return fmt.Errorf("%s%w", prefix, err)
}

// A design is the graphs of a run, planned but without memory.
type design struct {
	train, eval *graph.Graph
	attestation nn.Attestation
	updates     []train.Group
	memory      Memory
	recompute   graph.Option
}

// Recompute is the option of the planner that a configuration asks for.
func Recompute(c train.Config) graph.Option {
	return graph.WithRecompute(map[string]graph.Recompute{
		"none": graph.RecomputeNothing, "block": graph.RecomputeBlocks,
	}[c.Recompute])
}

// newDesign builds and plans the graphs of a resolved configuration for a number of threads.
func newDesign(c Config, corpus *data.Corpus, threads int) (*design, error) {
	model, err := nn.New(c.Model)
	if err != nil {
		return nil, err
	}
	d := &design{recompute: Recompute(c.Train)}
	if d.train, err = model.Train(graph.Float32, c.Train.Batch, c.Model.Context); err != nil {
		return nil, err
	}
	if d.eval, err = model.Eval(graph.Float32, c.Train.Batch, c.Model.Context); err != nil {
		return nil, err
	}
	d.attestation, d.updates = model.Attest(d.train), c.Train.Groups(d.train.Params())
	d.memory = fixedMemory(c, int64(d.attestation.Params), corpus)
	for _, g := range []*graph.Graph{d.train, d.eval} {
		p, err := graph.NewPlan(g, Recompute(c.Train))
		if err != nil {
			return nil, err
		}
		d.memory.Arena = max(d.memory.Arena, int64(p.Stats.Arena)) // the evaluation computes where the step does
		d.memory.Local += int64(threads) * int64(p.Stats.Local)
	}
	return d, nil
}

// A machine is a design in memory, ready to train.
type machine struct {
	*design
	team       *graph.Team
	params     *graph.Params[float32]
	step, test *graph.Program
}

// build compiles the programs of a design, and lets its graphs go.
func (d *design) build(threads int) (*machine, error) {
	m := &machine{design: d, team: graph.NewTeam(threads), params: graph.NewParams[float32](d.train)}
	var err error
	if m.step, err = graph.Compile(d.train, m.params, m.team, d.recompute, graph.WithArena(int(d.memory.Arena))); err == nil {
		m.test, err = graph.Compile(d.eval, m.params, m.team, graph.WithArenaOf(m.step))
	}
	d.train, d.eval = nil, nil
	if err != nil {
		m.close()
		return nil, err
	}
	debug.FreeOSMemory() // of the graphs and their plans, before the programs touch theirs
	return m, nil
}

// close ends the workers.
func (m *machine) close() { m.team.Close() }
