package sweep

import "ablate/ops/kernel"

// Estimate is a row of a dry run: what a cell is going to cost.
type Estimate struct {
	Index   int      `json:"index"`
	ID      string   `json:"id"`
	Cell    string   `json:"cell"` // the values of its axes
	Seed    int64    `json:"seed"`
	Params  int64    `json:"params"`
	Memory  Memory   `json:"memory"`
	Bytes   int64    `json:"bytes"`           // the whole of Memory
	Tokens  int64    `json:"tokens"`          // trained on
	FLOPs   float64  `json:"flops_per_token"` // of a training step
	Total   float64  `json:"flops"`           // training and evaluations
	Seconds float64  `json:"seconds"`         // Total at AssumedFLOPS on all of the cell's threads
	Match   *Matched `json:"match,omitempty"`
}

// assumedFLOPS is the rate of one thread, in FLOP/s, that estimates of time assume,
// by kernel path: about what training of models of a million parameters reached on a
// server processor of 2023. Nothing is measured for an estimate, so on another
// machine it is off by the ratio of the rates.
var assumedFLOPS = map[string]float64{"avx512": 60e9, "avx2": 40e9, "portable": 5e9}

// AssumedFLOPS is the rate of one thread, in FLOP/s, that estimates of time assume
// for the kernels in use.
func AssumedFLOPS() float64 {
	if rate, known := assumedFLOPS[kernel.Path()]; known {
		return rate
	}
	return assumedFLOPS["portable"]
}

// Estimates is what the cells with the given indices (nil: all) are going to cost,
// without running any. Memory is read off the planned graphs, FLOPs off the graph;
// a forward pass counts as a third of a training step.
func (p *Plan) Estimates(o Options) ([]Estimate, error) {
	cells, err := p.selected(o.Cells)
	if err != nil {
		return nil, err
	}
	o = o.complete(len(cells))
	threads := max(1, o.Threads/o.Jobs)
	memory := map[string]Memory{} // of an arm: seeds do not matter
	out := make([]Estimate, len(cells))
	for i, c := range cells {
		need, known := memory[c.Label]
		if !known {
			d, err := newDesign(c.Config, c.corpus, threads)
			if err != nil {
				return nil, err
			}
			need = d.memory
			memory[c.Label] = need
		}
		total := c.Size.FLOPs * (float64(c.Config.tokens()) + float64(c.evaluated())/3)
		out[i] = Estimate{Index: c.Index, ID: c.ID, Cell: c.Label, Seed: c.Seed(), Params: c.Size.Params, Memory: need, Bytes: need.Total(),
			Tokens: c.Config.tokens(), FLOPs: c.Size.FLOPs, Total: total, Seconds: total / (AssumedFLOPS() * float64(threads)), Match: c.Match}
	}
	return out, nil
}

// evaluated is the number of tokens that the run's evaluations look at.
func (c *Cell) evaluated() int64 {
	t, whole := c.Config.Train, int64(c.corpus.Validation.Len())
	each := whole
	if t.EvalTokens > 0 {
		each = min(each, int64(t.EvalTokens))
	}
	times := int64(0)
	if t.EvalEvery > 0 {
		times = int64((t.Steps - 1) / t.EvalEvery)
	}
	return whole + times*each
}
