package nn

import (
	"ablate/graph"
	"ablate/ops"
)

// rmsNormPlain is x/sqrt(mean(x²) + eps): RMSNorm without gains, as nanochat has it.
var rmsNormPlain = Norm{
	Name: "rmsnorm_plain", Source: "Qin et al. 2023, arXiv:2307.14995 (SimpleRMSNorm)",
	Eps: true, Plain: true,
	Build: func(_ Site, x *graph.Node, c NormConfig) *graph.Node {
		return ops.RMSNorm(x, nil, c.Eps, false)
	},
}
