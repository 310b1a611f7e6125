package graph

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"gorgonia.org/gorgonia"
)

// Graph is a symbolic expression with named inputs, parameters and outputs.
type Graph struct {
	expr  *gorgonia.ExprGraph
	dtype Dtype
	salt  uint32 // starts the numbering of ops; another one avoids a hash collision
	nops  uint32

	names       map[string]bool
	params      []*ParamSpec
	paramOf     map[*Node]*ParamSpec
	inputs      map[string]*Node
	tables      map[*Node][]float64
	intTables   map[*Node][]int32
	outputs     map[string]*Node
	outputOrder []string

	contributions map[*Node][]*Node    // of the gradient, as the ops returned them
	grads         map[*ParamSpec]*Node // ∂loss/∂parameter
	seed          *Node                // of the gradients, nil without
	boundaries    []*Node              // kept when blocks are recomputed
}

// current is the graph under construction: Gorgonia's own state is not safe
// for concurrent construction, so there is one at a time.
var (
	buildMu sync.Mutex
	current *Graph
)

func building() *Graph {
	if current == nil {
		panic("graph: an operation was applied outside of Build")
	}
	return current
}

// errCollision reports that Gorgonia took two different sums for the same.
var errCollision = errors.New("graph: hash collision between sums of gradients")

// maxSalts bounds the attempts to get around a hash collision. One in about a
// thousand large graphs has one, so two attempts nearly always do.
const maxSalts = 8

// Build runs f, which declares inputs and applies operations below the root
// scope, and returns the graph. It is the only place that recovers from a
// panic with an *Error. f may run more than once and must build the same
// graph each time.
func Build(dt Dtype, f func(s *Scope)) (*Graph, error) {
	if dt != Float32 && dt != Float64 {
		return nil, fmt.Errorf("graph: element type %v: float32 and float64 are allowed", dt)
	}
	buildMu.Lock()
	defer buildMu.Unlock()
	for salt := range uint32(maxSalts) {
		g, err := build(dt, salt, f)
		if !errors.Is(err, errCollision) {
			return g, err
		}
	}
	return nil, errCollision
}

func build(dt Dtype, salt uint32, f func(s *Scope)) (g *Graph, err error) {
	g = &Graph{
		expr: gorgonia.NewGraph(), dtype: dt, salt: salt * saltStep,
		names: map[string]bool{}, paramOf: map[*Node]*ParamSpec{}, inputs: map[string]*Node{},
		tables: map[*Node][]float64{}, intTables: map[*Node][]int32{}, outputs: map[string]*Node{},
		contributions: map[*Node][]*Node{}, grads: map[*ParamSpec]*Node{},
	}
	current = g
	defer func() {
		current = nil
		switch r := recover().(type) {
		case nil:
		case *Error:
			g, err = nil, r
		default:
			panic(r)
		}
	}()
	f(&Scope{g: g})
	return g, g.checkSums()
}

// leaf makes an input node, refusing a name that is taken.
func (g *Graph) leaf(name string, dt Dtype, shape Shape) *Node {
	if g.names[name] {
		panic(&Error{Name: name, Err: errors.New("an input of this name exists")})
	}
	if len(shape) == 0 {
		panic(&Error{Name: name, Err: errors.New("an input needs a shape; a number has shape (1)")})
	}
	for _, d := range shape {
		if d < 1 {
			panic(&Error{Name: name, Shapes: []Shape{shape}, Err: errors.New("every size must be at least 1")})
		}
	}
	g.names[name] = true
	return gorgonia.NewTensor(g.expr, dt, len(shape), gorgonia.WithName(name), gorgonia.WithShape(shape...))
}

// Gradients differentiates loss, a value of shape (1), with respect to every
// parameter and to the given hidden nodes, in the one call that a graph may
// have. seed, of the same shape, is the derivative of what is minimised by
// loss: with a loss that sums over tokens, one over their number gives the
// gradient of the mean. The gradients of parameters land in Params; those of
// the hidden nodes are returned.
func (s *Scope) Gradients(loss, seed *Node, hidden ...*Node) []*Node {
	g := s.g
	if g.seed != nil { // Gorgonia keeps a node's derivative, of the first loss, with the node
		panic(&Error{Op: "gradients", Err: errors.New("asked for twice in one graph")})
	}
	if !seed.Shape().Eq(loss.Shape()) {
		panic(&Error{Op: "gradients", Shapes: []Shape{loss.Shape(), seed.Shape()}, Err: errors.New("loss and seed must have one shape")})
	}
	g.seed = seed
	wrt := slices.Clone(gorgonia.Nodes(hidden))
	nodes := make(map[*ParamSpec]*Node, len(g.paramOf))
	for n, p := range g.paramOf {
		nodes[p] = n
	}
	for _, p := range g.params {
		wrt = append(wrt, nodes[p])
	}
	d, err := gorgonia.Backpropagate(gorgonia.Nodes{loss}, gorgonia.Nodes{seed}, wrt)
	if err != nil {
		panic(&Error{Op: "gradients", Err: fmt.Errorf("some parameter or hidden node does not reach the loss: %w", err)})
	}
	for i, p := range g.params {
		g.grads[p] = d[len(hidden)+i]
	}
	return d[:len(hidden)]
}

// checkSums makes sure that Gorgonia, which recognises nodes by a 32-bit hash,
// did not merge two different sums of gradients. The nodes of this package's
// own operations cannot merge: each has a number of its own.
func (g *Graph) checkSums() error {
	for n, terms := range g.contributions {
		d := n.Deriv()
		if d == nil || len(terms) < 2 {
			continue
		}
		for i := len(terms) - 1; i > 0; i-- {
			in := children(g.expr, d)
			if !isSum(d) || len(in) != 2 || in[1] != terms[i] {
				return errCollision
			}
			d = in[0]
		}
		if d != terms[0] {
			return errCollision
		}
	}
	return nil
}

// Dtype is the type of the graph's floating-point values.
func (g *Graph) Dtype() Dtype { return g.dtype }

// Params lists the parameters in the order of their declaration.
func (g *Graph) Params() []*ParamSpec { return slices.Clone(g.params) }

// Inputs lists the names of the inputs, sorted.
func (g *Graph) Inputs() []string { return slices.Sorted(maps.Keys(g.inputs)) }

// Outputs lists the names of the outputs in the order of their declaration.
func (g *Graph) Outputs() []string { return slices.Clone(g.outputOrder) }

// Expr is the underlying expression, for Gorgonia's own machines: the oracle
// of the tests.
func (g *Graph) Expr() *gorgonia.ExprGraph { return g.expr }

// OpOf is the operation that n is the result of: for one of several results, the
// operation that has them. It is nil for an input.
func (g *Graph) OpOf(n *Node) Op {
	switch o := n.Op().(type) {
	case nil:
		return nil
	case *nodeOp:
		if _, ok := o.op.(*slotOp); ok {
			return g.OpOf(children(g.expr, n)[0])
		}
		return o.op
	}
	return Sum{}
}

// children are the operands of n in order, with repetitions.
func children(g *gorgonia.ExprGraph, n *Node) []*Node {
	it := g.From(n.ID())
	if it == nil {
		return nil
	}
	out := make([]*Node, 0, max(it.Len(), 0))
	for it.Next() {
		out = append(out, it.Node().(*Node))
	}
	return out
}

// GradNodes gives the node of every parameter's gradient, by the parameter's
// name.
func (g *Graph) GradNodes() map[string]*Node {
	out := map[string]*Node{}
	for p, n := range g.grads {
		out[p.Name] = n
	}
	return out
}
