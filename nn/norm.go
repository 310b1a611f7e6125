package nn

import (
	"ablate/graph"
)

// Norm is a normalisation, by name.
type Norm struct {
	Name   string
	Source string
	Eps    bool // it reads eps
	Alpha  bool // it reads alpha
	Bias   bool // it can have an additive term
	Plain  bool // it has no gains; where auto, the q/k-norms of its model have none either
	// Build applies the norm to x over its last axis; it declares the parameters
	// that it has in s.
	Build func(s Site, x *graph.Node, c NormConfig) *graph.Node
}

// Norms is the table of norms by name.
var Norms = map[string]*Norm{}

func init() {
	for _, n := range []Norm{layerNorm, layerNormPlain, rmsNorm, rmsNorm1P, rmsNormPlain, dynamicTanh, noNorm} {
		RegisterNorm(n)
	}
}

// RegisterNorm adds n to the table. It panics if the name is taken or no name.
func RegisterNorm(n Norm) {
	mustBeFree("norm", n.Name, Norms[n.Name] != nil)
	Norms[n.Name] = &n
}

// bias declares the additive term of a norm, if the configuration wants one.
func (c NormConfig) bias(s Site, d int) *graph.Node {
	if c.Bias != Yes {
		return nil
	}
	return s.Param("b", Constant(0), d)
}

// width is the last axis of x.
func width(x *graph.Node) int {
	s := x.Shape()
	return s[len(s)-1]
}
