package ops

import (
	"math"

	"ablate/ops/kernel"
)

// ReLU is max(x, 0), with derivative 0 at 0.
var ReLU = Unary{
	Name: "relu",
	F:    func(x float64) float64 { return math.Max(x, 0) },
	D: func(x float64) float64 {
		if x > 0 {
			return 1
		}
		return 0
	},
	F32: UnaryKernels[float32]{F: kernel.ReLU[float32], D: kernel.ReLUGrad[float32]},
	F64: UnaryKernels[float64]{F: kernel.ReLU[float64], D: kernel.ReLUGrad[float64]},
}
