package results

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"ablate/train/metrics"
)

// TestSpikes: a loss far above its neighbours is found, at its step; noise, a
// slow rise, a fall and what is not finite are not.
func TestSpikes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	noisy := func(step int) float64 { return 5*math.Exp(-float64(step)/100) + 2 + 0.05*r.NormFloat64() }
	for _, c := range []struct {
		name string
		loss func(step int) float64
		want []int64
	}{
		{"noise", noisy, nil},
		{"spikes", func(s int) float64 {
			if s == 100 || s == 300 {
				return 9
			}
			return noisy(s)
		}, []int64{100, 300}},
		{"too early to tell", func(s int) float64 {
			if s == 20 {
				return 50
			}
			return noisy(s)
		}, nil},
		{"rise", func(s int) float64 { return float64(s) / 100 }, nil},
		{"not finite", func(s int) float64 { return []float64{2, math.NaN(), math.Inf(1), math.Inf(-1)}[s%4] }, nil},
		{"constant, then a step", func(s int) float64 { return []float64{2, 3}[s/200] }, []int64{200, 201}},
	} {
		var b []byte
		for s := range 400 {
			b = append(metrics.Step{Step: int64(s), Loss: metrics.Known(c.loss(s))}.AppendJSON(b), '\n')
		}
		curves := new(Curves)
		if err := curves.read(strings.NewReader(string(b))); err != nil {
			t.Fatal(err)
		}
		ok := curves.Spiked == int64(len(c.want)) && len(curves.Spikes) == len(c.want)
		for i := range c.want {
			ok = ok && curves.Spikes[i].Step == c.want[i]
		}
		if !ok {
			t.Errorf("%s: %d spikes, %v, want %v", c.name, curves.Spiked, curves.Spikes, c.want)
		}
	}
}

func TestSpikesAreBounded(t *testing.T) {
	var b []byte
	for s := range 80 * 100 {
		loss := 1.0
		if s%80 == 79 {
			loss = 1e3
		}
		b = append(metrics.Step{Step: int64(s), Loss: metrics.Known(loss)}.AppendJSON(b), '\n')
	}
	c := new(Curves)
	if err := c.read(strings.NewReader(string(b))); err != nil || c.Spiked != 100 || len(c.Spikes) != maxSpikes {
		t.Errorf("%d spikes, %d kept, %v", c.Spiked, len(c.Spikes), err)
	}
}
