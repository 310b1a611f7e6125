package nn

import (
	"ablate/graph"
	"ablate/ops"
)

// sinusoidal adds sines and cosines of the position at wavelengths from 2π to
// 10000·2π.
var sinusoidal = Position{
	Name: "sinusoidal", Source: "Vaswani et al. 2017, arXiv:1706.03762, with positions from 0",
	Embed: func(s Site, x *graph.Node, _ PositionConfig) *graph.Node {
		n, d := s.Span(x), width(x)
		return ops.AddPositions(x, s.Rows(s.scope.Table("sinusoidal", ops.Sinusoidal(n, d), n, d), x))
	},
}
