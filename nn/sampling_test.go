package nn

import (
	"math"
	"strings"
	"testing"
)

// TestSamplingDistribution draws many tokens and compares their frequencies with
// probabilities worked out by hand, by a χ² test.
func TestSamplingDistribution(t *testing.T) {
	// Probabilities ½, ¼, ⅛, ⅛ of tokens 2, 0, 1, 3.
	z := []float64{math.Log(2), 0, math.Log(4), 0}
	for _, c := range []struct {
		name string
		s    Sampling
		want []float64
	}{
		{"plain", Sampling{Temperature: 1}, []float64{2, 1, 4, 1}},
		{"half the temperature squares", Sampling{Temperature: 0.5}, []float64{4, 1, 16, 1}},
		{"twice the temperature takes the root", Sampling{Temperature: 2}, []float64{math.Sqrt2, 1, 2, 1}},
		{"top 2", Sampling{Temperature: 1, TopK: 2}, []float64{2, 0, 4, 0}},
		{"top 3, of equals the first", Sampling{Temperature: 1, TopK: 3}, []float64{2, 1, 4, 0}},
		{"top 1", Sampling{Temperature: 3, TopK: 1}, []float64{0, 0, 1, 0}},
		{"more than there are", Sampling{Temperature: 1, TopK: 9}, []float64{2, 1, 4, 1}},
		{"three quarters", Sampling{Temperature: 1, TopP: 0.75}, []float64{2, 0, 4, 0}},
		{"a little more", Sampling{Temperature: 1, TopP: 0.76}, []float64{2, 1, 4, 0}},
		{"hardly anything", Sampling{Temperature: 1, TopP: 1e-9}, []float64{0, 0, 1, 0}},
		{"all", Sampling{Temperature: 1, TopP: 1}, []float64{2, 1, 4, 1}},
		// Of the top three, ⁴⁄₇ ²⁄₇ ¹⁄₇, the first two have 0.857.
		{"of the top 3, 0.8", Sampling{Temperature: 1, TopK: 3, TopP: 0.8}, []float64{2, 0, 4, 0}},
		// At half the temperature ¹⁶⁄₂₂ and ⁴⁄₂₂: the first alone has 0.72.
		{"temperature before top-p", Sampling{Temperature: 0.5, TopP: 0.7}, []float64{0, 0, 1, 0}},
	} {
		s, err := NewSampler(c.s, 1)
		if err != nil {
			t.Fatal(err)
		}
		const draws = 20000
		counts := make([]float64, len(z))
		for range draws {
			i, err := s.Next(z)
			if err != nil {
				t.Fatal(err)
			}
			counts[i]++
		}
		total, chi2 := 0.0, 0.0
		for _, w := range c.want {
			total += w
		}
		for i, w := range c.want {
			expected := draws * w / total
			if w == 0 {
				if counts[i] > 0 {
					t.Errorf("%s: token %d is drawn", c.name, i)
				}
				continue
			}
			chi2 += (counts[i] - expected) * (counts[i] - expected) / expected
		}
		if chi2 > 21 { // one in ten thousand for three degrees of freedom
			t.Errorf("%s: χ² is %.1f; drawn %v, in proportion to %v", c.name, chi2, counts, c.want)
		}
	}
}

func TestGreedyTakesTheFirstOfTheLargest(t *testing.T) {
	s, err := NewSampler(Sampling{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		z    []float64
		want int32
	}{{[]float64{0, 3, 1, 3}, 1}, {[]float64{-1e300, math.Inf(-1)}, 0}, {[]float64{math.Inf(-1), -5}, 1}} {
		if got, err := s.Next(c.z); got != c.want || err != nil {
			t.Errorf("%v: token %d, error %v; want %d", c.z, got, err, c.want)
		}
	}
}

func TestSamplingErrors(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		s    Sampling
		want string
	}{
		{Sampling{Temperature: -1}, "temperature: -1"},
		{Sampling{Temperature: nan}, "temperature: NaN"},
		{Sampling{Temperature: math.Inf(1)}, "temperature: +Inf"},
		{Sampling{Temperature: 1, TopK: -1}, "top-k: -1"},
		{Sampling{Temperature: 1, TopP: 1.5}, "top-p: 1.5"},
		{Sampling{Temperature: 1, TopP: nan}, "top-p: NaN"},
		{Sampling{TopK: 3}, "reads neither"},
		{Sampling{TopP: 0.5}, "reads neither"},
	} {
		if _, err := NewSampler(c.s, 1); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want %q", c.s, err, c.want)
		}
	}
	for _, temperature := range []float64{0, 1} {
		s, err := NewSampler(Sampling{Temperature: temperature}, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, z := range [][]float64{{}, {0, nan}, {math.Inf(-1)}, {0, math.Inf(1)}} {
			if i, err := s.Next(z); err == nil {
				t.Errorf("token %d of %v", i, z)
			}
		}
	}
	// Temperatures so low that everything but the largest underflows.
	s, err := NewSampler(Sampling{Temperature: 5e-324}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if i, err := s.Next([]float64{0, 1, 2, 1}); i != 2 || err != nil {
			t.Fatalf("token %d, error %v", i, err)
		}
	}
}
