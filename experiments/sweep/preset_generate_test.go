package sweep

import (
	"math"
	"strings"
	"testing"

	"ablate/graph"
	"ablate/nn"
	"ablate/nn/presets"
)

// TestSmallTwinsGenerate continues a text with each small preset, with a cache and
// without; the logits agree at every token. Bidirectional ones refuse.
func TestSmallTwinsGenerate(t *testing.T) {
	team := graph.NewTeam(2)
	defer team.Close()
	for _, name := range families {
		name += presets.Tiny
		c := presetModel(t, name)
		m, err := nn.New(c)
		if err != nil {
			t.Fatal(err)
		}
		g, err := m.Eval(graph.Float32, 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		p := graph.NewParams[float32](g)
		p.Init(1, "")
		if !c.Attention.Causal {
			if _, err := nn.NewGenerator(m, p, team, nn.GeneratorOptions{Capacity: 8}); err == nil || !strings.Contains(err.Error(), "bidirectional") {
				t.Errorf("%s: error %v", name, err)
			}
			continue
		}
		compareGenerators(t, name, m, p, team, min(c.Context, 40))
	}
}

func compareGenerators(t *testing.T, name string, m *nn.Model, p *graph.Params[float32], team *graph.Team, n int) {
	t.Helper()
	cached, err := nn.NewGenerator(m, p, team, nn.GeneratorOptions{Capacity: n, Chunk: 8})
	if err != nil {
		t.Fatal(err)
	}
	whole, err := nn.NewGenerator(m, p, team, nn.GeneratorOptions{Capacity: n, NoCache: true})
	if err != nil {
		t.Fatal(err)
	}
	random := graph.Stream(1, "", name)
	for at := 0; at < n; {
		tokens := make([]int32, min([]int{11, 1, 1, 1}[at%4], n-at)) // chunks and single tokens
		for i := range tokens {
			tokens[i] = random.Int32N(256)
		}
		at += len(tokens)
		if err := cached.Feed(tokens...); err != nil {
			t.Fatal(err)
		}
		if err := whole.Feed(tokens...); err != nil {
			t.Fatal(err)
		}
		for i, z := range whole.Logits() {
			if !(math.Abs(cached.Logits()[i]-z) <= 1e-4) {
				t.Errorf("%s: after %d tokens logit %d is %v with a cache, %v without", name, at, i, cached.Logits()[i], z)
				return
			}
		}
	}
}
