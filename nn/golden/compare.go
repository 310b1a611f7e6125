package golden

import (
	"fmt"
	"math"
	"strconv"

	"ablate/graph"
)

// Distance is a difference. It is a string in JSON where it is no number.
type Distance float64

// MarshalJSON writes NaN and infinities as strings.
func (d Distance) MarshalJSON() ([]byte, error) {
	if x := float64(d); math.IsNaN(x) || math.IsInf(x, 0) {
		return strconv.AppendQuote(nil, strconv.FormatFloat(x, 'g', -1, 64)), nil
	}
	return strconv.AppendFloat(nil, float64(d), 'g', -1, 64), nil
}

// bound allows |a - b| ≤ abs + rel·|reference|.
type bound struct{ abs, rel float64 }

// limits are the bounds for one precision.
type limits struct {
	logits, nll, loss, rms, perplexity bound
	grads, paramNorms, norms           bound
	trace, ops                         bound
}

var (
	limits64 = limits{
		logits: bound{abs: 1e-10}, nll: bound{abs: 1e-10}, loss: bound{abs: 1e-10}, rms: bound{abs: 1e-10}, perplexity: bound{rel: 1e-9},
		grads: bound{1e-10, 1e-8}, paramNorms: bound{1e-10, 1e-8}, norms: bound{1e-10, 1e-8},
		trace: bound{abs: 1e-8}, ops: bound{1e-12, 1e-10},
	}
	limits32 = limits{
		logits: bound{abs: 1e-4}, nll: bound{abs: 1e-4}, loss: bound{abs: 1e-4}, rms: bound{abs: 1e-4}, perplexity: bound{rel: 1e-3},
		// The norm of one parameter's gradient may be as small as the error that
		// its elements are allowed; the norms of a layer and of the stream are not.
		grads: bound{2e-5, 1e-3}, paramNorms: bound{2e-5, 1e-3}, norms: bound{rel: 1e-3},
		trace: bound{abs: 1e-3}, ops: bound{1e-5, 1e-3},
	}
)

func limitsOf[T graph.Float]() *limits {
	if graph.DtypeOf[T]() == graph.Float32 {
		return &limits32
	}
	return &limits64
}

// compare holds numbers against the reference and returns the largest
// difference. At most one problem a call is noted: the worst.
func (r *Result) compare(what string, got, want []float64, b bound) Distance {
	if len(got) != len(want) {
		r.problem("%s: %d numbers, the reference has %d", what, len(got), len(want))
		return Distance(math.Inf(1))
	}
	var worst, share float64
	at := -1
	for i, w := range want {
		d := math.Abs(got[i] - w)
		s := d / (b.abs + b.rel*math.Abs(w))
		switch {
		case math.IsNaN(d):
			r.problem("%s: element %d is %v, the reference has %v", what, i, got[i], w)
			return Distance(math.NaN())
		case d == 0:
			s = 0 // 0/0 where nothing is allowed
		}
		worst = max(worst, d)
		if s > share {
			share, at = s, i
		}
	}
	r.Share = max(r.Share, Distance(share))
	if share > 1 {
		r.problem("%s: element %d is %v, the reference has %v: %.3g times what is allowed", what, at, got[at], want[at], share)
	}
	return Distance(worst)
}

// worsen keeps the larger of two differences.
func worsen(dst **Distance, d Distance) {
	if *dst == nil {
		*dst = new(Distance)
	}
	if !(d <= **dst) { // NaN is worst
		**dst = d
	}
}

func (r *Result) problem(format string, args ...any) {
	r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
}

// numbers gives the elements of a buffer as float64.
func numbers[T graph.Float](x []T) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = float64(v)
	}
	return out
}

// fill writes numbers into memory of type T, clamped to its range.
func fill[T graph.Float](dst []T, src []float64) {
	if graph.DtypeOf[T]() == graph.Float64 {
		for i, v := range src {
			dst[i] = T(v)
		}
		return
	}
	for i, v := range src {
		dst[i] = T(min(max(v, -math.MaxFloat32), math.MaxFloat32))
	}
}

// squares is the square of the Euclidean length.
func squares(x []float64) float64 {
	s := 0.0
	for _, v := range x {
		s += v * v
	}
	return s
}
