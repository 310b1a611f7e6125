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
// "targets". progress, which may be nil, is told the share that is done; when
// it returns false, the evaluation ends, and whole is false.
func Evaluate[T graph.Float](eval *graph.Program, w data.Windows, progress func(done float64) bool) (mean float64, whole bool) {
	rows, _ := batchShape(eval)
	tokens, targets := graph.Slice[int32](eval.Input("tokens")), graph.Slice[int32](eval.Input("targets"))
	nll := graph.Slice[T](eval.Output("nll"))
	sum, count := 0.0, 0
	for first := 0; first < w.Len(); first += rows {
		if progress != nil && !progress(float64(first)/float64(w.Len())) {
			return 0, false
		}
		count += w.Batch(tokens, targets, first)
		eval.Run()
		for i, t := range targets {
			if t != data.Ignore {
				sum += float64(nll[i])
			}
		}
	}
	return sum / float64(count), true
}

// validation gives the windows of the validation split that score limit
// targets; all for 0.
func (t *trainer[T]) validation(limit int) data.Windows {
	if t.job.Model.Eval == nil {
		return data.Windows{}
	}
	_, context := batchShape(t.job.Model.Eval)
	return t.job.Data.Validation.Windows(context, limit)
}

// evaluate gives the mean nll of at most limit targets; unknown where there is
// nothing to evaluate. It is not whole if ctx ended before it did.
func (t *trainer[T]) evaluate(ctx context.Context, limit int) (loss metrics.Value, whole bool) {
	w := t.validation(limit)
	if w.Len() == 0 {
		return metrics.Value{}, ctx.Err() == nil
	}
	mean, whole := Evaluate[T](t.job.Model.Eval, w, func(done float64) bool {
		t.progress(done)
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
