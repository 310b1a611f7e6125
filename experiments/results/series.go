package results

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"slices"

	"ablate/train/metrics"
)

// maxProbes and maxBins bound what is kept of a run of any length: more columns
// than a figure can show, and few enough to hold a hundred runs at once.
const (
	maxProbes = 256
	maxBins   = 512
)

// Profile is one quantity over depth at one step: element i belongs to block i,
// or for the stream to boundary i.
type Profile struct {
	Step   int64
	Values []metrics.Value
}

// Probes are the profiles of a run, in the order of its steps. Of a long run
// every second, fourth … is kept, and always the first, the last, and the one
// after warm-up.
type Probes struct {
	Block  []Profile // L2 norm of the gradient of all parameters of a block
	Stream []Profile // RMS over tokens of the stream's gradient, at boundaries 0..L
}

// Probes reads layers.jsonl, once; the result is shared and must not be
// changed. A run without that file has no profiles.
func (r *Run) Probes() (*Probes, error) {
	if r.probes != nil {
		return r.probes, nil
	}
	c, err := r.Curves()
	if err != nil {
		return nil, err
	}
	p := new(Probes)
	f, err := r.open(metrics.LayersFile)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for row, err := range metrics.ReadLayers(f, metrics.GradNorm, metrics.StreamGradRMSToken) {
		if err != nil {
			return nil, r.wrap(metrics.LayersFile, err)
		}
		switch {
		case row.Layer < 0 || row.Layer > maxLayers || row.Param != "":
		case row.Quantity == metrics.GradNorm && row.Module == metrics.ModuleBlock:
			p.Block = record(p.Block, row, c.WarmupEnd)
		case row.Quantity == metrics.StreamGradRMSToken:
			p.Stream = record(p.Stream, row, c.WarmupEnd)
		}
	}
	r.probes = p
	return p, nil
}

// maxLayers bounds the memory that a row with a wild layer number can ask for.
const maxLayers = 1 << 12

// record puts a row into the profile of its step, the last one, and thins the
// list when it has become too long.
func record(list []Profile, row metrics.Layer, keep int64) []Profile {
	if len(list) == 0 || list[len(list)-1].Step != row.Step {
		if len(list) >= 2*maxProbes {
			list = thin(list, keep)
		}
		list = append(list, Profile{Step: row.Step})
	}
	p := &list[len(list)-1]
	for len(p.Values) <= row.Layer {
		p.Values = append(p.Values, metrics.Value{})
	}
	p.Values[row.Layer] = row.Value
	return list
}

// thin drops every second profile, but for the first, the last, and the first
// one at or after a step.
func thin(list []Profile, keep int64) []Profile {
	kept := list[:0:0]
	for i, p := range list {
		wanted := i == len(list)-1 || i > 0 && p.Step >= keep && list[i-1].Step < keep
		if wanted || i%2 == 0 {
			kept = append(kept, p)
		}
	}
	return kept
}

// At returns the first profile at or after a step; none is the zero Profile.
func At(list []Profile, step int64) Profile {
	for _, p := range list {
		if p.Step >= step {
			return p
		}
	}
	return Profile{}
}

// Last returns the last profile; none is the zero Profile.
func Last(list []Profile) Profile {
	if len(list) == 0 {
		return Profile{}
	}
	return list[len(list)-1]
}

// Curves are the course of a run, in a bounded number of points.
type Curves struct {
	Train     []metrics.Value // mean training loss over Width consecutive steps, from step 0; the last point's over those left
	Width     int64           // a power of two
	Val       []metrics.Step  // the rows that carry an evaluation, thinned like probes
	WarmupEnd int64           // first step at the largest learning rate; beyond all steps where it was still rising at the last
	Steps     int64           // rows with a training loss
	Clipped   int64           // of which clipping scaled the gradient
	Spikes    []Spike         // the first maxSpikes of them
	Spiked    int64           // how many there were
}

