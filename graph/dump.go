package graph

import (
	"fmt"
	"io"
	"strings"
)

// Dump writes the symbolic graph as text, a line a node that outputs and
// gradients need: its number, shape, operation and operands.
func (g *Graph) Dump(w io.Writer) error {
	for _, n := range g.needed() {
		var in []string
		for _, c := range children(g.expr, n) {
			in = append(in, fmt.Sprint("%", c.ID()))
		}
		if _, err := fmt.Fprintf(w, "%%%d %v = %s\n", n.ID(), n.Shape(), strings.TrimSuffix(g.label(n)+"("+strings.Join(in, ", ")+")", "()")); err != nil {
			return err
		}
	}
	return nil
}

// DOT writes the symbolic graph in Graphviz's language: parameters as boxes,
// inputs as ellipses, operations as plain text, outputs marked.
func (g *Graph) DOT(w io.Writer) error {
	outputs := map[*Node][]string{}
	for _, name := range g.outputOrder {
		outputs[g.outputs[name]] = append(outputs[g.outputs[name]], name)
	}
	var b strings.Builder
	b.WriteString("digraph ablate {\n  rankdir=BT;\n  node [fontname=\"sans-serif\" fontsize=10];\n")
	for _, n := range g.needed() {
		shape := "plaintext"
		if n.Op() == nil {
			shape = "ellipse"
			if g.paramOf[n] != nil {
				shape = "box"
			}
		}
		label := fmt.Sprintf("%s\n%v", g.label(n), n.Shape())
		if names := outputs[n]; names != nil {
			label += "\n→ " + strings.Join(names, ", ")
		}
		fmt.Fprintf(&b, "  n%d [shape=%s label=%q];\n", n.ID(), shape, label)
		for _, c := range children(g.expr, n) {
			fmt.Fprintf(&b, "  n%d -> n%d;\n", c.ID(), n.ID())
		}
	}
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func (g *Graph) label(n *Node) string {
	switch op := n.Op().(type) {
	case nil:
		return n.Name()
	case *nodeOp:
		return op.String()
	}
	return Sum{}.String()
}

// Dump writes the plan as text: a line a task with its phase, parts and the
// memory that it reads and writes.
func (p *Plan) Dump(w io.Writer) error {
	for _, t := range p.schedule.tasks {
		kind := "all"
		if t.Rows {
			kind = "rows"
		}
		if _, err := fmt.Fprintf(w, "%3d %s/%d %s: %s → %s\n", t.phase, kind, t.Parts, t.label, places(t.reads), places(t.writes)); err != nil {
			return err
		}
	}
	return nil
}

func places(vs []*value) string {
	var s []string
	for _, v := range vs {
		name := v.name
		if name == "" {
			name = "·"
		}
		s = append(s, fmt.Sprintf("%s%v", name, v.shape))
	}
	return strings.Join(s, " ")
}
