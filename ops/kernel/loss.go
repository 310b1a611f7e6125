package kernel

import "math"

// CrossEntropy computes the negative log-likelihood, in nats, of a target class per row of logits[rows, v]:
//
//	lse = log Σ exp(logits),  nll = lse - logits[target]
//
// targets, nll and lse are [rows]. A row whose target is ignore gets nll = lse = 0. The result is
// Σ nll, added in float64 in the order of the rows. A target that is neither ignore nor in [0, v) panics.
func CrossEntropy[T Float](nll, lse, logits []T, targets []int32, rows, v int, ignore int32) float64 {
	nll, lse, logits, targets = nll[:rows], lse[:rows], logits[:rows*v], targets[:rows]
	var total float64
	for r := 0; r < rows; {
		if targets[r] == ignore {
			nll[r], lse[r] = 0, 0
			r++
			continue
		}
		end := counted(targets, r, ignore)
		expRows(nil, logits[r*v:end*v], lse[r:end], nll[r:end], end-r, v)
		for ; r < end; r++ {
			most, l := lse[r], T(math.Log(float64(nll[r])))
			lse[r], nll[r] = most+l, l+(most-logits[r*v : (r+1)*v][targets[r]])
			total += float64(nll[r])
		}
	}
	return total
}

// counted returns the end of the run of rows, from r, whose targets are not ignored.
func counted(targets []int32, r int, ignore int32) int {
	for r < len(targets) && targets[r] != ignore {
		r++
	}
	return r
}

// CrossEntropyGrad computes the gradient of scale·Σ nll with respect to the logits:
//
//	dlogits = scale·(exp(logits - lse) - onehot(target)),  0 in ignored rows
//
// lse is what CrossEntropy wrote. dlogits may be logits.
func CrossEntropyGrad[T Float](dlogits, logits, lse []T, targets []int32, rows, v int, ignore int32, scale T) {
	dlogits, logits, lse, targets = dlogits[:rows*v], logits[:rows*v], lse[:rows], targets[:rows]
	for r := 0; r < rows; {
		if targets[r] == ignore {
			clear(dlogits[r*v : (r+1)*v])
			r++
			continue
		}
		end := counted(targets, r, ignore)
		expScaled(dlogits[r*v:end*v], logits[r*v:end*v], lse[r:end], scale, end-r, v)
		for ; r < end; r++ {
			dlogits[r*v : (r+1)*v][targets[r]] -= scale
		}
	}
}

// expScaled computes dst = scale·exp(src - lse) of rows.
func expScaled[T Float](dst, src, lse []T, scale T, rows, d int) {
	if isFloat32[T]() && expScaledVector(as32(dst), as32(src), as32(lse), float32(scale), rows, d) {
		return
	}
	for r, l := range lse {
		for i := r * d; i < (r+1)*d; i++ {
			dst[i] = scale * exp(src[i]-l)
		}
	}
}
