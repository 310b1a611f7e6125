package ops

import "ablate/ops/kernel"

// SiLU is x·σ(x), also called Swish (Elfwing, Uchibe and Doya 2017,
// arXiv:1702.03118).
var SiLU = Unary{
	Name: "silu",
	F:    func(x float64) float64 { return x * logistic(x) },
	D: func(x float64) float64 {
		s := logistic(x)
		return s + x*s*logistic(-x)
	},
	F32: UnaryKernels[float32]{kernel.SiLU[float32], kernel.SiLUGrad[float32], kernel.SiLUBoth[float32]},
	F64: UnaryKernels[float64]{kernel.SiLU[float64], kernel.SiLUGrad[float64], kernel.SiLUBoth[float64]},
}
