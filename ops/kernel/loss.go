package kernel

import (
	"fmt"
	"math"
)

// LossChunk is the number of columns whose exponentials are summed at once. The sums of the chunks of a
// row are folded in their order, so that the logits need never be together: see [CrossEntropyChunk].
const LossChunk = 1024

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
		sumExp(lse[r:end], nll[r:end], logits[r*v:end*v], v)
		for ; r < end; r++ {
			nll[r], lse[r] = likelihood(lse[r], nll[r], logits[r*v : (r+1)*v][targets[r]])
			total += float64(nll[r])
		}
	}
	return total
}

// CrossEntropyChunk takes in z[rows, cols], the logits of LossChunk columns from c0 on, or of fewer that
// are the last: it computes the maximum of each row and Σ exp(z - most), both [rows], and writes the
// logits of targets that are among the columns to picked[rows]. Chunks may come in any order, and
// [CrossEntropyOfChunks] makes of them all what CrossEntropy makes of the logits, to the bit.
func CrossEntropyChunk[T Float](most, sum, picked, z []T, targets []int32, rows, cols, c0 int) {
	if cols > LossChunk || c0%LossChunk != 0 {
		panic(fmt.Sprintf("kernel: CrossEntropyChunk: columns [%d,%d) are no chunk of %d", c0, c0+cols, LossChunk))
	}
	expRows(nil, z[:rows*cols], most[:rows], sum[:rows], rows, cols)
	for r, t := range targets[:rows] {
		if c := int(t) - c0; c >= 0 && c < cols {
			picked[r] = z[r*cols+c]
		}
	}
}

// CrossEntropyOfChunks writes nll as CrossEntropy does, from the maxima and sums of all chunks of v
// columns, which are ld apart, and the logits of the targets. It panics where CrossEntropy does.
func CrossEntropyOfChunks[T Float](nll, most, sum, picked []T, targets []int32, rows, v, ld int, ignore int32) {
	for r, t := range targets[:rows] {
		if t == ignore {
			nll[r] = 0
			continue
		}
		if t < 0 || int(t) >= v {
			panic(fmt.Sprintf("kernel: CrossEntropyOfChunks: target %d of %d classes", t, v))
		}
		m, s := most[r], sum[r]
		for c := LossChunk; c < v; c += LossChunk {
			i := c/LossChunk*ld + r
			m, s = joinSums(m, s, most[i], sum[i])
		}
		nll[r], _ = likelihood(m, s, picked[r])
	}
}

// sumExp computes the maximum of each row of x, which has v columns, and Σ exp(x - most), chunk by chunk.
func sumExp[T Float](most, sum, x []T, v int) {
	if v <= LossChunk {
		expRows(nil, x, most, sum, len(most), v)
		return
	}
	for r := range most {
		row := x[r*v : (r+1)*v]
		most[r], sum[r] = expRow(nil, row[:LossChunk])
		for c := LossChunk; c < v; c += LossChunk {
			m, s := expRow(nil, row[c:min(c+LossChunk, v)])
			most[r], sum[r] = joinSums(most[r], sum[r], m, s)
		}
	}
}

// joinSums joins the maxima and the sums of exponentials of two sets of columns.
func joinSums[T Float](most, sum, m, s T) (T, T) {
	if m > most {
		return m, sum*exp(most-m) + s
	}
	return most, sum + s*exp(m-most)
}

// likelihood is the negative log-likelihood and log Σ exp of a row. The distance of the target's logit
// from the largest is taken first, so that a large common part of the logits costs no digits.
func likelihood[T Float](most, sum, target T) (nll, lse T) {
	l := T(math.Log(float64(sum)))
	return l + (most - target), most + l
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
// nll and lse are what CrossEntropy wrote. At the target it is scale·(exp(-nll) - 1): where the target is
// nearly certain, the difference of a probability and 1 would have no more digits than lse has behind the
// point. dlogits may be logits.
func CrossEntropyGrad[T Float](dlogits, logits, nll, lse []T, targets []int32, rows, v int, ignore int32, scale T) {
	dlogits, logits, nll, lse, targets = dlogits[:rows*v], logits[:rows*v], nll[:rows], lse[:rows], targets[:rows]
	for r := 0; r < rows; {
		if targets[r] == ignore {
			clear(dlogits[r*v : (r+1)*v])
			r++
			continue
		}
		end := counted(targets, r, ignore)
		expScaled(dlogits[r*v:end*v], logits[r*v:end*v], lse[r:end], scale, end-r, v)
		for ; r < end; r++ {
			dlogits[r*v : (r+1)*v][targets[r]] = T(float64(scale) * math.Expm1(-float64(nll[r])))
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
