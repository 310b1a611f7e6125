package ops

import "math"

// Sinusoidal is the position table [n, d] of Vaswani et al. 2017
// (arXiv:1706.03762):
//
//	pe[t, 2j] = sin(t·10000^(-2j/d)),  pe[t, 2j+1] = cos(t·10000^(-2j/d))
func Sinusoidal(n, d int) []float64 {
	pe := make([]float64, n*d)
	for t := range n {
		for i := range d {
			angle := float64(t) * math.Pow(10000, -float64(i/2*2)/float64(d))
			if i%2 == 0 {
				pe[t*d+i] = math.Sin(angle)
			} else {
				pe[t*d+i] = math.Cos(angle)
			}
		}
	}
	return pe
}
