package ops

import (
	"math"

	"ablate/ops/kernel"
)

// Tanh is the hyperbolic tangent.
var Tanh = Unary{
	Name: "tanh",
	F:    math.Tanh,
	D:    func(x float64) float64 { return 1 - math.Pow(math.Tanh(x), 2) },
	F32:  UnaryKernels[float32]{F: kernel.Tanh[float32], D: kernel.TanhGrad[float32]},
	F64:  UnaryKernels[float64]{F: kernel.Tanh[float64], D: kernel.TanhGrad[float64]},
}
