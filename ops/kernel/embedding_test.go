package kernel

import "testing"

func TestEmbedding(t *testing.T) {
	const d = 5
	table, tokens := normals[float64](1, 4*d), []int32{2, 0, 2, 3}
	y := make([]float64, len(tokens)*d)
	for _, scale := range []float64{1, 2.5} {
		Embedding(y, table, tokens, d, scale)
		for r, k := range tokens {
			for c := range d {
				if y[r*d+c] != scale*table[int(k)*d+c] {
					t.Fatalf("y[%d,%d] = %v", r, c, y[r*d+c])
				}
			}
		}
		dy, dtable := normals[float64](2, len(y)), make([]float64, len(table))
		EmbeddingGrad(dtable, dy, tokens, d, scale, 0, 4)
		slope(t, "dtable", table, dtable, func() float64 {
			Embedding(y, table, tokens, d, scale)
			return weighted(y, dy)
		})
		parts := make([]float64, len(table))
		EmbeddingGrad(parts, dy, tokens, d, scale, 2, 4)
		EmbeddingGrad(parts, dy, tokens, d, scale, 0, 2)
		same(t, "dtable by rows", parts, dtable)
	}
}

func TestEmbeddingRefusesTokens(t *testing.T) {
	for _, token := range []int32{-1, 4} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("token %d of a table of 4 did not panic", token)
				}
			}()
			Embedding(make([]float32, 2), make([]float32, 8), []int32{token}, 2, 1)
		}()
	}
}
