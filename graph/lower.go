package graph

import (
	"fmt"
	"slices"
)

// value is one value of a program under compilation: a leaf or a call's result.
type value struct {
	*Buffer
	name string // of a leaf, an output or a parameter's gradient, for dumps

	def  *call   // nil for a leaf
	uses []*call // one entry for each operand that reads it
	keep bool    // an output, alive to the end
	home bool    // its memory is given: a leaf's, or a parameter's gradient

	squares []float64 // of a parameter's gradient, see Call.Squares

	life life // filled in by the scheduler
}

// call is one operation of the program under compilation.
type call struct {
	op      Op
	in, out []*value
	pos     int // in topological order
	// backward says that the call depends on the seed of the gradients.
	backward bool
	bound    *Call
}

// lowered is a graph as calls on values, in topological order.
type lowered struct {
	g       *Graph
	calls   []*call
	values  map[*Node]*value
	outputs map[string]*value
	grads   map[*ParamSpec]*value
}

// lower turns the part of the graph that outputs and gradients need into
// calls. Packed nodes disappear: a slot node is a result of its call. Nodes
// are visited in the order of their creation, which is a topological order.
func lower(g *Graph) (*lowered, error) {
	l := &lowered{g: g, values: map[*Node]*value{}, outputs: map[string]*value{}, grads: map[*ParamSpec]*value{}}
	for _, n := range g.needed() {
		if err := l.node(n); err != nil {
			return nil, err
		}
	}
	for _, name := range g.outputOrder {
		v := l.values[g.outputs[name]]
		v.keep = true
		if v.def != nil { // an input keeps its own name
			v.name = name
		}
		l.outputs[name] = v
	}
	for _, p := range g.params {
		if n := g.grads[p]; n != nil {
			l.grads[p] = l.gradient(l.values[n])
			l.grads[p].name = "d " + p.Name
		}
	}
	for i, c := range l.calls {
		c.pos = i
	}
	return l, nil
}

// needed lists the nodes that outputs and gradients depend on, in the order of
// their creation.
func (g *Graph) needed() []*Node {
	seen := map[*Node]bool{}
	var stack, all []*Node
	push := func(n *Node) {
		if !seen[n] {
			seen[n] = true
			stack = append(stack, n)
			all = append(all, n)
		}
	}
	for _, n := range g.outputs {
		push(n)
	}
	for _, n := range g.grads {
		push(n)
	}
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, c := range children(g.expr, n) {
			push(c)
		}
	}
	slices.SortFunc(all, func(a, b *Node) int { return int(a.ID() - b.ID()) })
	return all
}

func (l *lowered) node(n *Node) error {
	in := children(l.g.expr, n)
	switch op := n.Op().(type) {
	case nil:
		l.values[n] = newValue(n.Shape(), n.Dtype(), nil)
		l.values[n].name, l.values[n].home = n.Name(), true
	case *nodeOp:
		switch o := op.op.(type) {
		case *slotOp:
			l.values[n] = l.values[in[0]].def.out[o.i]
		case *packOp:
			return fmt.Errorf("graph: %v is read by an operation", o)
		default:
			l.call(n, op.op, in, op.out)
		}
	default:
		if !isSum(n) {
			return fmt.Errorf("graph: %v is none of this package's operations", op)
		}
		l.call(n, Sum{}, in, []Shape{n.Shape()})
	}
	return nil
}

func (l *lowered) call(n *Node, op Op, in []*Node, out []Shape) {
	c := &call{op: op}
	for _, x := range in {
		v := l.values[x]
		c.in = append(c.in, v)
		v.uses = append(v.uses, c)
		c.backward = c.backward || x == l.g.seed || v.def != nil && v.def.backward
	}
	for _, s := range out {
		c.out = append(c.out, newValue(s, l.g.dtype, c))
	}
	l.values[n] = c.out[0]
	l.calls = append(l.calls, c)
}

func newValue(s Shape, dt Dtype, def *call) *value {
	return valueOn(newBuffer(s, dt), def)
}

func valueOn(b *Buffer, def *call) *value {
	b.v = &value{Buffer: b, def: def}
	return b.v
}
