package train

import (
	"context"
	"math"

	"ablate/data"
	"ablate/graph"
	"ablate/train/metrics"
)

// Evaluate gives the mean nll, in nats, over the targets of w:
//
//	Σ nll / Σ targets
//
// added in float64, token by token in the order of the text, so that it does
// not depend on the batch size. eval gives "nll" (B,T) from "tokens" and
// "targets". progress, which may be nil, is told the share that is reached;
// when it returns false, the evaluation ends, and whole is false. Without
// targets the mean is NaN.
func Evaluate(eval *graph.Program, w data.Windows, progress func(share float64) bool) (mean float64, whole bool) {
	rows, _ := batchShape(eval)
	tokens, targets := graph.Slice[int32](eval.Input("tokens")), graph.Slice[int32](eval.Input("targets"))
	add := addNLL[float32]
	if eval.Output("nll").Dtype() == graph.Float64 {
		add = addNLL[float64]
	}
	sum, count := 0.0, 0
	for first := 0; first < w.Len(); first += rows {
		if progress != nil && !progress(float64(first+1)/float64(w.Len())) {
			return 0, false
		}
		count += w.Batch(tokens, targets, first)
		eval.Run()
		sum = add(sum, eval.Output("nll"), targets)
	}
	return sum / float64(count), true
}

// addNLL adds the nll of every target to sum, in order.
func addNLL[T graph.Float](sum float64, nll *graph.Buffer, targets []int32) float64 {
	x := graph.Slice[T](nll)
	for i, t := range targets {
		if t != data.Ignore {
			sum += float64(x[i])
		}
	}
	return sum
}

// validation gives the windows of the validation split that score limit
// targets; all for 0.
func (t *trainer[T]) validation(limit int) data.Windows {
	if t.job.Model.Eval == nil {
		return data.Windows{}
	}
	_, context := batchShape(t.job.Model.Eval)
	w := t.job.Data.Validation.Windows(context, limit)
	if t.job.Data.Whole {
		w = w.Whole()
	}
	return w
}

// evaluate gives the mean nll of at most limit targets; unknown where there is
// nothing to evaluate. It is not whole if ctx ended before it did.
func (t *trainer[T]) evaluate(ctx context.Context, limit int) (loss metrics.Value, whole bool) {
	w := t.validation(limit)
	if w.Len() == 0 {
		return metrics.Value{}, ctx.Err() == nil
	}
	mean, whole := Evaluate(t.job.Model.Eval, w, func(share float64) bool {
		t.progress(share)
		return ctx.Err() == nil
	})
	if !whole {
		return metrics.Value{}, false
	}
	t.valLoss = metrics.Known(mean)
	return t.valLoss, true
}

// setValidation enters an evaluation in a row of records.
func setValidation(row *metrics.Step, loss metrics.Value) {
	if x, known := loss.Get(); known {
		row.ValLoss, row.ValPPL = loss, metrics.Known(math.Exp(x))
	}
}
