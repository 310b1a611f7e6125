package kernel

import "math"

// CrossEntropy computes the negative log-likelihood, in nats, of a target class per row of logits[rows, v]:
//
//	lse = log Σ exp(logits),  nll = lse - logits[target]
//
// targets, nll and lse are [rows]. A row whose target is ignore gets nll = lse = 0. The result is
// Σ nll, added in float64 in the order of the rows. A target that is neither ignore nor in [0, v) panics.
func CrossEntropy[T Float](nll, lse, logits []T, targets []int32, rows, v int, ignore int32) float64 {
	var total float64
	for r := range rows {
		t := targets[r]
		if t == ignore {
			nll[r], lse[r] = 0, 0
			continue
		}
		row := logits[r*v : (r+1)*v]
		l := logSumExp(row)
		lse[r], nll[r] = l, l-row[t]
		total += float64(nll[r])
	}
	return total
}

func logSumExp[T Float](x []T) T {
	m, s := expRow(nil, x)
	return m + T(math.Log(float64(s)))
}

// CrossEntropyGrad computes the gradient of scale·Σ nll with respect to the logits:
//
//	dlogits = scale·(exp(logits - lse) - onehot(target)),  0 in ignored rows
//
// lse is what CrossEntropy wrote. dlogits may be logits.
func CrossEntropyGrad[T Float](dlogits, logits, lse []T, targets []int32, rows, v int, ignore int32, scale T) {
	for r := range rows {
		dst, src := dlogits[r*v:(r+1)*v], logits[r*v:(r+1)*v]
		t := targets[r]
		if t == ignore {
			clear(dst)
			continue
		}
		expScaled(dst, src, lse[r], scale)
		dst[t] -= scale
	}
}

// expScaled computes dst = scale·exp(src - lse).
func expScaled[T Float](dst, src []T, lse, scale T) {
	if isFloat32[T]() && softmaxLossVector(as32(dst), as32(src), float32(lse), float32(scale)) {
		return
	}
	for i, e := range src {
		dst[i] = scale * exp(e-lse)
	}
}
