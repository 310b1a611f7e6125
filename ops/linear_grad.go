package ops

import (
	"fmt"

	"ablate/graph"
	"ablate/ops/kernel"
)

// linearDX is dx = dy·W, with operands dy (…, out), W [out, in], the addend if
// there is one, and those of the stages. The weight is read in place.
type linearDX struct {
	addend bool
	stages stages
}

func (o linearDX) String() string {
	s := "linearDX"
	if o.addend {
		s += " plus"
	}
	return s + o.stages.String()
}

func (o linearDX) operands() int {
	n := 2 + o.stages.operands()
	if o.addend {
		n++
	}
	return n
}

func (o linearDX) Infer(in []graph.Shape) ([]graph.Shape, error) {
	dy, w := in[0], in[1]
	if len(w) != 2 || w[0] != width(dy) {
		return nil, fmt.Errorf("the weight has shape %v, (%d, in) is wanted", w, width(dy))
	}
	dx := withWidth(dy, w[1])
	if o.addend {
		if err := wantEqual("the addend", dx, in[2]); err != nil {
			return nil, err
		}
	}
	return o.stages.infer(dx, in)
}

// Alias lets dx take the place of the addend, and the results of stages those of
// their operands.
func (o linearDX) Alias(slot int) int {
	if o.addend && slot == 0 {
		return 2
	}
	return o.stages.alias(slot)
}

func (o linearDX) Bind(c *graph.Call) []graph.Task {
	t := c.Rows(graph.Typed(c, runLinearDX[float32], runLinearDX[float64])(c, o))
	t.Whole = []*graph.Buffer{c.In(1)}
	return []graph.Task{t}
}

func runLinearDX[T graph.Float](c *graph.Call, o linearDX) func(part, parts int, wk *graph.Worker) {
	out, in := c.In(1).Shape()[0], c.In(1).Shape()[1]
	bound := bindStages[T](c, o.stages)
	c.Local(chunkTmp)
	return func(part, parts int, wk *graph.Worker) {
		dy, w, dx := graph.Part[T](c.In(0), part, parts), graph.Slice[T](c.In(1)), graph.Part[T](c.Out(0), part, parts)
		e := kernel.Epilogue[T]{Acc: o.addend, Ahead: wk}
		if o.addend && !c.Out(0).Same(c.In(2)) {
			copy(dx, graph.Part[T](c.In(2), part, parts))
		}
		byBlocks(bound, part, parts, len(dy)/out, in, graph.Local[T](wk, chunkTmp), func(r0, r1, c0, c1 int) {
			kernel.MulInPlace(r1-r0, c1-c0, out, dy[r0*out:r1*out], out, w[c0:], in, dx[r0*in+c0:], in, e)
		})
	}
}

// Fuse takes in the sum that adds dx to what reached x before, and the
// gradients of element-wise operations. A sum in which dx comes first is left
// to the contribution that comes last: nothing then waits.
func (o linearDX) Fuse(next graph.Op, arg, slot int, keep bool) (graph.Op, bool) {
	if _, ok := next.(graph.Sum); ok {
		if keep || arg == 0 || o.addend || len(o.stages) > 0 {
			return nil, false
		}
		o.addend = true
		return o, true
	}
	var ok bool
	o.stages, ok = o.stages.fuse(next, arg, slot, keep, o.operands())
	return o, ok
}

// linearDW is dW = dyᵀ·x and db = Σ dy over all rows, with operands dy
// (…, out), x (…, in), and the addend of dW if there is one. It is split by
// rows of dW.
type linearDW struct{ bias, addend bool }

func (o linearDW) String() string {
	if o.addend {
		return "linearDW plus"
	}
	return "linearDW"
}

func (o linearDW) Infer(in []graph.Shape) ([]graph.Shape, error) {
	dy, x := in[0], in[1]
	dw := graph.Shape{width(dy), width(x)}
	if height(dy) != height(x) {
		return nil, fmt.Errorf("dy has %d rows, x %d", height(dy), height(x))
	}
	if o.addend {
		if err := wantEqual("the addend", dw, in[2]); err != nil {
			return nil, err
		}
	}
	if o.bias {
		return []graph.Shape{dw, {width(dy)}}, nil
	}
	return []graph.Shape{dw}, nil
}

// Alias lets dW take the place of the addend.
func (o linearDW) Alias(slot int) int {
	if o.addend {
		return over(2, slot)
	}
	return -1
}

func (o linearDW) Bind(c *graph.Call) []graph.Task {
	g := newDWGrid(width(c.In(0).Shape()), width(c.In(1).Shape()), height(c.In(0).Shape()))
	return []graph.Task{{Parts: g.parts(), Group: g.across, Run: graph.Typed(c, runLinearDW[float32], runLinearDW[float64])(c, o, g)}}
}

func runLinearDW[T graph.Float](c *graph.Call, o linearDW, g dwGrid) func(part int, _ *graph.Worker) {
	squares := c.Squares(0, g.parts())
	return func(part int, _ *graph.Worker) {
		dy, x, dw := graph.Slice[T](c.In(0)), graph.Slice[T](c.In(1)), graph.Slice[T](c.Out(0))
		if o.addend && !c.Out(0).Same(c.In(2)) {
			r0, r1, c0, c1 := g.part(part)
			for r := r0; r < r1; r++ {
				copy(dw[r*g.in+c0:r*g.in+c1], graph.Slice[T](c.In(2))[r*g.in+c0:])
			}
		}
		runDW(g, part, dy, g.out, x, dw, o.addend, squares)
		if o.bias {
			runDB(g, part, dy, g.out, graph.Slice[T](c.Out(1)), false)
		}
	}
}

// Fuse takes in the sum that adds dW to the gradient from an earlier use of
// the same weight.
func (o linearDW) Fuse(next graph.Op, arg, slot int, keep bool) (graph.Op, bool) {
	if _, ok := next.(graph.Sum); !ok || keep || arg == 0 || slot != 0 || o.addend {
		return nil, false
	}
	o.addend = true
	return o, true
}
