package ops

import (
	"math"

	"ablate/ops/kernel"
)

// GELUTanh is x/2·(1 + tanh(√(2/π)·(x + 0.044715·x³))), the approximation of
// GELU in GPT-2 and BERT (Hendrycks and Gimpel 2016, arXiv:1606.08415).
var GELUTanh = Unary{
	Name: "gelu_tanh",
	F: func(x float64) float64 {
		t, _ := geluTanh(x)
		return x / 2 * (1 + t)
	},
	D: func(x float64) float64 {
		t, dt := geluTanh(x)
		return (1 + t + x*dt) / 2
	},
	F32: UnaryKernels[float32]{kernel.GELUTanh[float32], kernel.GELUTanhGrad[float32], kernel.GELUTanhBoth[float32]},
	F64: UnaryKernels[float64]{kernel.GELUTanh[float64], kernel.GELUTanhGrad[float64], kernel.GELUTanhBoth[float64]},
}

// geluTanh is the hyperbolic tangent in GELUTanh, and its derivative.
func geluTanh(x float64) (t, dt float64) {
	const cubic = 0.044715
	slope := math.Sqrt(2 / math.Pi)
	if math.Abs(x) > 100 { // long since flat, and the cube may overflow
		return math.Copysign(1, x), 0
	}
	t = math.Tanh(slope * (x + cubic*x*x*x))
	return t, (1 - t*t) * slope * (1 + 3*cubic*x*x)
}
