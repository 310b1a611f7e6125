package sweep

import "testing"

// TestPlainNormsOfNanochat: neither the norms of its blocks, nor those on queries and
// keys, on the embedding and before the head have parameters.
func TestPlainNormsOfNanochat(t *testing.T) {
	a := attested(t, presetModel(t, "nanochat"))
	const d, layers, vocab = 1280, 20, 65536
	if want := layers*(4*d*d+2*4*d*d) + 2*vocab*d; a.Params != want || a.ByRole["norm"] != 0 {
		t.Errorf("%d parameters, %d of norms; matrices alone have %d", a.Params, a.ByRole["norm"], want)
	}
	for l, b := range a.Blocks {
		for _, n := range b.Norms {
			if n.Op != "rmsnorm plain" {
				t.Errorf("block %d has the norm %v", l, n)
			}
		}
		if len(b.Norms) != 4 {
			t.Errorf("block %d has %d norms", l, len(b.Norms))
		}
	}
	if a.EmbeddingNorm != "rmsnorm plain" {
		t.Errorf("the norm of the embedding is %q", a.EmbeddingNorm)
	}
}
