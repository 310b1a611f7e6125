package nn

import (
	"ablate/graph"
	"ablate/ops"
)

// dytAlpha is where DyT's slope starts, as in its authors' code.
const dytAlpha = 0.5

// dynamicTanh is w ⊙ tanh(alpha x) + b with one learned slope alpha.
var dynamicTanh = Norm{
	Name: "dyt", Source: "Zhu et al. 2025, arXiv:2503.10622",
	Bias: true,
	Build: func(s Site, x *graph.Node, c NormConfig) *graph.Node {
		d := width(x)
		return ops.DyT(x, s.Param("alpha", Constant(dytAlpha), 1), s.Param("w", Constant(1), d), c.bias(s, d))
	},
}
