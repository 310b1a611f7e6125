package ops

import (
	"fmt"
	"strings"

	"ablate/graph"
	"ablate/ops/kernel"
)

// headLoss is the end of a model in one operation: a linear product, the
// element-wise operations that make logits of it, their cross-entropy and, in a
// training step, the gradient of all that. The planner puts it in the place of
// those operations, see crossEntropy.Enclose. The logits are never together:
//
//   - Without gradient, the work is split by chunks of the vocabulary. Of a chunk
//     stay the maximum of every row, its sum of exponentials and the logit of its
//     target.
//   - With gradient, it goes by blocks of a few hundred rows. A block's logits
//     turn into their own gradient, and all that depends on it is computed, before
//     the next block takes their place. Nothing is computed twice, and the memory
//     does not grow with the batch.
//
// Every sum is taken in the order in which the operations by themselves take it,
// so that the results are theirs to the bit.
//
// Operands: x (…, D), W [V, D], the bias of the product if it has one, targets,
// and dloss if there is a gradient. Results: nll, loss, and dx and dW, db as far as
// they are wanted.
type headLoss struct {
	bias   bool
	steps  []pointwise // from the product to the logits
	grad   bool
	back   []backStep // from the gradient of the logits to that of the product
	dx, dw bool
}

// backStep is the gradient of a step, whose first operand is what arrives.
type backStep struct {
	op   pointwise
	from []int // the other operands: 0 is the product, i the result of step i-1
}

// maxSteps bounds the steps between a product and its cross-entropy.
const maxSteps = 4

func (o headLoss) String() string {
	var b strings.Builder
	b.WriteString("crossEntropy of linear")
	for _, s := range o.steps {
		fmt.Fprintf(&b, " then %v", s)
	}
	if o.grad {
		b.WriteString(" with gradient")
	}
	return b.String()
}

// targets is the operand that holds the targets; dloss comes after it.
func (o headLoss) targets() int {
	if o.bias {
		return 3
	}
	return 2
}

func (o headLoss) Infer(in []graph.Shape) ([]graph.Shape, error) {
	logits, err := linear{bias: o.bias}.Infer(in)
	if err != nil {
		return nil, err
	}
	loss, err := crossEntropy{}.Infer([]graph.Shape{logits[0], in[o.targets()]})
	if err != nil {
		return nil, err
	}
	out := []graph.Shape{loss[0], loss[2]}
	if o.dx {
		out = append(out, in[0])
	}
	if o.dw {
		out = append(out, in[1:o.targets()]...)
	}
	return out, nil
}

func (o headLoss) Bind(c *graph.Call) []graph.Task {
	return graph.Typed(c, bindHeadLoss[float32], bindHeadLoss[float64])(c, o)
}

func bindHeadLoss[T graph.Float](c *graph.Call, o headLoss) []graph.Task {
	h := &boundHeadLoss[T]{headLoss: o, c: c, rows: height(c.In(0).Shape()), d: width(c.In(0).Shape()), v: c.In(1).Shape()[0]}
	for _, s := range o.steps {
		h.f = append(h.f, mapOf[T](s))
	}
	for _, s := range o.back {
		h.df = append(h.df, mapOf[T](s.op))
	}
	tasks := h.lossAlone
	if o.grad {
		tasks = h.withGradient
	}
	return append(tasks(), sumOfLosses[T](c.Out(0), c.Out(1)))
}

// boundHeadLoss is a headLoss with its buffers and sizes.
type boundHeadLoss[T graph.Float] struct {
	headLoss
	c          *graph.Call
	rows, d, v int
	f, df      []mapFunc[T] // of steps and of back
}

// operands are the buffers that the product reads.
func (h *boundHeadLoss[T]) operands() []*graph.Buffer {
	all := make([]*graph.Buffer, h.headLoss.targets())
	for i := range all {
		all[i] = h.c.In(i)
	}
	return all
}

// targets is the buffer of the targets, and dloss that of the gradient of the loss.
func (h *boundHeadLoss[T]) targets() *graph.Buffer { return h.c.In(h.headLoss.targets()) }
func (h *boundHeadLoss[T]) dloss() *graph.Buffer   { return h.c.In(h.headLoss.targets() + 1) }

// pack packs the rows [c0, c1) of the weight, which make these columns of the
// product.
func (h *boundHeadLoss[T]) pack(packed []T, c0, c1 int) {
	w := graph.Slice[T](h.c.In(1))[c0*h.d : c1*h.d]
	kernel.PackT(packed, w, h.d, h.d, c1-c0, 0, blocks(c1-c0, kernel.PanelWidth))
}

// product computes columns [c0, c1) of the product for rows [r0, r1), from what
// pack made, and writes them to z, whose rows are ld apart.
func (h *boundHeadLoss[T]) product(z []T, ld, r0, r1, c0, c1 int, packed []T) {
	var e kernel.Epilogue[T]
	if h.bias {
		e.Bias = graph.Slice[T](h.c.In(2))[c0:c1]
	}
	x := graph.Slice[T](h.c.In(0))[r0*h.d : r1*h.d]
	kernel.MulPacked(r1-r0, c1-c0, h.d, x, h.d, packed, z, ld, 0, c1-c0, e)
}

// apply computes y = f(in), a chunk at a time.
func apply[T graph.Float](f mapFunc[T], y []T, in pieces[T], tmp []T) {
	for lo := 0; lo < len(y); lo += chunk {
		hi := min(lo+chunk, len(y))
		f(pieces[T]{y[lo:hi]}, in.cut(lo, hi), tmp)
	}
}
