package ops

import (
	"math"

	"ablate/ops/kernel"
)

// ReLU2 is max(x, 0)² (So et al. 2021, arXiv:2109.08668).
var ReLU2 = Unary{
	Name: "relu2",
	F:    func(x float64) float64 { return math.Pow(math.Max(x, 0), 2) },
	D:    func(x float64) float64 { return 2 * math.Max(x, 0) },
	F32:  UnaryKernels[float32]{F: kernel.ReLU2[float32], D: kernel.ReLU2Grad[float32]},
	F64:  UnaryKernels[float64]{F: kernel.ReLU2[float64], D: kernel.ReLU2Grad[float64]},
}
