package nn

import (
	"testing"

	"ablate/graph"
)

func TestBuildsAndReadsBack(t *testing.T) {
	for name := range Placements {
		c := Default()
		c.DModel, c.Context = 16, 8
		c.Placement = Place(name)
		c.Norm.Kind = "layernorm"
		r, err := c.Resolve(11)
		if err != nil {
			t.Fatal(name, err)
		}
		m, err := New(r)
		if err != nil {
			t.Fatal(name, err)
		}
		g, err := m.Train(graph.Float64, 2, 8)
		if err != nil {
			t.Fatal(name, err)
		}
		a := m.Attest(g)
		t.Log(name, a.Placements(), a.Blocks[0].Norms, a.FinalNorm, a.Tied, a.Params, a.FLOPsPerToken, a.KVCachePerToken)
		for l, b := range a.Blocks {
			if !b.AsConfigured {
				t.Errorf("%s: block %d is %s, configured %s", name, l, b.Placement, m.expected(l).formula())
			}
		}
	}
}
