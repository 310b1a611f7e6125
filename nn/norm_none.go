package nn

import "ablate/graph"

// noNorm is the identity: a placement without its norms.
var noNorm = Norm{
	Name: "none", Source: "a control: no norm anywhere",
	Build: func(_ Site, x *graph.Node, _ NormConfig) *graph.Node { return x },
}
