package nn

import (
	"fmt"

	"ablate/graph"
	"ablate/ops"
)

// blockPlan is what a block needs to know besides the configuration.
type blockPlan struct {
	formula   *Formula
	constants map[string]float64 // of the formula: l, L and the placement's options
	gain      float64            // of the initial v, o, up and down
	qkvNorm   bool
	innerNorm bool
	position  PositionConfig
	window    int
}

// plan looks every block's names up, once.
func (m *Model) plan() error {
	c := &m.cfg
	for l, place := range c.placements() {
		p, err := lookupPlacement(place.Kind)
		if err != nil {
			return err
		}
		f, err := ParseFormula(p.Formula, p.optionKeys()...)
		if err != nil {
			return err
		}
		b := blockPlan{
			formula: f, gain: 1, position: perLayer(c.Position, l), window: perLayer(c.Attention.Window, l),
			qkvNorm: place.QKVNorm.or(p.QKVNorm) == Yes, innerNorm: place.InnerNorm.or(p.InnerNorm) == Yes,
			constants: map[string]float64{"l": float64(l + 1), "L": float64(c.Layers)},
		}
		given := place.resolve(c.Layers).Options
		for _, o := range p.Options {
			b.constants[o.Key] = given[o.Key]
		}
		if p.InitScale != "" {
			b.gain = b.constants[p.InitScale]
		}
		m.blocks = append(m.blocks, b)
	}
	return nil
}

// block runs the placement's formula on the graph: once with A and M, or with F
// as the attention and then as the FFN.
//
//	x (B,T,D) → (B,T,D)
func (m *Model) block(n *net, l int, x *graph.Node) *graph.Node {
	p := &m.blocks[l]
	b := &wiring{site: Site{net: n, scope: n.root.Sub("block", l), layer: l, gain: 1}, plan: p, norms: map[int]*graph.Node{}}
	if p.formula.block {
		return b.run(x)
	}
	for part, name := range []string{"A", "M"} {
		b.part, b.sublayer = part+1, name
		clear(b.norms)
		x = b.run(x)
	}
	return x
}

// wiring is the machine that builds a block.
type wiring struct {
	site     Site
	plan     *blockPlan
	part     int    // of a formula of F: 1 for the attention, 2 for the FFN; 0 in a formula of a block
	sublayer string // what F stands for
	norms    map[int]*graph.Node
}

func (b *wiring) run(x *graph.Node) *graph.Node {
	y, err := run(b.plan.formula, b, b.plan.constants, x)
	if err != nil {
		panic(&graph.Error{Name: b.site.scope.Path(), Err: err})
	}
	return y
}

// Norm applies norm k. Its parameters are norm1 … norm9 of the block or, where
// each sub-layer has its own, norm1, norm1_post, norm1_3, … and norm2, ….
func (b *wiring) Norm(k int, v *graph.Node) (*graph.Node, error) {
	if b.norms[k] == nil {
		b.norms[k] = b.site.Norm(normName(b.part, k), v)
	}
	return b.norms[k], nil
}

func normName(part, k int) string {
	switch {
	case part == 0:
		return fmt.Sprint("norm", k)
	case k == 1:
		return fmt.Sprint("norm", part)
	case k == 2:
		return fmt.Sprintf("norm%d_post", part)
	}
	return fmt.Sprintf("norm%d_%d", part, k)
}

func (b *wiring) Sublayer(name string, v *graph.Node) (*graph.Node, error) {
	if name == "F" {
		name = b.sublayer
	}
	s := b.site
	s.gain = b.plan.gain
	if name == "A" {
		return s.net.dropout(attention(s.sub("attn", "attention", ""), b.plan, v), s.scope.Path()+".attn.dropout"), nil
	}
	return s.net.dropout(ffn(s.sub("ffn", "ffn", ""), b.plan, v), s.scope.Path()+".ffn.dropout"), nil
}

func (b *wiring) Add(v, w *graph.Node) *graph.Node { return graph.Add(v, w) }

func (b *wiring) Scale(c float64, v *graph.Node) *graph.Node { return ops.Scale(v, c) }

// Learned multiplies by resid1.alpha or resid1.gamma, for the attention, or
// those of resid2, for the FFN.
func (b *wiring) Learned(name string, v *graph.Node) *graph.Node {
	part := b.part
	if len(name) == 2 {
		part = int(name[1] - '0')
	}
	s := b.site.sub(fmt.Sprint("resid", part), "residual_scale", "residual_scale")
	if name[0] == 'a' {
		return ops.MulScalar(v, s.Param("alpha", Constant(0), 1))
	}
	return ops.MulVector(v, s.Param("gamma", Constant(b.plan.constants[optionInit.Key]), width(v)))
}
