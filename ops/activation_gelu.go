package ops

import (
	"math"

	"ablate/ops/kernel"
)

// GELU is x·Φ(x), Φ the normal distribution function, in its exact form with
// the error function (Hendrycks and Gimpel 2016, arXiv:1606.08415).
var GELU = Unary{
	Name: "gelu",
	F:    func(x float64) float64 { return x * normalCDF(x) },
	D: func(x float64) float64 {
		return normalCDF(x) + x*math.Exp(-x*x/2)/math.Sqrt(2*math.Pi)
	},
	F32: UnaryKernels[float32]{kernel.GELU[float32], kernel.GELUGrad[float32], kernel.GELUBoth[float32]},
	F64: UnaryKernels[float64]{kernel.GELU[float64], kernel.GELUGrad[float64], kernel.GELUBoth[float64]},
}

// normalCDF uses erfc, which keeps its precision in the left tail.
func normalCDF(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
