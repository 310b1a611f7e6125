package cmd

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"ablate/experiments/report"
)

// scalingBase is the model from which one size at a time is varied; sizes that
// are not named here follow from it.
const scalingBase = "layers=2 d_model=64 head_dim=16 heads=4 d_ff=256 context=64" + gptKeys

// growth is one size that is varied, and what the arithmetic says of it.
type growth struct {
	what, expected string
	sizes          []int
	keys           func(n int) string // replaces keys of the base
	batch          func(n int) int
}

func eight(int) int { return 8 }

var growths = []growth{
	{"layers", "1: every block costs the same", []int{2, 4, 8, 16, 32}, func(n int) string { return fmt.Sprintf("layers=%d", n) }, eight},
	{"d_model", "towards 2: the products, with heads of one width", []int{64, 128, 256, 512}, func(n int) string {
		return fmt.Sprintf("d_model=%d d_ff=%d heads=%d", n, 4*n, n/16)
	}, eight},
	{"context", "towards 2: the attention; 1 where the products rule", []int{32, 64, 128, 256, 512}, func(n int) string { return fmt.Sprintf("context=%d", n) }, eight},
	{"batch", "1: sequences are independent", []int{2, 4, 8, 16, 32}, func(int) string { return "" }, func(n int) int { return n }},
}

// benchScaling times training steps as one size after the other grows, and
// fits a power law to each.
func (a *app) benchScaling(ctx context.Context, seconds float64, file string) error {
	var all []report.Scaling
	if !a.json {
		a.printf("%d threads, best step. Base: %s, batch 8.\n", a.threads, scalingBase)
	}
	threads := a.threads
	for _, g := range growths {
		s := report.Scaling{What: g.what, Expected: g.expected}
		for _, n := range g.sizes {
			t, err := a.scalingStep(ctx, g.keys(n), g.batch(n), seconds)
			if err != nil {
				return err
			}
			s.Sizes, s.Seconds = append(s.Sizes, float64(n)), append(s.Seconds, t)
		}
		all = append(all, s)
	}
	s := report.Scaling{What: "threads", Expected: "-1: until memory or the number of sequences is the limit"}
	for n := 1; n <= threads; n *= 2 {
		a.threads = n
		t, err := a.scalingStep(ctx, "layers=8 d_model=128 heads=8 d_ff=512", 8, seconds)
		if err != nil {
			return err
		}
		s.Sizes, s.Seconds = append(s.Sizes, float64(n)), append(s.Seconds, t)
	}
	a.threads = threads
	if len(s.Sizes) > 1 {
		all = append(all, s)
	}
	for i := range all {
		all[i].Exponent = exponent(all[i].Sizes, all[i].Seconds)
	}
	if file != "" {
		if err := report.PlotScaling(file, all); err != nil {
			return &exitError{exitUsage, err}
		}
	}
	if a.json {
		return a.printJSON(all)
	}
	for _, s := range all {
		a.printf("\n%-8s exponent %5.2f   (%s)\n", s.What, s.Exponent, s.Expected)
		for i := range s.Sizes {
			a.printf("  %8.0f %10.3f ms\n", s.Sizes[i], 1e3*s.Seconds[i])
		}
	}
	return nil
}

// scalingStep is the best time of a step of the base with some keys replaced.
func (a *app) scalingStep(ctx context.Context, keys string, batch int, seconds float64) (float64, error) {
	s := benchShape{"scaling", batch, replaceKeys(scalingBase, keys)}
	m, _, err := a.benchModel(s)
	if err != nil {
		return 0, err
	}
	defer m.Team.Close()
	times, _, err := stepTimes(ctx, m, s, seconds)
	if err != nil || len(times) == 0 {
		return 0, err
	}
	return slices.Min(times).Seconds(), nil
}

// replaceKeys lays settings over others.
func replaceKeys(base, over string) string {
	var out []string
	for _, setting := range strings.Fields(base) {
		key, _, _ := strings.Cut(setting, "=")
		if !strings.Contains(" "+over, " "+key+"=") {
			out = append(out, setting)
		}
	}
	return strings.Join(append(out, over), " ")
}

// exponent is the slope of the least-squares line through the logarithms.
func exponent(x, y []float64) float64 {
	var sx, sy, sxx, sxy float64
	n := float64(len(x))
	for i := range x {
		a, b := math.Log(x[i]), math.Log(y[i])
		sx, sy, sxx, sxy = sx+a, sy+b, sxx+a*a, sxy+a*b
	}
	return (n*sxy - sx*sy) / (n*sxx - sx*sx)
}
