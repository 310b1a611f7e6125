package train

import (
	"ablate/graph"
	"ablate/ops/kernel"
)

// sgd is stochastic gradient descent with momentum (Sutskever et al. 2013;
// the velocity is not damped) and decoupled weight decay. With the clipped
// gradient g and learning rate lr:
//
//	u = momentum·u + g,   p = (1 − lr·decay)·p − lr·u
func sgd[T graph.Float]() Optimizer[T] {
	return Optimizer[T]{
		Name:  "sgd",
		Keys:  []string{"momentum"},
		State: []string{"u"},
		New:   func(c Config) Rule[T] { return &sgdRule[T]{config: c} },
	}
}

type sgdRule[T graph.Float] struct {
	config Config
	lr     float64
	step   kernel.SGDStep // without what depends on the parameter: Rate and Decay
}

func (r *sgdRule[T]) Prepare(_ int, lr, clip float64) {
	r.lr, r.step = lr, kernel.SGDStep{Clip: clip, Momentum: r.config.Momentum}
}

func (r *sgdRule[T]) Update(v *Vectors[T], from, to int, f Factors) {
	h := r.step
	h.Rate, h.Decay = f.rates(r.lr, r.config.WeightDecay)
	kernel.SGD(v.Values[from:to], v.Grads[from:to], v.State[0][from:to], &h)
}
