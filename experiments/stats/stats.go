// Package stats estimates means over seeds, and differences between arms that
// share their seeds.
//
// Intervals are Student's t, not a bootstrap: with the three to twelve seeds
// that an ablation has, a percentile bootstrap covers far less than it says.
package stats

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Level is the confidence level of every interval of this package.
const Level = 0.95

// Estimate is a mean over N independent values, with its two-sided 95 %
// interval. SD, Lo and Hi are NaN below two values, and Mean and Median below
// one: one run has no interval, and must not look as if it had. Nor has a mean
// that is infinite because one of the values is.
type Estimate struct {
	N            int
	Mean, Median float64
	SD           float64
	Lo, Hi       float64
}

// T95 estimates the mean of xs: x̄ ± t(0.975, n−1)·s/√n (Student 1908).
func T95(xs []float64) Estimate {
	nan := math.NaN()
	e := Estimate{N: len(xs), Mean: nan, Median: nan, SD: nan, Lo: nan, Hi: nan}
	if e.N == 0 {
		return e
	}
	e.Median = median(xs)
	if e.N == 1 {
		e.Mean = xs[0]
		return e
	}
	e.Mean, e.SD = stat.MeanStdDev(xs, nil)
	n := float64(e.N)
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(1 - (1-Level)/2)
	half := t * e.SD / math.Sqrt(n)
	e.Lo, e.Hi = e.Mean-half, e.Mean+half
	return e
}

// Geometric95 is T95 of the logarithms, brought back: the geometric mean and an
// interval around it that is symmetric in ratio. It is what gradient norms are
// averaged by, which differ by factors. SD is the standard deviation of the
// logarithms. With a zero among the xs the mean is 0, without an interval; below
// zero, the estimate is of none.
func Geometric95(xs []float64) Estimate {
	if len(xs) > 0 && slices.Min(xs) == 0 { // false with a NaN
		nan := math.NaN()
		return Estimate{N: len(xs), Mean: 0, Median: median(xs), SD: nan, Lo: nan, Hi: nan}
	}
	logs := make([]float64, len(xs))
	for i, x := range xs {
		if !(x > 0) {
			return T95(nil)
		}
		logs[i] = math.Log(x)
	}
	e := T95(logs)
	e.Mean, e.Median, e.Lo, e.Hi = math.Exp(e.Mean), math.Exp(e.Median), math.Exp(e.Lo), math.Exp(e.Hi)
	return e
}

// HasInterval reports whether Lo and Hi are numbers: there were values enough, all of them finite, and no sum of
// theirs has overflowed.
func (e Estimate) HasInterval() bool { return !math.IsNaN(e.Half()) && !math.IsInf(e.Half(), 0) }

// Half is half the width of the interval; NaN where there is none.
func (e Estimate) Half() float64 { return (e.Hi - e.Lo) / 2 }

// MarshalJSON writes {"n","mean","sd","ci95":[lo,hi],"median"}, with null for
// what the values do not give, and the text "+Inf" for a mean that is infinite.
func (e Estimate) MarshalJSON() ([]byte, error) {
	number := func(x float64) any {
		switch {
		case math.IsNaN(x):
			return nil
		case math.IsInf(x, 0):
			return fmt.Sprintf("%+v", x)
		}
		return x
	}
	out := struct {
		N      int         `json:"n"`
		Mean   any         `json:"mean"`
		SD     any         `json:"sd"`
		CI95   *[2]float64 `json:"ci95"`
		Median any         `json:"median"`
	}{N: e.N, Mean: number(e.Mean), SD: number(e.SD), Median: number(e.Median)}
	if e.HasInterval() {
		out.CI95 = &[2]float64{e.Lo, e.Hi}
	}
	return json.Marshal(out)
}

// Paired returns a − b for every seed that both have, in the order of the
// seeds. Two arms that share initial values and batches share most of their
// noise; the difference by seed takes it out.
func Paired(a, b map[int64]float64) []float64 {
	var seeds []int64
	for s := range a {
		if _, ok := b[s]; ok {
			seeds = append(seeds, s)
		}
	}
	slices.Sort(seeds)
	diff := make([]float64, len(seeds))
	for i, s := range seeds {
		diff[i] = a[s] - b[s]
	}
	return diff
}

// median of a non-empty list; of an even number, the mean of the middle two.
func median(xs []float64) float64 {
	s := slices.Sorted(slices.Values(xs))
	n := len(s)
	return (s[(n-1)/2] + s[n/2]) / 2
}
