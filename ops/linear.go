package ops

import (
	"fmt"

	"ablate/graph"
	"ablate/ops/kernel"
)

// Linear is y = x·Wᵀ + b over the last axis.
//
//	x (…, in)   w [out, in]   b [out], nil for none   y (…, out)
//
// The weight is packed once a run; then every sequence is multiplied by
// itself. Where there are only a few rows in all, it is read in place. A
// residual sum is added in the epilogue of the product, and activations, gates
// and other element-wise operations that read y are computed on blocks of it
// that are still in the cache.
func Linear(x, w, b *graph.Node) *graph.Node {
	if b == nil {
		return graph.Apply1(linear{}, x, w)
	}
	return graph.Apply1(linear{bias: true}, x, w, b)
}

// linear has operands x, w, the bias and the addend if there are any, and
// those of the stages.
type linear struct {
	bias, addend bool
	stages       stages
}

func (o linear) String() string {
	s := "linear"
	if o.addend {
		s += " plus"
	}
	return s + o.stages.String()
}

// plain is the number of operands before the addend.
func (o linear) plain() int {
	if o.bias {
		return 3
	}
	return 2
}

// operands is the number of all operands.
func (o linear) operands() int {
	n := o.plain() + o.stages.operands()
	if o.addend {
		n++
	}
	return n
}

func (o linear) Infer(in []graph.Shape) ([]graph.Shape, error) {
	x, w := in[0], in[1]
	if err := wantRows("x", x); err != nil {
		return nil, err
	}
	if len(w) != 2 || w[1] != width(x) {
		return nil, fmt.Errorf("the weight has shape %v, (out, %d) is wanted for x of width %d", w, width(x), width(x))
	}
	if o.bias {
		if err := wantVector("the bias", in[2], w[0]); err != nil {
			return nil, err
		}
	}
	y := withWidth(x, w[0])
	if o.addend {
		if err := wantEqual("the addend", y, in[o.plain()]); err != nil {
			return nil, err
		}
	}
	return o.stages.infer(y, in)
}

// Alias lets the result take the place of the addend, and those of stages the
// places of their operands.
func (o linear) Alias(slot int) int {
	if o.addend && slot == 0 {
		return o.plain()
	}
	return o.stages.alias(slot)
}

func (o linear) Bind(c *graph.Call) []graph.Task {
	return graph.Typed(c, bindLinear[float32], bindLinear[float64])(c, o)
}

const (
	// packGroup is the number of panels of a weight that one part packs.
	packGroup = 4
	// pastCaches is the size in bytes of a float32 weight whose panels are not in the second-level cache any more when they are
	// read, a phase later.
	pastCaches = 1 << 20
)

func bindLinear[T graph.Float](c *graph.Call, o linear) []graph.Task {
	x, w := c.In(0), c.In(1)
	if height(x.Shape()) <= fewRows {
		return []graph.Task{linearOfFewRows[T](c, o)}
	}
	packed, pack := packWeight[T](c, w)
	mul := c.Rows(runLinear[T](c, o, packed))
	mul.Reads = []*graph.Buffer{x, packed}
	mul.Whole = []*graph.Buffer{packed}
	for i := 2; i < c.Operands(); i++ {
		mul.Reads = append(mul.Reads, c.In(i))
	}
	if o.bias {
		mul.Whole = append(mul.Whole, c.In(2))
	}
	return []graph.Task{pack, mul}
}

// packWeight is the task that packs a weight [out, in] as the right-hand side of
// x·Wᵀ, and the scratch memory that it packs it into.
func packWeight[T graph.Float](c *graph.Call, w *graph.Buffer) (packed *graph.Buffer, pack graph.Task) {
	out, in := w.Shape()[0], w.Shape()[1]
	packed = c.Scratch(kernel.PackedLen(in, out))
	panels, packT := blocks(out, kernel.PanelWidth), kernel.PackT[T]
	if 4*out*in >= pastCaches {
		packT = kernel.PackTPast[T]
	}
	return packed, graph.Task{
		Parts: blocks(panels, packGroup),
		Reads: []*graph.Buffer{w}, Writes: []*graph.Buffer{packed},
		Run: func(part int, _ *graph.Worker) {
			p0 := part * packGroup
			packT(graph.Slice[T](packed), graph.Slice[T](w), in, in, out, p0, min(p0+packGroup, panels))
		},
	}
}

func runLinear[T graph.Float](c *graph.Call, o linear, packed *graph.Buffer) func(part, parts int, wk *graph.Worker) {
	out, in := c.In(1).Shape()[0], c.In(1).Shape()[1]
	bound := bindStages[T](c, o.stages)
	c.Local(chunkTmp)
	return func(part, parts int, wk *graph.Worker) {
		x, y := graph.Part[T](c.In(0), part, parts), graph.Part[T](c.Out(0), part, parts)
		e := kernel.Epilogue[T]{Ahead: wk}
		if o.bias {
			e.Bias = graph.Slice[T](c.In(2))
		}
		var addend []T
		if o.addend {
			addend, e.LdAddend = graph.Part[T](c.In(o.plain()), part, parts), out
		}
		byBlocks(bound, part, parts, len(x)/in, out, graph.Local[T](wk, chunkTmp), func(r0, r1, c0, c1 int) {
			if addend != nil {
				e.Addend = addend[r0*out : r1*out]
			}
			kernel.MulPacked(r1-r0, out, in, x[r0*in:r1*in], in, graph.Slice[T](packed), y[r0*out:r1*out], out, c0, c1, e)
		})
	}
}

// Grad is dx = dy·W, dW = dyᵀ·x and db = Σ dy over all rows, the last two in
// one operation. Fusing comes after differentiation, so o is a plain product.
func (o linear) Grad(in, _, dout []*graph.Node) []*graph.Node {
	d := []*graph.Node{graph.Apply1(linearDX{}, dout[0], in[1])}
	return append(d, graph.Apply(linearDW{bias: o.bias}, dout[0], in[0])...)
}

// Fuse takes in a sum, for the epilogue, or any element-wise operation.
func (o linear) Fuse(next graph.Op, arg, slot int, keep bool) (graph.Op, bool) {
	if _, ok := next.(graph.Sum); ok && !keep && !o.addend && len(o.stages) == 0 {
		o.addend = true
		return o, true
	}
	var ok bool
	o.stages, ok = o.stages.fuse(next, arg, slot, keep, o.operands())
	return o, ok
}
