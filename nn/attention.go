package nn

import (
	"ablate/graph"
	"ablate/ops"
)

// attention is softmax(scale·q·kᵀ + bias)·v over the visible keys, with H query
// heads that share G key/value heads, between projections.
//
//	x (B,T,D) → (B,T,D)
func attention(s Site, p *blockPlan, x *graph.Node) *graph.Node {
	c := s.net.cfg
	hd, d := int(c.HeadDim), c.DModel
	qkvBias, outBias := c.Attention.Bias == "qkv" || c.Attention.Bias == "all", c.Attention.Bias == "proj" || c.Attention.Bias == "all"
	plain := s
	plain.gain = 1 // a placement's gain is for v and o

	q := plain.linear("q", "attn.q", x, d, c.Heads*hd, qkvBias)        // (B,T,H·K)
	k := plain.linear("k", "attn.k", x, d, int(c.KVHeads)*hd, qkvBias) // (B,T,G·K)
	v := s.linear("v", "attn.v", x, d, int(c.KVHeads)*hd, qkvBias)     // (B,T,G·K)
	q, k, v = qkvNorm(s, p, q, k, v)

	o := ops.AttentionOptions{
		Heads: c.Heads, KVHeads: int(c.KVHeads), Scale: float64(c.Attention.Scale),
		Softcap: c.Attention.Softcap, Window: p.window, Causal: c.Attention.Causal,
	}
	if s.net.rng != nil {
		o.Dropout, o.RNG, o.Name = c.Dropout, s.net.rng, s.scope.Path()+".weights"
	}
	pos := Positions[p.position.Kind]
	if pos.Rotate != nil {
		s.net.place(pos.Name, func() {
			q, k = pos.Rotate(s, q, c.Heads, p.position), pos.Rotate(s, k, int(c.KVHeads), p.position)
		})
	}
	if pos.Scores != nil {
		pos.Scores(s, &o, p.position)
	}
	h := s.attend(q, k, v, o) // (B,T,H·K)
	if p.innerNorm {
		h = s.Norm("inner_norm", h)
	}
	return s.linear("o", "attn.o", h, c.Heads*hd, d, outBias) // (B,T,D)
}

// qkvNorm normalises queries and keys, and values too in a block whose placement
// asks for it: every head, or all heads of a token together. It is always an RMS
// norm without additive term, whatever the model's norm is.
func qkvNorm(s Site, p *blockPlan, q, k, v *graph.Node) (qn, kn, vn *graph.Node) {
	c := s.net.cfg
	if c.Attention.QKNorm == "none" && !p.qkvNorm {
		return q, k, v
	}
	norm := func(name string, x *graph.Node) *graph.Node {
		d := int(c.HeadDim)
		if c.Attention.QKNorm == "full" {
			d = width(x)
		}
		if c.Attention.QKNormGain == No {
			return ops.RMSNormRows(x, d, c.Norm.Eps)
		}
		return rms(s.sub(name, "norm", "norm"), x, d, c.Norm.Eps, c.Attention.QKNorm1P == Yes)
	}
	q, k = norm("q_norm", q), norm("k_norm", k)
	if p.qkvNorm {
		v = norm("v_norm", v)
	}
	return q, k, v
}

// linear is x·Wᵀ + b with parameters w+name and b+name.
//
//	x (B,T,in) → (B,T,out)
func (s Site) linear(name, module string, x *graph.Node, in, out int, bias bool) *graph.Node {
	return s.project("w"+name, "b"+name, module, x, in, out, bias)
}

func (s Site) project(weight, bias, module string, x *graph.Node, in, out int, biased bool) *graph.Node {
	s.module = module
	w := s.matrix(weight, Weight{module, s.layer, in, out}, out, in)
	if !biased {
		return ops.Linear(x, w, nil)
	}
	return ops.Linear(x, w, s.Param(bias, Constant(0), out))
}
