package ops

import "math"

// ALiBiSlopes gives the slopes of attention with linear biases for h heads
// (Press, Smith and Lewis 2021, arXiv:2108.12409): 2^(-8(i+1)/h) for head i if
// h is a power of two. Otherwise, with m the largest power of two below h, the
// slopes of m heads, and after them every second of those of 2m heads.
func ALiBiSlopes(h int) []float64 {
	m := 1
	for 2*m <= h {
		m *= 2
	}
	s := make([]float64, h)
	for i := range s {
		if i < m {
			s[i] = math.Exp2(-8 * float64(i+1) / float64(m))
		} else {
			s[i] = math.Exp2(-8 * float64(2*(i-m)+1) / float64(2*m))
		}
	}
	return s
}
