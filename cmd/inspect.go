package cmd

import (
	"fmt"
	"maps"
	"math"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"ablate/experiments/sweep"
	"ablate/graph"
	"ablate/nn"
	"ablate/train"
)

// inspected is what inspect --json prints.
type inspected struct {
	Attestation nn.Attestation  `json:"model"`
	Train       graph.Stats     `json:"train_program"`
	KVBytes     int             `json:"kv_bytes_per_token_fp16"`
	KVCache     cacheBytes      `json:"kv_bytes_of_context_fp16"`
	Preset      *listedPreset   `json:"preset,omitempty"`
	Groups      []train.Group   `json:"update_groups"`
	Decay       []inspectedSpec `json:"params"`
}

// cacheBytes is the size of the keys and values of a whole context in 16 bits: as the
// model is, with keys and values for every head of queries, and with one for all of
// them. Layers with a window keep no more than that; Full is the model's cache if they
// kept everything.
type cacheBytes struct {
	Tokens int   `json:"tokens"`
	Own    int64 `json:"bytes"`
	MHA    int64 `json:"mha"`
	MQA    int64 `json:"mqa"`
	Full   int64 `json:"full_length"`
}

func newCacheBytes(c nn.Config, perToken int) cacheBytes {
	of := func(heads int) int64 { return c.KVCacheBytes(heads, c.Context, 2) }
	return cacheBytes{c.Context, of(int(c.KVHeads)), of(c.Heads), of(1), int64(perToken) * int64(c.Context)}
}

type inspectedSpec struct {
	Name  string `json:"name"`
	Shape []int  `json:"shape"`
	Role  string `json:"role"`
	Decay bool   `json:"decay"`
	// Init is the root mean square of the initial values, of the first inspectedValues
	// if there are more.
	Init float64 `json:"init_rms"`
	LR   string  `json:"-"` // factor of the learning rate, where it is not 1
}

// inspectedValues is how many initial values of a parameter are drawn to be measured:
// their root mean square is within about 1 % of that of all.
const inspectedValues = 4096

// initRMS draws initial values as a run draws them.
func initRMS(c sweep.Config, p *graph.ParamSpec) float64 {
	x := make([]float64, min(p.Size(), inspectedValues))
	p.Init(graph.Stream(c.Seed.Init, c.Salt, p.Name), x)
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	return math.Sqrt(sum / float64(len(x)))
}

func newInspected(c sweep.Config, a nn.Attestation, g *graph.Graph, plan *graph.Plan) inspected {
	r := inspected{Attestation: a, Train: plan.Stats, KVBytes: 2 * a.KVCachePerToken, Groups: c.Train.Groups(g.Params())}
	r.KVCache = newCacheBytes(c.Model, r.KVBytes)
	for _, p := range g.Params() {
		f := c.Train.Factors(p)
		spec := inspectedSpec{p.Name, p.Shape, p.Role, f.Decay != 0, initRMS(c, p), ""}
		if f.LR != 1 {
			spec.LR = fmt.Sprintf("  lr × %.4g", f.LR)
		}
		r.Decay = append(r.Decay, spec)
	}
	return r
}

func (a *app) inspect() *cobra.Command {
	var dot string
	var params, symbolic, program bool
	c := &cobra.Command{
		Use:   "inspect [CONFIG.yaml] [key=value …]",
		Short: "What the built graph is: blocks, norms, parameters, FLOPs, memory",
		Args:  args(atMostOneFile),
		RunE: func(_ *cobra.Command, args []string) error {
			cfg, err := a.resolved(args)
			if err != nil {
				return err
			}
			m, err := nn.New(cfg.Model)
			if err != nil {
				return err
			}
			g, err := m.Train(graph.Float32, cfg.Train.Batch, cfg.Model.Context)
			if err != nil {
				return &exitError{exitUsage, fmt.Errorf("model: %w", err)}
			}
			switch {
			case dot != "":
				return writeDOT(g, dot)
			case symbolic:
				return g.Dump(a.stdout)
			}
			if err := sweep.CheckUpdates(cfg, g); err != nil {
				return &exitError{exitUsage, err}
			}
			plan, err := graph.NewPlan(g, sweep.Recompute(cfg.Train))
			if err != nil {
				return err
			}
			r := newInspected(cfg, m.Attest(g), g, plan)
			preset, err := presetOf(args)
			if err != nil {
				return err
			}
			if a.json {
				r.Preset = listed(preset)
				return a.printJSON(r)
			}
			a.printNotes(preset)
			a.printInspected(cfg, r, params)
			if program {
				a.printf("\n")
				return plan.Dump(a.stdout)
			}
			return nil
		},
	}
	c.Flags().StringVar(&dot, "dot", "", "write the graph in Graphviz's language to `FILE`")
	c.Flags().BoolVar(&params, "params", false, "list every parameter")
	c.Flags().BoolVar(&symbolic, "graph", false, "print the symbolic graph of the training step as text, and nothing else")
	c.Flags().BoolVar(&program, "program", false, "list every task of the training program")
	return c
}

