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
	config         Config
	plain, decayed kernel.SGDStep // without and with weight decay
}

func (r *sgdRule[T]) Prepare(_ int, lr, clip float64) {
	r.plain = kernel.SGDStep{Clip: clip, Momentum: r.config.Momentum, Rate: lr}
	r.decayed = r.plain
	r.decayed.Decay = lr * r.config.WeightDecay
}

func (r *sgdRule[T]) Update(v *Vectors[T], from, to int, decay bool) {
	h := &r.plain
	if decay {
		h = &r.decayed
	}
	kernel.SGD(v.Values[from:to], v.Grads[from:to], v.State[0][from:to], h)
}
