package nn

import "ablate/ops"

// Activation is the hidden layer of an FFN, by name: f(up) or, gated,
// f(gate) ⊙ up.
type Activation struct {
	Name   string
	Source string
	F      ops.Unary
	Gated  bool
}

// Activations is the table of activations by name.
var Activations = map[string]*Activation{}

func init() {
	const (
		gelu    = "Hendrycks and Gimpel 2016, arXiv:1606.08415"
		shazeer = "Shazeer 2020, arXiv:2002.05202"
	)
	for _, a := range []Activation{
		{Name: "relu", F: ops.ReLU, Source: "Glorot, Bordes and Bengio 2011"},
		{Name: "gelu", F: ops.GELU, Source: gelu + ", with the error function"},
		{Name: "gelu_tanh", F: ops.GELUTanh, Source: gelu + ", its approximation by tanh"},
		{Name: "gelu_sigmoid", F: ops.GELUSigmoid, Source: gelu + ", its approximation by the logistic function"},
		{Name: "silu", F: ops.SiLU, Source: "Elfwing, Uchibe and Doya 2017, arXiv:1702.03118"},
		{Name: "relu2", F: ops.ReLU2, Source: "So et al. 2021, arXiv:2109.08668"},
		{Name: "glu", F: ops.Sigmoid, Gated: true, Source: "Dauphin et al. 2016, arXiv:1612.08083"},
		{Name: "bilinear", F: ops.Identity, Gated: true, Source: shazeer},
		{Name: "reglu", F: ops.ReLU, Gated: true, Source: shazeer},
		{Name: "geglu", F: ops.GELU, Gated: true, Source: shazeer},
		{Name: "geglu_tanh", F: ops.GELUTanh, Gated: true, Source: shazeer},
		{Name: "swiglu", F: ops.SiLU, Gated: true, Source: shazeer},
	} {
		RegisterActivation(a)
	}
}

// RegisterActivation adds a to the table. It panics if the name is taken or no name.
func RegisterActivation(a Activation) {
	mustBeFree("activation", a.Name, Activations[a.Name] != nil)
	Activations[a.Name] = &a
}