func atMostOneFile(_ *cobra.Command, args []string) error {
	if files, _ := split(args); len(files) > 1 {
		return fmt.Errorf("one file at most is wanted; got %d", len(files))
	}
	return nil
}

// resolved is the configuration that a file, if there is one, and settings
// give, complete but for what only a corpus can say: the byte vocabulary is
// assumed where there is none.
func (a *app) resolved(args []string) (sweep.Config, error) {
	layers, err := layers(args)
	if err != nil {
		return sweep.Config{}, err
	}
	cfg, err := sweep.Decode(layers...)
	if err != nil {
		return cfg, err
	}
	vocab := int(cfg.Model.Vocab)
	if vocab == 0 {
		vocab = byteVocab
	}
	cfg.Model, err = cfg.Model.Resolve(vocab)
	if err != nil {
		return cfg, &exitError{exitUsage, fmt.Errorf("model: %w", err)}
	}
	return cfg, nil
}

// byteVocab is the vocabulary of the byte tokenizer, the default.
const byteVocab = 256

func writeDOT(g *graph.Graph, file string) error {
	f, err := os.Create(file)
	if err != nil {
		return usageErrorf("--dot: %w", err)
	}
	if err := g.DOT(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

func (a *app) printInspected(cfg sweep.Config, r inspected, params bool) {
	m := r.Attestation
	a.printf("placement     block\n")
	for _, line := range m.Placements() {
		a.printf("  %s\n", line)
	}
	for l, b := range m.Blocks {
		if l > 0 && slices.Equal(norms(b), norms(m.Blocks[l-1])) {
			continue
		}
		a.printf("norms from block %d: %d", l, len(b.Norms))
		for _, n := range b.Norms {
			a.printf("  %v", n)
		}
		a.printf("\n")
	}
	a.printf("embedding     scale %s, norm %s; final norm %s, head tied %v\n", m.EmbeddingScale, orNone(m.EmbeddingNorm), orNone(m.FinalNorm), m.Tied)
	a.printf("parameters    %d, %d without embedding and head\n", m.Params, m.NonEmbedding)
	for _, role := range slices.Sorted(maps.Keys(m.ByRole)) {
		a.printf("  %-15s %d\n", role, m.ByRole[role])
	}
	decayed, all := 0, 0
	for _, p := range r.Decay {
		all++
		if p.Decay {
			decayed++
		}
	}
	a.printf("weight decay  on %d tensors, not on the %d others\n", decayed, all-decayed)
	for _, g := range r.Groups {
		if g.LR != 1 || g.Decay != 0 && g.Decay != 1 {
			a.printf("updates       %v\n", g)
		}
	}
	a.printf("FLOPs         %.4g a token of a training step\n", m.FLOPsPerToken)
	a.printf("KV cache      %d elements a token, %d bytes in 16 bits\n", m.KVCachePerToken, r.KVBytes)
	a.printCache(r.KVCache)
	s := r.Train
	a.printf("program       %d calls, %d fused away, %d of the forward pass computed again, %d tasks in %d phases, for %d × %d tokens\n", s.Calls, s.Fused, s.Again, s.Tasks, s.Phases, cfg.Train.Batch, cfg.Model.Context)
	weights, optimizer := sweep.VectorBytes(cfg, int64(m.Params))
	a.printf("memory        arena %.1f MB (%.1f MB without reuse), weights with gradients and optimizer %.1f MB\n",
		float64(s.Arena)/1e6, float64(s.Values)/1e6, float64(weights+optimizer)/1e6)
	if !params {
		return
	}
	a.printf("\n")
	for _, p := range r.Decay {
		note := ""
		if p.Decay {
			note = "  decay"
		}
		a.printf("  %-32s %-14s %-15s initial rms %-9.4g%s%s\n", p.Name, fmt.Sprint(p.Shape), p.Role, p.Init, note, p.LR)
	}
}

// printCache prints what a whole context takes, and what layers without their windows
// would.
func (a *app) printCache(kv cacheBytes) {
	const MiB = 1 << 20
	windows := ""
	if kv.Own != kv.Full {
		windows = fmt.Sprintf(" within the windows, %.4g MiB without windows", float64(kv.Full)/MiB)
	}
	a.printf("              %.4g MiB for %d tokens%s; %.4g MiB with keys and values for every head, %.4g MiB with one for all\n",
		float64(kv.Own)/MiB, kv.Tokens, windows, float64(kv.MHA)/MiB, float64(kv.MQA)/MiB)
}

func norms(b nn.BlockAttestation) (names []string) {
	for _, n := range b.Norms {
		names = append(names, n.Op+" "+n.Where)
	}
	return names
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
