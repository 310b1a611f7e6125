package sweep

import (
	"fmt"

	"ablate/data"
	"ablate/graph"
	"ablate/nn"
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
	a := m.Attest(g)
	for l, b := range a.Blocks {
		if !b.AsConfigured {
			return Size{}, fmt.Errorf("block %d was built as %s, which is not what the configuration says", l, b.Placement)
		}
	}
	return Size{Params: int64(a.Params), FLOPs: a.FLOPsPerToken}, nil
}

// A machine is a model in memory, ready to train.
type machine struct {
	team        *graph.Team
	params      *graph.Params[float32]
	step, eval  *graph.Program
	attestation nn.Attestation
	memory      Memory
}

// build compiles the programs of a resolved configuration for a number of threads.
// Its memory is reserved, but not touched before the machine runs. A model that is
// too large by its weights and its residual stream alone is refused before that.
func build(c Config, corpus *data.Corpus, threads, sharing int) (*machine, error) {
	model, err := nn.New(c.Model)
	if err != nil {
		return nil, err
	}
	train, err := model.Train(graph.Float32, c.Train.Batch, c.Model.Context)
	if err != nil {
		return nil, err
	}
	eval, err := model.Eval(graph.Float32, c.Train.Batch, c.Model.Context)
	if err != nil {
		return nil, err
	}
	m := &machine{attestation: model.Attest(train)}
	m.memory.Data = int64(corpus.Train.Len()+corpus.Validation.Len()) * bytesPerToken(corpus)
	for _, p := range train.Params() {
		m.memory.Weights += int64(p.Size()) * bytesPerParam
	}
	m.memory.Arena = 4 * int64(c.Train.Batch) * int64(c.Model.Context) * int64(c.Model.DModel) * int64(c.Model.Layers) // its least
	if err := m.memory.fits(sharing); err != nil {
		return nil, err
	}
	m.team, m.params = graph.NewTeam(threads), graph.NewParams[float32](train)
	if m.step, err = graph.Compile(train, m.params, m.team); err == nil {
		m.eval, err = graph.Compile(eval, m.params, m.team)
	}
	if err != nil {
		m.close()
		return nil, fmt.Errorf("model %s: %w", c.Name, err)
	}
	step, test := m.step.Stats(), m.eval.Stats()
	m.memory.Arena = int64(step.Arena + test.Arena)
	m.memory.Local = int64(threads) * int64(step.Local+test.Local)
	if err := m.memory.fits(sharing); err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

// bytesPerToken is how the corpus stores a token.
func bytesPerToken(c *data.Corpus) int64 {
	if c.Vocab <= 1<<8 {
		return 1
	}
	return 2
}

// close ends the workers.
func (m *machine) close() { m.team.Close() }
