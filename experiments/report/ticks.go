package report

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// extreme bounds what is drawn to scale, and its reciprocal what is on a
// logarithmic axis. Numbers beyond are the wreckage of a divergence: they are
// marked like infinities, and ratios of the others stay within float64.
const extreme = 1e150

// drawable reports whether a number can have a place on an axis.
func drawable(x float64) bool { return math.Abs(x) <= extreme }

// linearTicks puts about n labels at multiples of 1, 2 or 5 times a power of ten.
func linearTicks(n int) plot.TickerFunc {
	return func(lo, hi float64) (ticks []plot.Tick) {
		step := niceStep((hi - lo) / float64(n))
		decimals := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
		first := math.Ceil(lo/step - 1e-9)
		for i := range 2 * n {
			v := (first + float64(i)) * step
			if !(v <= hi+1e-9*step) {
				break
			}
			ticks = append(ticks, plot.Tick{Value: v, Label: linearLabel(v, decimals)})
		}
		return ticks
	}
}

// linearLabel has a fixed number of decimals while that is short.
func linearLabel(v float64, decimals int) string {
	if decimals > 6 || math.Abs(v) >= 1e7 {
		return minus(strconv.FormatFloat(v, 'g', 3, 64))
	}
	return minus(strconv.FormatFloat(v+0, 'f', decimals, 64)) // + 0: no negative zero
}

// niceStep is the least of 1, 2, 5 times a power of ten that is not below raw.
func niceStep(raw float64) float64 {
	base := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 5} {
		if m*base >= raw*(1-1e-9) {
			return m * base
		}
	}
	return 10 * base
}

// minus replaces a hyphen in front of a number by a dash of a minus' width.
func minus(s string) string {
	if s != "" && s[0] == '-' {
		return "–" + s[1:]
	}
	return s
}

// logTicks labels decades; over less than two, of which one may be the only
// one, also 2 and 5 times them; over less still, it labels as a linear axis does.
func logTicks(lo, hi float64) []plot.Tick {
	span := math.Log10(hi / lo)
	if span < 0.7 {
		return linearTicks(4)(lo, hi)
	}
	first, last := int(math.Floor(math.Log10(lo))), int(math.Ceil(math.Log10(hi)))
	every := max(1, int(math.Ceil(span/6)))
	powers := first < -3 || last > 4 // otherwise decimals are short enough
	var ticks []plot.Tick
	for e := first; e <= last; e++ {
		for m := 1; m <= 9; m++ {
			v := float64(m) * math.Pow(10, float64(e))
			if v < lo*(1-1e-9) || v > hi*(1+1e-9) {
				continue
			}
			t := plot.Tick{Value: v}
			if m == 1 && e%every == 0 || (m == 2 || m == 5) && span < 2 {
				t.Label = logLabel(m, e, powers)
			}
			ticks = append(ticks, t)
		}
	}
	return ticks
}

func logLabel(m, e int, powers bool) string {
	switch {
	case !powers:
		return strconv.FormatFloat(float64(m)*math.Pow(10, float64(e)), 'f', max(0, -e), 64)
	case m == 1:
		return raised("10", strconv.Itoa(e))
	}
	return raised(strconv.Itoa(m)+"·10", strconv.Itoa(e))
}

// ticksAt labels the given values and no others.
func ticksAt(values []float64) plot.ConstantTicks {
	ticks := make([]plot.Tick, len(values))
	for i, v := range values {
		ticks[i] = plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'g', -1, 64)}
	}
	return ticks
}

// unlabelled keeps the places of the ticks and drops their words, for the inner
// panels of a grid.
func unlabelled(t plot.Ticker) plot.TickerFunc {
	return func(lo, hi float64) []plot.Tick {
		ticks := t.Ticks(lo, hi)
		out := make([]plot.Tick, len(ticks))
		for i := range ticks {
			out[i].Value = ticks[i].Value
		}
		return out
	}
}
