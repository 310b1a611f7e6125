package ops

import "ablate/ops/kernel"

// Identity is x itself: the gate of the bilinear layer (Shazeer 2020,
// arXiv:2002.05202).
var Identity = Unary{
	Name: "identity",
	F:    func(x float64) float64 { return x },
	D:    func(float64) float64 { return 1 },
	F32:  UnaryKernels[float32]{F: kernel.Identity[float32], D: kernel.IdentityGrad[float32]},
	F64:  UnaryKernels[float64]{F: kernel.Identity[float64], D: kernel.IdentityGrad[float64]},
}
