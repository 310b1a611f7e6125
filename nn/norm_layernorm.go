package nn

import (
	"ablate/graph"
	"ablate/ops"
)

// layerNorm is (x - mean)/sqrt(var + eps) ⊙ w + b.
var layerNorm = Norm{
	Name: "layernorm", Source: "Ba, Kiros and Hinton 2016, arXiv:1607.06450",
	Eps: true, Bias: true,
	Build: func(s Site, x *graph.Node, c NormConfig) *graph.Node {
		d := width(x)
		return ops.LayerNorm(x, s.Param("w", Constant(1), d), c.bias(s, d), c.Eps)
	},
}
