package kernel

import (
	"math"
	"unsafe"
)

// AdamWStep holds the numbers of one AdamW update that do not depend on the parameter. Bias
// correction is done by the caller: at step t (from 1), Rate = lr/(1 - Beta1^t) and
// RSqrtC2 = 1/sqrt(1 - Beta2^t).
type AdamWStep struct {
	Clip         float64 // factor of every gradient, 1 for none
	Beta1, Beta2 float64 // decay of the first and second moment
	Rate         float64 // learning rate over the first moment's bias correction
	RSqrtC2      float64 // 1/sqrt of the second moment's bias correction
	Eps          float64
	Decay        float64 // learning rate times weight decay; the parameter shrinks by 1 - Decay
}

// AdamW updates parameters p from gradients g, with decoupled weight decay (Loshchilov and Hutter
// 2017, arXiv:1711.05101; Kingma and Ba 2014, arXiv:1412.6980):
//
//	g' = Clip·g,  m = Beta1·m + (1-Beta1)·g',  v = Beta2·v + (1-Beta2)·g'²
//	p  = (1-Decay)·p - Rate·m/(sqrt(v)·RSqrtC2 + Eps)
//
// m and v are the uncorrected moments. All slices have the length of p.
func AdamW[T Float](p, g, m, v []T, h *AdamWStep) {
	g, m, v = g[:len(p)], m[:len(p)], v[:len(p)]
	k := adamWConstants[T](h)
	if isFloat32[T]() && adamWVector(as32(p), as32(g), as32(m), as32(v), (*[9]float32)(unsafe.Pointer(&k))) {
		return
	}
	clip, b1, a1, b2, a2, rate, c2, eps, keep := k[0], k[1], k[2], k[3], k[4], k[5], k[6], k[7], k[8]
	for i := range p {
		gi := clip * g[i]
		m[i] = b1*m[i] + a1*gi
		v[i] = b2*v[i] + a2*(gi*gi)
		p[i] = keep*p[i] - rate*m[i]/(T(math.Sqrt(float64(v[i])))*c2+eps)
	}
}

// measuredRun is the number of elements whose squares AdamWMeasured adds in float32.
const measuredRun = 1024

// AdamWMeasured is AdamW, to the same values, and gives Σ p² before the update and Σ (Δp)² in the same pass,
// however small or large they are. Their relative error is at most 128·2⁻²⁴, where all elements are equal, and
// as a rule 1e-7.
func AdamWMeasured[T Float](p, g, m, v []T, h *AdamWStep) (before, change float64) {
	if len(p) <= measuredRun/4 { // most parameters, by number, and a short stretch to clear
		var old [measuredRun / 4]T
		return adamWRuns(p, g, m, v, h, old[:])
	}
	var old [measuredRun]T
	return adamWRuns(p, g, m, v, h, old[:])
}

// adamWRuns is AdamWMeasured in runs of at most len(old) elements.
func adamWRuns[T Float](p, g, m, v []T, h *AdamWStep, old []T) (before, change float64) {
	g, m, v = g[:len(p)], m[:len(p)], v[:len(p)]
	k := adamWConstants[T](h)
	for i := 0; i < len(p); {
		j := min(i+len(old), len(p))
		if j-i > lanes {
			j = i + (j-i)&^(lanes-1)
		}
		b, c := adamWRun(p[i:j], g[i:j], m[i:j], v[i:j], h, &k, old)
		before, change = before+b, change+c
		i = j
	}
	return before, change
}

// adamWRun is AdamWMeasured of a run of elements: a multiple of lanes, or fewer than lanes. k are the constants of h; old
// is overwritten.
func adamWRun[T Float](p, g, m, v []T, h *AdamWStep, k *[9]T, old []T) (before, change float64) {
	var sums [2]float64
	if !isFloat32[T]() || len(p) < lanes || !adamWMeasuredVector(as32(p), as32(g), as32(m), as32(v),
		(*[9]float32)(unsafe.Pointer(k)), as32(old), &sums) {
		copy(old, p)
		AdamW(p, g, m, v, h)
	}
	if !precise(sums[0]) {
		sums[0] = SumSquares(old[:len(p)])
	}
	if !precise(sums[1]) {
		Sub(old[:len(p)], p, old[:len(p)])
		sums[1] = SumSquares(old[:len(p)])
	}
	return sums[0], sums[1]
}

// adamWConstants are what the update multiplies and adds, in the order that the assembly knows.
func adamWConstants[T Float](h *AdamWStep) [9]T {
	return [9]T{T(h.Clip), T(h.Beta1), T(1 - h.Beta1), T(h.Beta2), T(1 - h.Beta2), T(h.Rate), T(h.RSqrtC2), T(h.Eps), T(1 - h.Decay)}
}

// SGDStep holds the numbers of one update with momentum.
type SGDStep struct {
	Clip     float64 // factor of every gradient, 1 for none
	Momentum float64
	Rate     float64 // learning rate
	Decay    float64 // learning rate times weight decay; the parameter shrinks by 1 - Decay
	Nesterov bool
}

// SGD updates parameters p from gradients g with momentum (Sutskever et al. 2013; the buffer is not
// damped) and decoupled weight decay:
//
//	u = Momentum·u + Clip·g,  p = (1-Decay)·p - Rate·u
//
// With Nesterov the step is Clip·g + Momentum·u instead of u. All slices have the length of p.
func SGD[T Float](p, g, u []T, h *SGDStep) {
	g, u = g[:len(p)], u[:len(p)]
	clip, mu, keep, rate := T(h.Clip), T(h.Momentum), T(1-h.Decay), T(h.Rate)
	for i := range p {
		gi := clip * g[i]
		u[i] = mu*u[i] + gi
		step := u[i]
		if h.Nesterov {
			step = gi + mu*u[i]
		}
		p[i] = keep*p[i] - rate*step
	}
}
