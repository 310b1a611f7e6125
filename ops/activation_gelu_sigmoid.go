package ops

import "ablate/ops/kernel"

// GELUSigmoid is x·σ(1.702·x), the coarse approximation of GELU (Hendrycks and
// Gimpel 2016, arXiv:1606.08415).
var GELUSigmoid = Unary{
	Name: "gelu_sigmoid",
	F:    func(x float64) float64 { return x * logistic(geluSlope*x) },
	D: func(x float64) float64 {
		s := logistic(geluSlope * x)
		return s + geluSlope*x*s*logistic(-geluSlope*x)
	},
	F32: UnaryKernels[float32]{kernel.GELUSigmoid[float32], kernel.GELUSigmoidGrad[float32], kernel.GELUSigmoidBoth[float32]},
	F64: UnaryKernels[float64]{kernel.GELUSigmoid[float64], kernel.GELUSigmoidGrad[float64], kernel.GELUSigmoidBoth[float64]},
}

const geluSlope = 1.702
