package graph

import "fmt"

// Op is one operation. Its hyper-parameters are fields of the implementing
// type; its operands are nodes. An Op may have several results, which the
// symbolic graph packs into one node and the planner keeps apart.
type Op interface {
	// String names the kind and its hyper-parameters, for dumps and errors.
	fmt.Stringer
	// Infer gives the shape of every result for the shapes of the operands, or
	// says what does not fit.
	Infer(in []Shape) ([]Shape, error)
	// Bind describes the work of one call. It runs once, at compile time;
	// buffers have no memory yet, so tasks take slices of them when they run.
	Bind(c *Call) []Task
}

// Differentiable is an Op that has a gradient.
type Differentiable interface {
	Op
	// Grad gives ∂loss/∂operand for every operand, nil for a Fixed one. dout
	// holds ∂loss/∂result for every result, nil where the loss does not
	// depend on it.
	Grad(in, out, dout []*Node) []*Node
}

// FixedOperands is a Differentiable that has no gradient for some of its
// floating-point operands, such as tables. Integer operands are always fixed.
type FixedOperands interface {
	Fixed(operand int) bool
}

// Fuser is an Op that can take an operation that reads its result into itself.
type Fuser interface {
	// Fuse gives the operation that computes next(…, result, …) along with the
	// receiver, where result number slot is next's operand number arg. keep
	// says that others read the result too, so that it must still be written.
	//
	// The fused operation's operands are the receiver's followed by next's
	// others. Its results are the receiver's followed by next's; unless keep, next's
	// first stands in the place of the one at slot.
	Fuse(next Op, arg, slot int, keep bool) (Op, bool)
}

// Aliaser is an Op that can write a result over one of its operands.
type Aliaser interface {
	// Alias names the operand whose memory result slot may take over when
	// nobody reads that operand afterwards, or -1. The planner does not do it
	// where the call reads the same value as another operand too.
	Alias(slot int) int
}

// Error is what is wrong with an application of an operation. Building panics
// with it; Build returns it.
type Error struct {
	Op     string  // the operation, or "" for a fault of naming
	Name   string  // the scope or name at fault, if known
	Shapes []Shape // the operands
	Err    error
}

func (e *Error) Error() string {
	s := e.Op
	if e.Name != "" {
		if s != "" {
			s += " "
		}
		s += e.Name
	}
	if len(e.Shapes) > 0 {
		s += fmt.Sprintf(" of %v", e.Shapes)
	}
	return s + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// Apply applies op and returns its results, one node each. It panics with an
// *Error if the operands do not fit; Build turns that into an error.
func Apply(op Op, in ...*Node) []*Node {
	g := building()
	shapes := make([]Shape, len(in))
	for i, n := range in {
		if n == nil {
			panic(&Error{Op: op.String(), Err: fmt.Errorf("operand %d is nil", i)})
		}
		if n.Graph() != g.expr {
			panic(&Error{Op: op.String(), Err: fmt.Errorf("operand %d belongs to another graph", i)})
		}
		shapes[i] = n.Shape()
	}
	out, err := op.Infer(shapes)
	if err != nil {
		panic(&Error{Op: op.String(), Shapes: shapes, Err: err})
	}
	return g.apply(op, in, out)
}

// Apply1 applies an op that has one result.
func Apply1(op Op, in ...*Node) *Node { return Apply(op, in...)[0] }
