package kernel

import (
	"runtime"
	"time"
)

// FMAPeak measures for about d what a core can do at most on the active path: the GFLOP/s, two for
// a multiply-add, of independent multiply-adds on registers. It returns the best of many short runs,
// so that an interruption does not lower the limit that kernels are compared with.
func FMAPeak(d time.Duration) float64 {
	const rounds = 20_000 // well under a millisecond of vector code
	best := 0.0
	for end := time.Now().Add(d); ; {
		start := time.Now()
		flops := peakRun(rounds)
		now := time.Now()
		best = max(best, float64(flops)/float64(now.Sub(start)))
		if now.After(end) {
			return best
		}
	}
}

// peakRun runs n rounds of independent multiply-adds and returns the number of operations.
func peakRun(n int) int {
	if ops := peakRunVector(n); ops > 0 {
		return ops
	}
	return peakRunPortable(n)
}

// peakRunPortable is the loop in Go: six sums, because more would not stay in registers.
//
//go:noinline
func peakRunPortable(n int) int {
	var a, b, c, d, e, f float32
	x := float32(n)
	y0, y1, y2, y3, y4, y5 := x+1, x+2, x+3, x+4, x+5, x+6
	for range n {
		x += y0 // another product in every round
		a += x * y0
		b += x * y1
		c += x * y2
		d += x * y3
		e += x * y4
		f += x * y5
	}
	runtime.KeepAlive(a + b + c + d + e + f) // or the loop would be removed
	return n * 6 * 2
}
