package results

import (
	"math"
	"slices"
)

// Spike is a step whose training loss stands out from those before it. It is
// marked, and stays in every number.
type Spike struct {
	Step int64
	Loss float64
}

const (
	// spikeWindow is the number of losses before a step that it is held against.
	spikeWindow = 64
	// spikeDeviations is how many standard deviations above the window's mean a
	// loss is a spike: normal noise gets there once in 10⁹ steps.
	spikeDeviations = 6
	// maxSpikes bounds what is kept of a run that does nothing else.
	maxSpikes = 64
)

// A spikeFinder compares each loss with the finite ones before it:
//
//	spike ⇔ loss > mean + 6·sd of the last 64
//
// A loss that is not finite is no spike: it has a mark of its own. While spikes
// go on they are in the window themselves, so a new level is soon no spike.
type spikeFinder struct{ window []float64 }

// add takes the next loss and says whether it is a spike.
func (f *spikeFinder) add(loss float64) bool {
	if math.IsNaN(loss) || math.IsInf(loss, 0) {
		return false
	}
	spike := false
	if len(f.window) == spikeWindow {
		mean, sd := meanSD(f.window)
		spike = loss > mean+spikeDeviations*sd
		f.window = slices.Delete(f.window, 0, 1)
	}
	f.window = append(f.window, loss)
	return spike
}

// meanSD gives the mean and the sample standard deviation.
func meanSD(xs []float64) (mean, sd float64) {
	for _, x := range xs {
		mean += x / float64(len(xs))
	}
	for _, x := range xs {
		sd += (x - mean) * (x - mean) / float64(len(xs)-1)
	}
	return mean, math.Sqrt(sd)
}
