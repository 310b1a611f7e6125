package train

import (
	"math"

	"ablate/graph"
	"ablate/ops/kernel"
)

// adamW is Adam (Kingma and Ba 2014, arXiv:1412.6980) with decoupled weight
// decay (Loshchilov and Hutter 2019, arXiv:1711.05101). At update t, with the
// clipped gradient g and learning rate lr:
//
//	m = β₁m + (1−β₁)g,   v = β₂v + (1−β₂)g²
//	p = (1 − lr·decay)·p − lr·(m/(1−β₁ᵗ)) / (√(v/(1−β₂ᵗ)) + eps)
//
// m and v are stored uncorrected.
func adamW[T graph.Float]() Optimizer[T] {
	return Optimizer[T]{
		Name:  "adamw",
		Keys:  []string{"betas", "eps"},
		State: []string{"m", "v"},
		New:   func(c Config) Rule[T] { return &adamWRule[T]{config: c} },
	}
}

type adamWRule[T graph.Float] struct {
	config Config
	lr, c1 float64          // learning rate; 1 − β₁ᵗ
	step   kernel.AdamWStep // without what depends on the parameter: Rate and Decay
}

func (r *adamWRule[T]) Prepare(t int, lr, clip float64) {
	c := &r.config
	b1, b2 := c.Betas[0], c.Betas[1]
	r.lr, r.c1 = lr, 1-math.Pow(b1, float64(t))
	r.step = kernel.AdamWStep{
		Clip: clip, Beta1: b1, Beta2: b2, Eps: c.Eps,
		RSqrtC2: 1 / math.Sqrt(1-math.Pow(b2, float64(t))),
	}
}

func (r *adamWRule[T]) Update(v *Vectors[T], from, to int, f Factors) {
	h := r.stepOf(f)
	kernel.AdamW(v.Values[from:to], v.Grads[from:to], v.State[0][from:to], v.State[1][from:to], &h)
}

// UpdateMeasured implements Measurer.
func (r *adamWRule[T]) UpdateMeasured(v *Vectors[T], from, to int, f Factors) (before, change float64) {
	h := r.stepOf(f)
	return kernel.AdamWMeasured(v.Values[from:to], v.Grads[from:to], v.State[0][from:to], v.State[1][from:to], &h)
}

// stepOf completes the numbers of the update for a parameter.
func (r *adamWRule[T]) stepOf(f Factors) kernel.AdamWStep {
	h := r.step
	h.Rate, h.Decay = f.rates(r.lr, r.config.WeightDecay)
	h.Rate /= r.c1
	return h
}
