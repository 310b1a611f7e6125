package ops_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"ablate/graph"
	"ablate/graph/graphtest"
	"ablate/ops"
)

var (
	apart    = graph.WithEnclosing(math.MaxInt)
	together = graph.WithEnclosing(0)
)

// headLossCase is a product of x and W, steps, and their cross-entropy.
type headLossCase struct {
	lead  []int // of x
	d, v  int
	bias  bool
	steps []func(z *graph.Node) *graph.Node
}

func (c headLossCase) String() string {
	return fmt.Sprintf("rows %v, width %d, %d classes, bias %v, %d steps", c.lead, c.d, c.v, c.bias, len(c.steps))
}

// headLossSteps are ways from a product to logits: gradients that need no value,
// the one before, and, in the last, values that may not take each other's place.
var headLossSteps = [][]func(z *graph.Node) *graph.Node{
	nil,
	{scaled},
	{capped},
	{scaled, capped},
	{capped, scaled, func(z *graph.Node) *graph.Node { return ops.Activate(z, ops.SiLU) }},
}

func scaled(z *graph.Node) *graph.Node { return ops.Scale(z, 0.7) }
func capped(z *graph.Node) *graph.Node { return ops.Softcap(z, 3) }

// headLossCases are ragged in all that is split: the classes in chunks, the rows in
// blocks and in groups. Rows of 1,024 and 1,536 classes do not lie together.
func headLossCases() []headLossCase {
	var all []headLossCase
	for i, steps := range headLossSteps {
		for _, v := range []int{1, 7, 255, 1024, 1025} {
			all = append(all, headLossCase{[]int{3, 7}, 6, v, i%2 == 0, steps})
		}
		all = append(all, headLossCase{[]int{3, 350}, 5, 37, i%2 == 1, steps})
	}
	return append(all, headLossCase{lead: []int{5}, d: 3, v: 8191}, headLossCase{lead: []int{1, 513}, d: 33, v: 1100, bias: true},
		headLossCase{lead: []int{1, 600}, d: 9, v: 1536, bias: true, steps: headLossSteps[4]},
		headLossCase{lead: []int{1025}, d: 1, v: 65}, headLossCase{lead: []int{2, 100}, d: 130, v: 40, bias: true}, headLossCase{lead: []int{1, 5}, d: 4, v: 9})
}

func (c headLossCase) expr(in []*graph.Node) []*graph.Node {
	z := ops.Linear(in[0], in[1], nil)
	if c.bias {
		z = ops.Linear(in[0], in[1], in[3])
	}
	for _, f := range c.steps {
		z = f(z)
	}
	loss, nll := ops.CrossEntropy(z, in[2])
	return []*graph.Node{loss, nll}
}

func (c headLossCase) in() []graphtest.Input {
	x := normal("x", c.lead, c.d)
	targets := make([]int32, len(x.Data)/c.d)
	for i := range targets {
		targets[i] = int32(i * 31 % c.v)
		if i%5 == 3 {
			targets[i] = ops.Ignore
		}
	}
	in := []graphtest.Input{x, normal("w", nil, c.v, c.d), ints(targets, c.lead...)}
	if c.bias {
		in = append(in, normal("b", nil, c.v))
	}
	return in
}

// dloss is a gradient of the loss alone.
var dloss = [][]float64{{0.3}, nil}

