package kernel

import "time"

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

// peakRunPortable is the loop in Go; whether a multiply-add is one instruction is up to the compiler.
//
//go:noinline
func peakRunPortable(n int) int {
	var a, b, c, d, e, f, g, h float32
	x := float32(n&1) * 1e-30 // not a constant to the compiler
	for range n {
		a += x * x
		b += x * x
		c += x * x
		d += x * x
		e += x * x
		f += x * x
		g += x * x
		h += x * x
	}
	peakSink = a + b + c + d + e + f + g + h
	return n * 8 * 2
}

var peakSink float32 // keeps the loop from being removed
