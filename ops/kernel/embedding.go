package kernel

// Embedding copies rows of table[V, d]: y[r] = scale·table[tokens[r]]. y is [len(tokens), d]. A token
// outside the table panics.
func Embedding[T Float](y, table []T, tokens []int32, d int, scale float64) {
	for r, t := range tokens {
		row := table[int(t)*d : (int(t)+1)*d]
		if scale == 1 {
			copy(y[r*d:(r+1)*d], row)
			continue
		}
		Scale(y[r*d:(r+1)*d], row, scale)
	}
}

// EmbeddingGrad adds to the gradient of the table: dtable[tokens[r]] += scale·dy[r], for tokens in
// [from, to) alone so that several callers may share the table. Rows are added in the order of the
// tokens, whatever the range.
func EmbeddingGrad[T Float](dtable, dy []T, tokens []int32, d int, scale float64, from, to int) {
	for r, token := range tokens {
		if t := int(token); t >= from && t < to {
			AXPY(dtable[t*d:(t+1)*d], scale, dy[r*d:(r+1)*d])
		}
	}
}
