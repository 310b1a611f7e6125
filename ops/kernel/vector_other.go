//go:build !amd64

package kernel

func mapVector(f mapping, dst, also, a, b []float32, c float32) bool { return false }

func normVector(y, x, w, b, mean, rstd []float32, rows, d int, eps float32, layer, onePlus bool) bool {
	return false
}

func normGradVector(g *normGrad[float32]) bool { return false }

func dytVector(y, x, w, b []float32, alpha float32, rows, d int) bool { return false }

func dytGradVector(g *dytGrad[float32]) bool { return false }

func rowDotsVector(dst, x []float32, ldx int, w []float32) bool { return false }

func rotateHalvesVector(y, x, cos, sin []float32, sign float32) bool { return false }

func expRowsVector(y, x, most, sum []float32, rows, d int) bool { return false }

func softmaxGradVector(dx, dy, y []float32, rows, d int) bool { return false }

func expScaledVector(dst, src, lse []float32, scale float32, rows, d int) bool { return false }

func colSumVector(dst, x, z []float32, rows, ldx, ldz int) bool { return false }

func adamWVector(p, g, m, v []float32, h *[9]float32) bool { return false }

func adamWMeasuredVector(p, g, m, v []float32, h *[9]float32, old []float32, sums *[2]float64) bool {
	return false
}

func sumSquaresNarrowVector(sum *float64, x []float32) bool { return false }

func sumVector(kind reduction, s *[lanes]float64, x, y []float32) bool { return false }
