//go:build !amd64

package kernel

func (p *panel[T]) softmaxVector() bool { return false }

func (p *panel[T]) gradientVector() bool { return false }

func narrowVector(rows, cols, k int, p, b []float32, ldb int, c []float32, ldc int) bool {
	return false
}

func narrowVectorT(rows, cols, k int, p, b []float32, ldb int, c []float32, ldc int) bool {
	return false
}
