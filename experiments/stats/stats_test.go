package stats

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
)

func near(a, b float64) bool {
	return a == b || math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= 1e-9*math.Max(1, math.Abs(b))
}

// Quantiles from printed tables of Student's t: 12.7062 (1), 4.3027 (2), 2.7764 (4).
func TestT95(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		xs   []float64
		want Estimate
	}{
		{nil, Estimate{0, nan, nan, nan, nan, nan}},
		{[]float64{3}, Estimate{1, 3, 3, nan, nan, nan}},
		{[]float64{1, 2}, Estimate{2, 1.5, 1.5, math.Sqrt2 / 2, 1.5 - 12.706204736174694/2, 1.5 + 12.706204736174694/2}},
		{[]float64{5, 1, 3}, Estimate{3, 3, 3, 2, 3 - 4.302652729749462*2/math.Sqrt(3), 3 + 4.302652729749462*2/math.Sqrt(3)}},
		{[]float64{2, 2, 2, 2, 2}, Estimate{5, 2, 2, 0, 2, 2}},
		{[]float64{2, math.Inf(1), 4}, Estimate{3, math.Inf(1), 4, nan, nan, nan}},
		{[]float64{1e307, 2e307}, Estimate{2, 1.5e307, 1.5e307, nan, nan, nan}},
	} {
		e := T95(c.xs)
		if e.N != c.want.N || !near(e.Mean, c.want.Mean) || !near(e.Median, c.want.Median) || !near(e.SD, c.want.SD) ||
			!near(e.Lo, c.want.Lo) || !near(e.Hi, c.want.Hi) {
			t.Errorf("T95(%v) = %+v, want %+v", c.xs, e, c.want)
		}
		if e.HasInterval() == math.IsNaN(c.want.Lo) {
			t.Errorf("T95(%v) has an interval: %v", c.xs, e.HasInterval())
		}
	}
}

func TestGeometric95(t *testing.T) {
	e := Geometric95([]float64{1, 100})
	if !near(e.Mean, 10) || !near(e.Lo*e.Hi, 100) {
		t.Errorf("geometric mean of 1 and 100: %+v; want 10 in an interval symmetric in ratio", e)
	}
	if e := Geometric95([]float64{4, 0, 1}); e.N != 3 || e.Mean != 0 || e.Median != 1 || e.HasInterval() {
		t.Errorf("with a zero: %+v; want a mean of 0 without an interval", e)
	}
	for _, bad := range [][]float64{{1, -1}, {math.NaN()}, {0, -1}, {0, math.NaN()}} {
		if e := Geometric95(bad); e.N != 0 {
			t.Errorf("Geometric95(%v) = %+v; a mean that leaves values out is none", bad, e)
		}
	}
}

func TestPaired(t *testing.T) {
	a := map[int64]float64{1: 5, 2: 7, 9: 1}
	b := map[int64]float64{2: 4, 1: 3, 4: 8}
	if got := Paired(a, b); !slices.Equal(got, []float64{2, 3}) {
		t.Errorf("got %v, want [2 3]: seeds 1 and 2, in order", got)
	}
}

func TestEstimateJSON(t *testing.T) {
	for _, c := range []struct {
		e    Estimate
		want string
	}{
		{T95(nil), `{"n":0,"mean":null,"sd":null,"ci95":null,"median":null}`},
		{T95([]float64{4}), `{"n":1,"mean":4,"sd":null,"ci95":null,"median":4}`},
		{T95([]float64{4, 4}), `{"n":2,"mean":4,"sd":0,"ci95":[4,4],"median":4}`},
	} {
		b, err := json.Marshal(c.e)
		if err != nil || string(b) != c.want {
			t.Errorf("got %s, %v; want %s", b, err, c.want)
		}
	}
}
