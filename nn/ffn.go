package nn

import (
	"ablate/graph"
	"ablate/ops"
)

// ffn is down(f(up(x))) or, gated, down(f(gate(x)) ⊙ up(x)).
//
//	x (B,T,D) → (B,T,D)
func ffn(s Site, p *blockPlan, x *graph.Node) *graph.Node {
	c := s.net.cfg
	d, f, bias := c.DModel, int(c.DFF), c.FFN.Bias
	act := Activations[string(c.Activation)]

	var h *graph.Node // (B,T,F)
	if act.Gated {
		plain := s
		plain.gain = 1 // a placement's gain is for up and down
		gate := plain.project("gate", "bgate", "ffn.gate", x, d, f, bias)
		h = ops.Gate(gate, s.project("up", "bup", "ffn.up", x, d, f, bias), act.F)
	} else {
		h = ops.Activate(s.project("up", "bup", "ffn.up", x, d, f, bias), act.F)
	}
	if p.innerNorm {
		h = s.Norm("inner_norm", h)
	}
	return s.project("down", "bdown", "ffn.down", h, f, d, bias) // (B,T,D)
}
