package graph

import (
	"fmt"
	"hash"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// nodeOp is an Op as Gorgonia sees it. Gorgonia's nodes have one value, so
// several results are packed into one vector, and slot nodes name its parts;
// the planner gives every slot memory of its own and never packs anything.
type nodeOp struct {
	op     Op
	g      *Graph
	id     uint32
	typ    hm.Type
	in     []Shape
	out    []Shape
	packed Shape
	grad   []bool
}

var (
	_ gorgonia.Op   = (*nodeOp)(nil)
	_ gorgonia.SDOp = (*nodeOp)(nil)
)

// saltStep keeps the op numbers of differently salted graphs apart.
const saltStep = 1 << 24

func (g *Graph) apply(op Op, in []*Node, out []Shape) []*Node {
	g.nops++
	o := &nodeOp{op: op, g: g, id: g.salt + g.nops, out: out, packed: packedShape(out)}
	types := make([]hm.Type, len(in)+1)
	o.grad = make([]bool, len(in))
	_, differentiable := op.(Differentiable)
	fixed, _ := op.(FixedOperands)
	for i, n := range in {
		o.in = append(o.in, n.Shape())
		types[i] = n.Type()
		o.grad[i] = differentiable && n.Dtype() != Int32 && (fixed == nil || !fixed.Fixed(i))
	}
	types[len(in)] = gorgonia.TensorType{Dims: len(o.packed), Of: g.dtype}
	o.typ = hm.NewFnType(types...)
	n, err := gorgonia.ApplyOp(o, in...)
	if err != nil {
		panic(&Error{Op: op.String(), Shapes: o.in, Err: err})
	}
	if len(out) == 1 {
		return []*Node{n}
	}
	slots := make([]*Node, len(out))
	for i := range out {
		slots[i] = g.apply(&slotOp{out, i}, []*Node{n}, []Shape{out[i]})[0]
	}
	return slots
}

// packedShape is the shape of the one node that carries all results.
func packedShape(out []Shape) Shape {
	if len(out) == 1 {
		return out[0]
	}
	n := 0
	for _, s := range out {
		n += elements(s)
	}
	return Shape{n}
}

func (o *nodeOp) Arity() int           { return len(o.in) }
func (o *nodeOp) Type() hm.Type        { return o.typ.(*hm.FunctionType).Clone().(hm.Type) }
func (o *nodeOp) String() string       { return o.op.String() }
func (o *nodeOp) ReturnsPtr() bool     { return false }
func (o *nodeOp) CallsExtern() bool    { return false }
func (o *nodeOp) OverwritesInput() int { return -1 }

// Hashcode is the op's number. Gorgonia merges nodes whose hashes collide
// without comparing operands; a number of its own keeps every node apart.
func (o *nodeOp) Hashcode() uint32      { return o.id }
func (o *nodeOp) WriteHash(h hash.Hash) { fmt.Fprintf(h, "op %d", o.id) }

func (o *nodeOp) InferShape(...gorgonia.DimSizer) (tensor.Shape, error) {
	return o.packed.Clone(), nil
}

func (o *nodeOp) DiffWRT(int) []bool { return o.grad }

// SymDiff asks the op for its gradients, and notes them for checkSums.
func (o *nodeOp) SymDiff(in gorgonia.Nodes, out, grad *Node) (gorgonia.Nodes, error) {
	outs, douts := []*Node{out}, []*Node{grad}
	if len(o.out) > 1 {
		outs, douts = make([]*Node, len(o.out)), make([]*Node, len(o.out))
		o.unpack(grad, douts)
		for i := range outs {
			outs[i] = o.slotNode(out, i)
		}
	}
	d := o.op.(Differentiable).Grad(in, outs, douts)
	if len(d) != len(in) {
		panic(&Error{Op: o.String(), Shapes: o.in, Err: fmt.Errorf("the gradient has %d parts for %d operands", len(d), len(in))})
	}
	for i, n := range in {
		switch {
		case !o.grad[i]:
			continue
		case d[i] == nil:
			panic(&Error{Op: o.String(), Shapes: o.in, Err: fmt.Errorf("no gradient for operand %d", i)})
		case !d[i].Shape().Eq(n.Shape()):
			panic(&Error{Op: o.String(), Shapes: o.in, Err: fmt.Errorf("the gradient of operand %d has shape %v", i, d[i].Shape())})
		}
		o.g.contributions[n] = append(o.g.contributions[n], d[i])
	}
	return d, nil
}

// unpack finds the gradients of single results in the gradient of the packed
// node: a sum of packOps, one for each result that the loss depends on. If it
// is anything else, Gorgonia took another sum for it.
func (o *nodeOp) unpack(n *Node, douts []*Node) {
	in := children(o.g.expr, n)
	if isSum(n) {
		o.unpack(in[0], douts)
		o.unpack(in[1], douts)
		return
	}
	if o, ok := n.Op().(*nodeOp); ok {
		if p, ok := o.op.(*packOp); ok {
			douts[p.i] = in[0]
			return
		}
	}
	panic(&Error{Op: o.String(), Err: errCollision})
}

// slotNode finds the node of result i among those that read the packed node.
func (o *nodeOp) slotNode(packed *Node, i int) *Node {
	for it := o.g.expr.To(packed.ID()); it.Next(); {
		n := it.Node().(*Node)
		if s, ok := n.Op().(*nodeOp); ok {
			if s, ok := s.op.(*slotOp); ok && s.i == i {
				return n
			}
		}
	}
	panic("graph: a result without a node")
}

// slotOp is result i of an op with several.
type slotOp struct {
	all []Shape
	i   int
}

func (o *slotOp) String() string                 { return fmt.Sprintf("result %d", o.i) }
func (o *slotOp) Infer([]Shape) ([]Shape, error) { return []Shape{o.all[o.i]}, nil }
func (o *slotOp) Grad(_, _, dout []*Node) []*Node {
	return Apply(&packOp{o.all, o.i}, dout[0])
}

// Bind serves Gorgonia's own machines only: the planner resolves slots.
func (o *slotOp) Bind(c *Call) []Task {
	return []Task{{Parts: 1, Run: Typed(c, copySlot[float32], copySlot[float64])(c, o, true)}}
}

// packOp is the gradient of a packed node with respect to one of its results:
// zero but for that part. It only carries a gradient to the op that takes it
// apart again and never runs in a program.
type packOp struct {
	all []Shape
	i   int
}

func (o *packOp) String() string                 { return fmt.Sprintf("gradient of result %d", o.i) }
func (o *packOp) Infer([]Shape) ([]Shape, error) { return []Shape{packedShape(o.all)}, nil }
func (o *packOp) Bind(c *Call) []Task {
	return []Task{{Parts: 1, Run: Typed(c, copySlot[float32], copySlot[float64])(c, &slotOp{o.all, o.i}, false)}}
}

func copySlot[T Float](c *Call, s *slotOp, out bool) func(int, *Worker) {
	off := 0
	for _, sh := range s.all[:s.i] {
		off += elements(sh)
	}
	n := elements(s.all[s.i])
	return func(int, *Worker) {
		src, dst := Slice[T](c.In(0)), Slice[T](c.Out(0))
		if out {
			copy(dst, src[off:off+n])
			return
		}
		clear(dst)
		copy(dst[off:off+n], src)
	}
}

// Do runs the op by itself on freshly allocated memory, for Gorgonia's own
// machines.
func (o *nodeOp) Do(vs ...gorgonia.Value) (gorgonia.Value, error) {
	out := tensor.New(tensor.WithShape(o.packed.Clone()...), tensor.Of(o.g.dtype))
	return out, o.run(out, vs)
}

func (o *nodeOp) run(out *tensor.Dense, vs []gorgonia.Value) error {
	c := &Call{op: o.op, dtype: o.g.dtype}
	for i, v := range vs {
		b, err := denseBuffer(v, o.in[i])
		if err != nil {
			return fmt.Errorf("%v: operand %d: %w", o, i, err)
		}
		c.in = append(c.in, b)
	}
	all, err := denseBuffer(out, o.packed)
	if err != nil {
		return err
	}
	off := 0
	for _, s := range o.out {
		b := newBuffer(s, o.g.dtype)
		b.ptr = addBytes(all.ptr, off)
		off += b.bytes()
		c.out = append(c.out, b)
	}
	c.runAlone()
	return nil
}

// runAlone runs a call's tasks one after the other, part by part.
func (c *Call) runAlone() {
	tasks := c.op.Bind(c)
	for _, b := range c.aux {
		m := alignedBytes(b.bytes())
		b.ptr = base(m)
	}
	w := &Worker{local: alignedBytes(c.local)}
	for _, t := range tasks {
		for i := range t.Parts {
			t.Run(i, w)
		}
	}
}