// Curves reads metrics.jsonl, once; the result is shared and must not be
// changed. A run without that file has empty curves.
func (r *Run) Curves() (*Curves, error) {
	if r.curves != nil {
		return r.curves, nil
	}
	c := &Curves{Width: 1}
	f, err := r.open(metrics.StepsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := c.read(f); err != nil {
		return nil, r.wrap(metrics.StepsFile, err)
	}
	r.curves = c
	return c, nil
}

// read fills the curves from the lines of a metrics.jsonl.
func (c *Curves) read(f io.Reader) error {
	maxLR, first, last := math.Inf(-1), int64(-1), int64(-1)
	var b binner
	var spikes spikeFinder
	for row, err := range metrics.ReadSteps(f) {
		if err != nil {
			return err
		}
		if last = row.Step; first < 0 {
			first = row.Step
		}
		if lr, ok := row.LR.Get(); ok && lr > maxLR {
			maxLR, c.WarmupEnd = lr, row.Step
		}
		if loss, ok := row.Loss.Get(); ok {
			b.add(loss)
			c.Steps++
			if spikes.add(loss) {
				if c.Spiked++; len(c.Spikes) < maxSpikes {
					c.Spikes = append(c.Spikes, Spike{row.Step, loss})
				}
			}
		}
		if k, ok := row.ClipCoef.Get(); ok && k < 1 {
			c.Clipped++
		}
		if _, ok := row.ValLoss.Get(); ok {
			if len(c.Val) >= maxBins {
				c.Val = slices.Concat(c.Val[:1], everySecond(c.Val[1:]))
			}
			c.Val = append(c.Val, row)
		}
	}
	if c.WarmupEnd == last && last > first {
		c.WarmupEnd = math.MaxInt64
	}
	c.Train, c.Width = b.means()
	return nil
}

func everySecond(list []metrics.Step) []metrics.Step {
	out := list[:0:0]
	for i := 1; i < len(list); i += 2 {
		out = append(out, list[i])
	}
	return out
}

func (r *Run) wrap(name string, err error) error {
	return fmt.Errorf("%s: %w", filepath.Join(r.root, filepath.FromSlash(r.dir), name), err)
}

// binner averages a stream of any length into at most maxBins equal bins: when
// they are full, neighbours are joined and the width doubles.
type binner struct {
	sums  []float64
	width int64
	n     int64 // values so far
}

func (b *binner) add(x float64) {
	if b.width == 0 {
		b.width = 1
	}
	if b.n == b.width*maxBins {
		b.sums = joinPairs(b.sums)
		b.width *= 2
	}
	if b.n%b.width == 0 {
		b.sums = append(b.sums, 0)
	}
	b.sums[len(b.sums)-1] += x
	b.n++
}

func (b *binner) means() ([]metrics.Value, int64) {
	out := make([]metrics.Value, len(b.sums))
	for i, s := range b.sums {
		_, n := point(i, b.width, b.n)
		out[i] = metrics.Known(s / float64(n))
	}
	return out, max(b.width, 1)
}

// point gives the first step of a point of so many steps' width, and how many of all steps it covers.
func point(i int, width, steps int64) (from, n int64) {
	from = int64(i) * width
	return from, min(width, steps-from)
}

// Point gives the first step of point i of Train, and how many steps it covers.
func (c *Curves) Point(i int) (from, n int64) { return point(i, c.Width, c.Steps) }

// Widened is the curves with points of Train that cover width steps each, so
// that runs of different lengths can be laid over each other. width is a power
// of two; what is already as wide stays.
func (c *Curves) Widened(width int64) *Curves {
	out := *c
	for out.Width < width {
		var joined []metrics.Value
		for i := 0; i < len(out.Train); i += 2 {
			x := out.Train[i].Float()
			if i+1 < len(out.Train) {
				_, n := out.Point(i + 1) // the last of a run may be short of steps
				x = (x*float64(out.Width) + out.Train[i+1].Float()*float64(n)) / float64(out.Width+n)
			}
			joined = append(joined, metrics.Known(x))
		}
		out.Train, out.Width = joined, out.Width*2
	}
	return &out
}

// joinPairs adds neighbours; the number of sums is even.
func joinPairs(sums []float64) []float64 {
	out := make([]float64, len(sums)/2)
	for i := range out {
		out[i] = sums[2*i] + sums[2*i+1]
	}
	return out
}
