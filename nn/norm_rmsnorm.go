package nn

import (
	"ablate/graph"
	"ablate/ops"
)

// rmsNorm is x/sqrt(mean(x²) + eps) ⊙ w.
var rmsNorm = Norm{
	Name: "rmsnorm", Source: "Zhang and Sennrich 2019, arXiv:1910.07467",
	Eps: true,
	Build: func(s Site, x *graph.Node, c NormConfig) *graph.Node {
		return rms(s, x, width(x), c.Eps, false)
	},
}

// rmsNorm1P is RMSNorm with the gain 1 + w, so that weight decay pulls the gain
// towards 1.
var rmsNorm1P = Norm{
	Name: "rmsnorm_1p", Source: "Gemma, 2024, arXiv:2403.08295",
	Eps: true,
	Build: func(s Site, x *graph.Node, c NormConfig) *graph.Node {
		return rms(s, x, width(x), c.Eps, true)
	},
}

// rms normalises every d entries of the last axis by themselves, with one gain
// for all of them.
func rms(s Site, x *graph.Node, d int, eps float64, onePlus bool) *graph.Node {
	gain := Constant(1)
	if onePlus {
		gain = Constant(0)
	}
	return ops.RMSNorm(x, s.Param("w", gain, d), eps, onePlus)
}
