//go:build !amd64

package kernel

func mulVector(*product[float32]) bool { return false }

func packRowsVector(dst, b []float32, ldb, k int) bool { return false }

func packColsVector(dst, b []float32, ldb, k, w int, past bool) (j, k0 int) { return 0, 0 }

func touch([]float32) {}

func peakRunVector(int) int { return 0 }
