package nn

import (
	"fmt"
	"slices"
	"strings"

	"ablate/graph"
)

// graphReader finds its way in a graph by operands and parameters.
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

// readers lists the operations that read a parameter, sorted.
func (r *graphReader) readers(param string) []string {
	var ops []string
	for it := r.g.Expr().To(r.leaves[param].ID()); it.Next(); {
		ops = append(ops, it.Node().(*graph.Node).Op().String())
	}
	slices.Sort(ops)
	return ops
}

// normOf is the operation of the norm whose parameters have this prefix.
func (r *graphReader) normOf(prefix string) string {
	for _, p := range r.g.Params() {
		if !strings.HasPrefix(p.Name, prefix) {
			continue
		}
		for _, op := range r.readers(p.Name) {
			if !strings.Contains(op, "Grad") {
				return op
			}
		}
	}
	return ""
}

// operands splits what n reads into values and parameters. A result of an
// operation with several is followed to the operation.
func (r *graphReader) operands(n *graph.Node) (op string, values []*graph.Node, params []*graph.ParamSpec) {
	it := r.g.Expr().From(n.ID())
	for it != nil && it.Next() {
		c := it.Node().(*graph.Node)
		if p := r.params[c.Name()]; p != nil && r.leaves[c.Name()] == c {
			params = append(params, p)
			continue
		}
		values = append(values, c)
	}
	if n.Op() == nil {
		return "", nil, nil
	}
	op = n.Op().String()
	if strings.HasPrefix(op, "result ") {
		return r.operands(values[0])
	}
	return op, values, params
}

// builtBlock is a block as its graph has it.
type builtBlock struct {
	in, out        *step
	norms          []NormAttestation
	attentionWidth int // H·K
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
	b.built.norms = append(outerNorms(b.built.out), b.inner...)
	return &b.built
}

type blockReader struct {
	*graphReader
	prefix string
	built  builtBlock
	steps  map[*graph.Node]*step
	inner  []NormAttestation // within the sub-layers
}

// step reads a value of the block.
func (b *blockReader) step(n *graph.Node) *step {
	if s := b.steps[n]; s != nil {
		return s
	}
	s := b.read(n)
	b.steps[n] = s
	return s
}

func (b *blockReader) read(n *graph.Node) *step {
	op, values, params := b.operands(n)
	name := ""
	if len(params) > 0 {
		name = strings.TrimPrefix(params[0].Name, b.prefix)
	}
	var c float64
	switch {
	case op == "add":
		return &step{kind: stepSum, args: []*step{b.step(values[0]), b.step(values[1])}}
	case strings.HasPrefix(op, "dropout"):
		return b.step(values[0])
	case name == "attn.wo":
		return b.sublayer("A", values[0])
	case name == "ffn.down":
		return b.sublayer("M", values[0])
	case name != "" && params[0].Role == "norm":
		return &step{kind: stepNorm, name: name[:strings.LastIndexByte(name, '.')], args: []*step{b.step(values[0])}}
	case name != "" && params[0].Role == "residual_scale":
		return &step{kind: stepLearned, name: name, args: []*step{b.step(values[0])}}
	}
	if _, err := fmt.Sscanf(op, "scale{%g}", &c); err == nil {
		return &step{kind: stepScale, c: c, args: []*step{b.step(values[0])}}
	}
	s := &step{kind: stepOther, name: op}
	for _, v := range values {
		s.args = append(s.args, b.step(v))
	}
	return s
}

// sublayer goes from the last projection of a sub-layer down to what its first
// ones read, which must be one value.
func (b *blockReader) sublayer(name string, from *graph.Node) *step {
	s := &step{kind: stepSublayer, name: name}
	seen := map[*graph.Node]bool{}
	var down func(n *graph.Node)
	down = func(n *graph.Node) {
		if seen[n] {
			return
		}
		seen[n] = true
		op, values, params := b.operands(n)
		if strings.HasPrefix(op, "attention{") {
			b.built.attentionWidth = values[0].Shape()[2]
		}
		for _, p := range params {
			if p.Role == "norm" {
				b.innerNorm(p.Name)
			}
			if p.Layer >= 0 && len(p.Shape) == 2 { // a first projection
				if arg := b.step(values[0]); len(s.args) == 0 || s.args[0] != arg {
					s.args = append(s.args, arg)
				}
				return
			}
		}
		for _, v := range values {
			if v.Op() != nil { // not a table
				down(v)
			}
		}
	}
	down(from)
	return s
}

// innerNorm notes a norm within a sub-layer.
func (b *blockReader) innerNorm(param string) {
	name := strings.TrimPrefix(param[:strings.LastIndexByte(param, '.')], b.prefix)
	where := map[string]string{
		"attn.q_norm": "on the queries", "attn.k_norm": "on the keys", "attn.v_norm": "on the values",
		"attn.inner_norm": "before the output projection", "ffn.inner_norm": "before the down projection",
	}[name]
	if n := (NormAttestation{name, where}); !slices.Contains(b.inner, n) {
		b.inner = append(b.inner, n)
	}
}
