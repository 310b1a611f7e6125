package ops

import (
	"math"

	"ablate/ops/kernel"
)

// Sigmoid is the logistic function σ(x) = 1/(1 + exp(-x)), the gate of GLU.
var Sigmoid = Unary{
	Name: "sigmoid",
	F:    logistic,
	D:    func(x float64) float64 { return logistic(x) * logistic(-x) },
	F32:  UnaryKernels[float32]{F: kernel.Sigmoid[float32], D: kernel.SigmoidGrad[float32]},
	F64:  UnaryKernels[float64]{F: kernel.Sigmoid[float64], D: kernel.SigmoidGrad[float64]},
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
