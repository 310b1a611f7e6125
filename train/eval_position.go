package train

import (
	"math"

	"ablate/data"
	"ablate/graph"
)

// ByPosition is an evaluation by the place of a token in its window: what a model
// makes of a long context. All has one element for every position that predicts.
type ByPosition struct {
	Loss float64 // mean nll over all targets, as Evaluate gives it
	All  []PositionSum
}

// PositionSum is what was scored at a position, the number of tokens before it.
type PositionSum struct {
	NLL     float64 // Σ nll, in nats
	Targets int
}

// EvaluateByPosition is Evaluate that also sums by the position of the token that
// predicts, from 0. The windows do not overlap, so the token at position t has seen
// t tokens before it and no more.
func EvaluateByPosition(eval *graph.Program, w data.Windows) (r ByPosition) {
	rows, context := batchShape(eval)
	tokens, targets := graph.Slice[int32](eval.Input("tokens")), graph.Slice[int32](eval.Input("targets"))
	nll := nllOf(eval)
	r.All = make([]PositionSum, context)
	sum, count := 0.0, 0
	for first := 0; first < w.Len(); first += rows {
		count += w.Batch(tokens, targets, first)
		eval.Run()
		for i, t := range targets {
			if t == data.Ignore {
				continue
			}
			x := nll(i)
			sum += x
			r.All[i%context].NLL += x
			r.All[i%context].Targets++
		}
	}
	r.Loss = sum / float64(count)
	return r
}

// nllOf reads element i of the nll of a program.
func nllOf(eval *graph.Program) func(i int) float64 {
	b := eval.Output("nll")
	if b.Dtype() == graph.Float64 {
		x := graph.Slice[float64](b)
		return func(i int) float64 { return x[i] }
	}
	x := graph.Slice[float32](b)
	return func(i int) float64 { return float64(x[i]) }
}

// Mean is the mean nll of the targets at positions [from, to); NaN without any.
func (r *ByPosition) Mean(from, to int) (loss float64, targets int) {
	sum := 0.0
	for _, p := range r.All[from:to] {
		sum += p.NLL
		targets += p.Targets
	}
	if targets == 0 {
		return math.NaN(), 0
	}
	return sum / float64(targets), targets
}
