package nn

import (
	"fmt"
	"strings"

	"ablate/graph"
	"ablate/ops"
)

// graphReader finds its way in a graph by operations, operands and parameters.
type graphReader struct {
	g      *graph.Graph
	params map[string]*graph.ParamSpec
	leaves map[string]*graph.Node // of the parameters
}

func newGraphReader(g *graph.Graph) *graphReader {
	r := &graphReader{g: g, params: map[string]*graph.ParamSpec{}, leaves: map[string]*graph.Node{}}
	for _, p := range g.Params() {
		r.params[p.Name] = p
	}
	for _, n := range g.Expr().Inputs() {
		if r.params[n.Name()] != nil {
			r.leaves[n.Name()] = n
		}
	}
	return r
}

// products lists the matrix products with a parameter. A bias is added in one, not
// multiplied by.
func (r *graphReader) products(param string) []*graph.Node {
	if len(r.params[param].Shape) < 2 {
		return nil
	}
	var nodes []*graph.Node
	for it := r.g.Expr().To(r.leaves[param].ID()); it.Next(); {
		if n := it.Node().(*graph.Node); n.Op().String() == "linear" {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// applied is an operation with what it reads.
type applied struct {
	op     string        // "" for an input
	values []*graph.Node // but for the parameters
	params []*graph.ParamSpec
	norm   bool // it normalises, or has the parameters of a norm
}

// read gives the operation that n is a result of.
func (r *graphReader) read(n *graph.Node) applied {
	var a applied
	for it := r.g.Expr().From(n.ID()); it != nil && it.Next(); {
		c := it.Node().(*graph.Node)
		if p := r.params[c.Name()]; p != nil && r.leaves[c.Name()] == c {
			a.params = append(a.params, p)
			continue
		}
		a.values = append(a.values, c)
	}
	if n.Op() == nil {
		return applied{}
	}
	a.op = n.Op().String()
	if strings.HasPrefix(a.op, "result ") { // of several
		return r.read(a.values[0])
	}
	_, a.norm = r.g.OpOf(n).(ops.Norm)
	a.norm = a.norm || a.role() == "norm"
	return a
}

// role is that of the parameters.
func (a *applied) role() string {
	if len(a.params) == 0 {
		return ""
	}
	return a.params[0].Role
}

// name is that of the first parameter below a prefix, "" if there is none.
func (a *applied) name(prefix string) string {
	if len(a.params) == 0 {
		return ""
	}
	return strings.TrimPrefix(a.params[0].Name, prefix)
}

// normName is the name that a norm's parameters have in common, "" without any.
func (a *applied) normName(prefix string) string {
	name := a.name(prefix)
	return name[:max(strings.LastIndexByte(name, '.'), 0)]
}

// factor is the constant of a multiplication by one.
func (a *applied) factor() (c float64, ok bool) {
	_, err := fmt.Sscanf(a.op, "scale{%g}", &c)
	return c, err == nil
}

// embedding reads the way from the table of tokens to the first block: the norm on
// it, and the factor.
func (r *graphReader) embedding(x *graph.Node) (norm, scale string) {
	scale = "1"
	for a := r.read(x); len(a.values) > 0; a = r.read(a.values[0]) {
		c, constant := a.factor()
		switch {
		case a.norm:
			norm = a.op
		case constant:
			scale = fmt.Sprint(c)
		case a.role() == "residual_scale":
			scale = "learned"
		}
	}
	return norm, scale
}

// top reads the way from the last block to the head: the norm on it, and whether the
// head is the embedding.
func (r *graphReader) top(x *graph.Node) (norm string, tied bool) {
	heads := r.products("embed.wte")
	if tied = len(heads) > 0; !tied {
		heads = r.products("head.w")
	}
	for _, head := range heads {
		for n := r.read(head).values[0]; n != x; {
			a := r.read(n)
			if a.norm {
				norm = a.op
			}
			n = a.values[0]
		}
	}
	return norm, tied
}

// builtBlock is a block as its graph has it.
type builtBlock struct {
	in, out        *step
	inner          []NormAttestation // within the sub-layers
	attentionWidth int               // H·K
}

func (b *builtBlock) formula() string { return describe(b.in, b.out) }

// block reads block l between its two ends.
func (r *graphReader) block(l int, in, out *graph.Node) *builtBlock {
	b := &blockReader{
		graphReader: r, prefix: fmt.Sprintf("block.%d.", l),
		built: builtBlock{in: &step{kind: stepStream}},
		steps: map[*graph.Node]*step{},
	}
	b.steps[in] = b.built.in
	b.built.out = b.step(out)
	return &b.built
}

type blockReader struct {
	*graphReader
	prefix string
	built  builtBlock
	steps  map[*graph.Node]*step
}

// step reads a value of the block.
func (b *blockReader) step(n *graph.Node) *step {
	if s := b.steps[n]; s != nil {
		return s
	}
	s := b.interpret(n)
	b.steps[n] = s
	return s
}

func (b *blockReader) interpret(n *graph.Node) *step {
	a := b.read(n)
	name := a.name(b.prefix)
	c, constant := a.factor()
	switch {
	case a.op == "add":
		return &step{kind: stepSum, args: []*step{b.step(a.values[0]), b.step(a.values[1])}}
	case strings.HasPrefix(a.op, "dropout"):
		return b.step(a.values[0])
	case name == "attn.wo":
		return b.sublayer("A", a.values[0])
	case name == "ffn.down":
		return b.sublayer("M", a.values[0])
	case a.norm:
		return &step{kind: stepNorm, name: a.normName(b.prefix), op: a.op, args: []*step{b.step(a.values[0])}}
	case a.role() == "residual_scale":
		return &step{kind: stepLearned, name: name, args: []*step{b.step(a.values[0])}}
	case constant:
		return &step{kind: stepScale, c: c, args: []*step{b.step(a.values[0])}}
	}
	s := &step{kind: stepOther, name: a.op}
	for _, v := range a.values {
		s.args = append(s.args, b.step(v))
	}
	return s
}

// sublayer goes from the last projection of a sub-layer down to what its first
// ones read, which must be one value, and notes the norms on the way by where
// they sit.
func (b *blockReader) sublayer(name string, from *graph.Node) *step {
	s := &step{kind: stepSublayer, name: name}
	seen := map[*graph.Node]bool{}
	var down func(n *graph.Node, at place)
	down = func(n *graph.Node, at place) {
		if seen[n] || n.Op() == nil { // a table
			return
		}
		seen[n] = true
		a := b.read(n)
		if a.norm {
			b.built.inner = append(b.built.inner, at.norm(a.normName(b.prefix), a.op))
		}
		for _, p := range a.params {
			if p.Layer >= 0 && len(p.Shape) == 2 { // a first projection
				if arg := b.step(a.values[0]); len(s.args) == 0 || s.args[0] != arg {
					s.args = append(s.args, arg)
				}
				return
			}
		}
		attention := strings.HasPrefix(a.op, "attention{")
		if attention {
			b.built.attentionWidth = a.values[0].Shape()[2]
		}
		for i, v := range a.values {
			if attention && i < len(operands) {
				at = operands[i]
			}
			down(v, at)
		}
	}
	down(from, ends[name])
	return s
}
