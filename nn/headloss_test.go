package nn

import (
	"math"
	"slices"
	"strings"
	"testing"

	"ablate/graph"
	"ablate/ops/kernel"
)

// TestSameBytesWithLogitsInBlocks: every variant trains and is evaluated to the same
// bytes whether its logits are held as a whole or never together, whatever is
// recomputed besides.
func TestSameBytesWithLogitsInBlocks(t *testing.T) {
	capped := variant{"long, capped", with(func(c *Config) {
		c.Context, c.Layers = 300, 1 // 600 rows: two blocks
		c.Logits = LogitsConfig{Scale: 0.5, Softcap: 4}
	})}
	tied := variant{"long, tied, many classes", with(func(c *Config) {
		c.Context, c.Layers, c.Embedding.Tied, c.Vocab = 300, 1, true, 1100 // two chunks
	})}
	team := graph.NewTeam(2)
	defer team.Close()
	for _, v := range append(variants(), capped, tied) {
		m := modelOf(t, v.cfg)
		for _, build := range []func(graph.Dtype, int, int, ...Option) (*graph.Graph, error){m.Train, m.Eval} {
			g, err := build(graph.Float32, batch, m.cfg.Context)
			if err != nil {
				t.Fatal(err)
			}
			if !inBlocks(t, g) {
				t.Errorf("%s: the logits are held as a whole", v.name)
			}
			want := bytesOf(t, m, g, team, graph.WithEnclosing(math.MaxInt))
			for i, opts := range [][]graph.Option{nil, {graph.WithRecompute(graph.RecomputeNothing)}, {graph.WithRecompute(graph.RecomputeBlocks)}} {
				if got := bytesOf(t, m, g, team, append(opts, graph.WithEnclosing(0))...); !slices.Equal(got, want) {
					t.Errorf("%s, recomputation %d: other bytes", v.name, i)
				}
			}
		}
	}
}

// TestProgramsMeasureGradients: the squares that a training program adds up while it writes the gradients of weights
// are those of the gradients, in every variant, and the large ones are all among them.
func TestProgramsMeasureGradients(t *testing.T) {
	tied := variant{"long, tied", with(func(c *Config) { c.Context, c.Layers, c.Embedding.Tied = 300, 1, true })}
	for _, v := range append(variants(), tied) {
		t.Run(v.name, func(t *testing.T) {
			m := modelOf(t, v.cfg)
			g, err := m.Train(graph.Float64, batch, m.cfg.Context)
			if err != nil {
				t.Fatal(err)
			}
			team := graph.NewTeam(2)
			defer team.Close()
			for _, enclosing := range []int{0, math.MaxInt} {
				r := &runner[float64]{m: m, g: g, params: graph.NewParams[float64](g)}
				if r.prog, err = graph.Compile(g, r.params, team, graph.WithEnclosing(enclosing)); err != nil {
					t.Fatal(err)
				}
				r.randomise()
				r.prog.Run()
				for _, s := range r.params.Specs() {
					parts, sum := r.prog.GradSquares(s.Name), 0.0
					for _, q := range parts {
						sum += q
					}
					want := kernel.SumSquares(r.params.Grad(s.Name))
					// Tables of positions are small and left to the trainer, as vectors are.
					switch matrix := len(s.Shape) == 2 && !slices.Contains([]string{"embed.wpe", "position.rel_bias"}, s.Name); {
					case parts != nil && math.Abs(sum-want) > 1e-12*want:
						t.Errorf("Σ g² of %s is %v, want %v", s.Name, sum, want)
					case parts == nil && matrix:
						t.Errorf("%s %v is not measured", s.Name, s.Shape)
					}
				}
			}
		})
	}
}

// inBlocks says whether the logits of g are never together where that is asked for.
func inBlocks(t *testing.T, g *graph.Graph) bool {
	t.Helper()
	plan, err := graph.NewPlan(g, graph.WithEnclosing(0))
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	plan.Dump(&text)
	return strings.Contains(text.String(), "crossEntropy of linear")
}

// bytesOf gives all gradients and outputs of a run, with some targets ignored.
func bytesOf(t *testing.T, m *Model, g *graph.Graph, team *graph.Team, opts ...graph.Option) []float32 {
	t.Helper()
	r := &runner[float32]{m: m, g: g, params: graph.NewParams[float32](g)}
	var err error
	if r.prog, err = graph.Compile(g, r.params, team, opts...); err != nil {
		t.Fatal(err)
	}
	r.randomise()
	for i := range r.ints("targets") {
		if i%4 == 1 {
			r.ints("targets")[i] = -100
		}
	}
	r.prog.Run()
	all := slices.Clone(r.params.Grads())
	for _, name := range g.Outputs() {
		all = append(all, r.out(name)...)
	}
	return all
}
