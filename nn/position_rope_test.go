package nn

import (
	"bytes"
	"strings"
	"testing"

	"ablate/graph"
)

// TestRoPERunsInsideAttention: in no variant that trains are turned queries or
// keys, or the gradients of such, stored.
func TestRoPERunsInsideAttention(t *testing.T) {
	inside := 0
	for _, v := range variants() {
		r := newRunner[float32](t, v.cfg, 2, batch)
		plan, err := graph.NewPlan(r.g)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := plan.Dump(&b); err != nil {
			t.Fatal(err)
		}
		for _, op := range []string{" rope:", " ropeGrad:"} {
			if n := strings.Count(b.String(), op); n > 0 {
				t.Errorf("%s: %d times%s", v.name, n, op)
			}
		}
		inside += strings.Count(b.String(), "rope q rope k")
	}
	if inside == 0 {
		t.Error("no variant has attention with rope inside")
	}
}

// TestRoPEInsideAttentionSavesMemory: normalised queries and keys are computed
// again for the backward pass, where turned ones had to be kept.
func TestRoPEInsideAttentionSavesMemory(t *testing.T) {
	r := newRunner[float32](t, with(func(c *Config) { c.Attention.QKNorm, c.Position = "head", PositionList{NewPosition("rope")} }), 2, batch)
	arena := func(opts ...graph.Option) int {
		plan, err := graph.NewPlan(r.g, opts...)
		if err != nil {
			t.Fatal(err)
		}
		return plan.Stats.Arena
	}
	if inside, apart := arena(), arena(graph.WithoutFusion()); inside >= apart {
		t.Errorf("an arena of %d bytes, %d with ropes of their own", inside, apart)
	}
}
