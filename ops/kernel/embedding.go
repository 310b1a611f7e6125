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

// EmbeddingGrad adds to the gradient of the table: dtable[tokens[r]] += scale·dy[r], for columns
// [c0, c1) alone so that several callers may share the table. Rows are added in the order of the
// tokens, whatever the columns.
func EmbeddingGrad[T Float](dtable, dy []T, tokens []int32, d int, scale float64, c0, c1 int) {
	for r, t := range tokens {
		AXPY(dtable[int(t)*d+c0:int(t)*d+c1], scale, dy[r*d+c0:r*d+c1])
	}
}