// compileHeadLoss compiles a case, with gradients if dy says of what.
func compileHeadLoss[T graph.Float](t *testing.T, c headLossCase, dy [][]float64, workers int, opts ...graph.Option) *graphtest.Eval[T] {
	t.Helper()
	e, err := graphtest.Compile[T](c.expr, c.in(), dy, workers, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

// TestHeadLossHasTheBitsOfItsParts compares it with the operations by themselves,
// with gradients and without.
func TestHeadLossHasTheBitsOfItsParts(t *testing.T) {
	t.Run("float32", sameBits[float32])
	t.Run("float64", sameBits[float64])
}

func sameBits[T graph.Float](t *testing.T) {
	for _, c := range headLossCases() {
		for _, dy := range [][][]float64{nil, dloss} {
			a, b := compileHeadLoss[T](t, c, dy, 1, apart), compileHeadLoss[T](t, c, dy, 2, together)
			want := 1
			if dy != nil {
				want = 2 // what makes dloss
			}
			if calls := b.Stats().Calls; calls != want {
				t.Errorf("%v: %d calls, want %d", c, calls, want)
			}
			out, grad := a.All()
			gotOut, gotGrad := b.All()
			for i := range out {
				if !slices.Equal(gotOut[i], out[i]) {
					t.Errorf("%v, gradients %v: result %d differs", c, dy != nil, i)
				}
			}
			for i := range grad {
				if !slices.Equal(gotGrad[i], grad[i]) {
					t.Errorf("%v: the gradient of operand %d differs", c, i)
				}
			}
		}
	}
}

// TestHeadLossGradients compares gradients with differences along random
// directions.
func TestHeadLossGradients(t *testing.T) {
	for _, c := range headLossCases() {
		e := compileHeadLoss[float64](t, c, dloss, 1, together)
		_, grads := e.All()
		for k, in := range c.in() {
			if in.Ints != nil {
				continue
			}
			x, dir := e.In(k), graphtest.Normal(9, "direction", len(in.Data))
			slope, old := 0.0, slices.Clone(x)
			for i, d := range dir {
				slope += d * grads[k][i]
			}
			loss := func(h float64) float64 {
				for i := range x {
					x[i] = old[i] + h*dir[i]
				}
				e.Run()
				return dloss[0][0] * e.Out(0)[0]
			}
			const h = 1e-6
			if d := (loss(h) - loss(-h)) / (2 * h); math.Abs(d-slope) > 1e-6*(1+math.Abs(d)) {
				t.Errorf("%v: slope along operand %d is %v, by differences %v", c, k, slope, d)
			}
			copy(x, old)
		}
	}
}

// TestHeadLossForAnyNumberOfWorkers: the same bytes, no allocations.
func TestHeadLossForAnyNumberOfWorkers(t *testing.T) {
	for _, c := range headLossCases() {
		for _, dy := range [][][]float64{nil, dloss} {
			var out, grad [][]float32
			for _, workers := range []int{1, 2, 5} {
				e := compileHeadLoss[float32](t, c, dy, workers, together)
				gotOut, gotGrad := e.All()
				if out == nil {
					out, grad = gotOut, gotGrad
				}
				if !slices.EqualFunc(gotOut, out, slices.Equal) || !slices.EqualFunc(gotGrad, grad, slices.Equal) {
					t.Errorf("%v, gradients %v: %d workers give other bytes", c, dy != nil, workers)
				}
				if n := steadyAllocs(e.Run); n != 0 && !raced {
					t.Errorf("%v, gradients %v: a run makes %v allocations", c, dy != nil, n)
				}
			}
		}
	}
}

// TestHeadLossLeavesNothingBehind: whatever an earlier run left in memory, here NaN
// in every place, is not read.
func TestHeadLossLeavesNothingBehind(t *testing.T) {
	for _, c := range headLossCases() {
		for _, dy := range [][][]float64{nil, dloss} {
			e := compileHeadLoss[float32](t, c, dy, 2, together)
			out, grad := e.All()
			x := slices.Clone(e.In(0))
			for i := range e.In(0) {
				e.In(0)[i] = float32(math.NaN())
			}
			e.Run()
			copy(e.In(0), x)
			gotOut, gotGrad := e.All()
			if !slices.EqualFunc(gotOut, out, slices.Equal) || !slices.EqualFunc(gotGrad, grad, slices.Equal) {
				t.Errorf("%v, gradients %v: other bytes after a run on NaN", c, dy != nil)
			}
		}
	}
}

// TestHeadLossDeclines: where somebody else needs the logits, or they come about in
// another way, the operations stay by themselves.
func TestHeadLossDeclines(t *testing.T) {
	loss := func(z, targets *graph.Node) *graph.Node {
		l, _ := ops.CrossEntropy(z, targets)
		return l
	}
	c := headLossCase{lead: []int{2, 5}, d: 6, v: 6}
	few := headLossCase{lead: []int{1, 4}, d: 6, v: 6}
	for name, e := range map[string]struct {
		in []graphtest.Input
		f  graphtest.Expr
	}{
		"few rows": {few.in(), func(in []*graph.Node) []*graph.Node {
			return []*graph.Node{loss(ops.Linear(in[0], in[1], nil), in[2])}
		}},
		"logits are a result": {c.in(), func(in []*graph.Node) []*graph.Node {
			z := ops.Linear(in[0], in[1], nil)
			return []*graph.Node{loss(z, in[2]), z}
		}},
		"logits before a step are a result": {c.in(), func(in []*graph.Node) []*graph.Node {
			z := ops.Linear(in[0], in[1], nil)
			return []*graph.Node{loss(capped(z), in[2]), z}
		}},
		"two losses": {c.in(), func(in []*graph.Node) []*graph.Node {
			z := ops.Linear(in[0], in[1], nil)
			return []*graph.Node{loss(z, in[2]), loss(capped(z), in[2])}
		}},
		"no product": {c.in(), func(in []*graph.Node) []*graph.Node {
			return []*graph.Node{loss(in[0], in[2]), ops.Linear(in[0], in[1], nil)}
		}},
		"a sum": {c.in(), func(in []*graph.Node) []*graph.Node {
			return []*graph.Node{loss(graph.Add(ops.Linear(in[0], in[1], nil), in[0]), in[2])}
		}},
		"a step that is none": {c.in(), func(in []*graph.Node) []*graph.Node {
			return []*graph.Node{loss(ops.Softmax(ops.Linear(in[0], in[1], nil)), in[2])}
		}},
		"too many steps": {c.in(), func(in []*graph.Node) []*graph.Node {
			z := ops.Linear(in[0], in[1], nil)
			for range 5 {
				z = capped(z)
			}
			return []*graph.Node{loss(z, in[2])}
		}},
	} {
		want := evaluateWith[float32](t, e.f, e.in, []graph.Option{apart})
		got := evaluateWith[float32](t, e.f, e.in, []graph.Option{together})
		if got.stats.Calls != want.stats.Calls {
			t.Errorf("%s: %d calls, want %d", name, got.stats.Calls, want.stats.Calls)
		}
		if !slices.EqualFunc(got.out, want.out, slices.Equal) || !slices.EqualFunc(got.grad, want.grad, slices.Equal) {
			t.Errorf("%s: other bytes", name)
		}
	}
}

// TestHeadLossMemory: what the planner lays out shrinks by the logits but for a
// block, and by the packed weight.
func TestHeadLossMemory(t *testing.T) {
	c := headLossCase{lead: []int{4, 512}, d: 16, v: 2000}
	const logits, packed, block = 4 * 2048 * 2000, 4 * 16 * 2000, 4 * 512 * 2000
	for _, z := range []struct {
		dy   [][]float64
		less int
	}{{nil, logits + packed}, {dloss, logits + packed - block}} {
		a, b := compileHeadLoss[float32](t, c, z.dy, 1, apart), compileHeadLoss[float32](t, c, z.dy, 1)
		if less := a.Stats().Arena - b.Stats().Arena; math.Abs(float64(less-z.less)) > 0.03*logits {
			t.Errorf("gradients %v: the arena shrinks by %d bytes, want %d", z.dy != nil, less, z.less)
		}
	}
}
