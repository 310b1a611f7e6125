package cmd

import (
	"math/rand/v2"
	"testing"
)

// TestMedianInterval: the interval has the ranks of the binomial distribution,
// and covers the true median about as often as it says, whatever outliers there
// are.
func TestMedianInterval(t *testing.T) {
	ranked := func(n int) (x []float64) {
		for i := range n {
			x = append(x, float64(n-i))
		}
		return x
	}
	for n, want := range map[int][3]float64{1: {1, 1, 1}, 2: {1.5, 1, 2}, 6: {3.5, 1, 6}, 10: {5.5, 2, 9}, 20: {10.5, 6, 15}, 100: {50.5, 40, 61}} {
		if e := medianInterval(ranked(n)); [3]float64{e.median, e.ci[0], e.ci[1]} != want {
			t.Errorf("%d values: %v, want %v", n, e, want)
		}
	}
	const times = 2000
	r, covered := rand.New(rand.NewPCG(1, 2)), 0
	for range times {
		x := make([]float64, 31)
		for i := range x {
			x[i] = r.NormFloat64()
			if r.IntN(10) == 0 {
				x[i] *= 100
			}
		}
		if e := medianInterval(x); e.ci[0] <= 0 && 0 <= e.ci[1] {
			covered++
		}
	}
	if share := float64(covered) / times; share < 0.93 {
		t.Errorf("the interval covers the median in %.3f of all cases", share)
	}
}
