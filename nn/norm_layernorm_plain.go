package nn

import (
	"ablate/graph"
	"ablate/ops"
)

// layerNormPlain is (x - mean)/sqrt(var + eps): LayerNorm without gains and biases,
// the non-parametric one of OLMo.
var layerNormPlain = Norm{
	Name: "layernorm_plain", Source: "Groeneveld et al. 2024, arXiv:2402.00838",
	Eps: true, Plain: true,
	Build: func(_ Site, x *graph.Node, c NormConfig) *graph.Node {
		return ops.LayerNorm(x, nil, nil, c.Eps)
	},
}
