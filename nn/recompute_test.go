package nn

import (
	"slices"
	"testing"

	"ablate/graph"
)

// TestSameBytesWhateverIsRecomputed: what the backward pass computes again is
// what was there, dropped elements included, in every variant.
func TestSameBytesWhateverIsRecomputed(t *testing.T) {
	team := graph.NewTeam(2)
	defer team.Close()
	for _, v := range variants() {
		v.cfg.Dropout = 0.3
		r := newRunner[float32](t, v.cfg, 2, batch)
		copy(r.ints("rng"), []int32{5, 6})
		r.prog.Run()
		want := slices.Concat(r.params.Grads(), r.out("logits"), r.out("stream_grad_norm.0"))
		for _, how := range []graph.Recompute{graph.RecomputeNothing, graph.RecomputeBlocks} {
			other := *r
			var err error
			if other.prog, err = graph.Compile(r.g, r.params, team, graph.WithRecompute(how), graph.WithInputsOf(r.prog)); err != nil {
				t.Fatal(err)
			}
			clear(r.params.Grads())
			other.prog.Run()
			if got := slices.Concat(r.params.Grads(), other.out("logits"), other.out("stream_grad_norm.0")); !slices.Equal(got, want) {
				t.Errorf("%s: other bytes with recomputation %d", v.name, how)
			}
		}
	}
}
