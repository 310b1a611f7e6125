package ops

import (
	"slices"

	"ablate/graph"
	"ablate/ops/kernel"
)

// Enclose makes a headLoss of the product that the logits come from, the steps
// between and, where it is asked for, the gradient of it all. It leaves alone a
// product of so few rows that linear reads its weight in place, and sums in
// another order.
func (crossEntropy) Enclose(at graph.Spot) (graph.Enclosure, bool) {
	var f headLossFinder
	if !f.forward(at) {
		return graph.Enclosure{}, false
	}
	rows, d, v := height(f.in[0].Shape()), width(f.in[0].Shape()), width(at.In(0).Shape())
	saved := rows*v + kernel.PackedLen(d, v)
	if grad, ok := reader[crossEntropyGrad](at.In(0)); ok {
		if !f.backward(at, grad) {
			return graph.Enclosure{}, false
		}
		saved -= kernel.SumBlock(rows) * v
	}
	return graph.Enclosure{Op: f.op, Calls: f.calls, In: f.in, Out: f.out, Saved: saved}, rows > fewRows
}

// headLossFinder collects the calls that make a headLoss.
type headLossFinder struct {
	op      headLoss
	calls   []graph.Spot
	in, out []graph.Wire
	values  []graph.Wire // the product and the results of the steps
}

// forward goes from the logits back to the product.
func (f *headLossFinder) forward(at graph.Spot) bool {
	f.calls = append(f.calls, at)
	w := at.In(0)
	product, ok := w.Maker()
	for ; ok; product, ok = w.Maker() {
		f.calls, f.values = append(f.calls, product), append(f.values, w)
		if _, ok := product.Op().(linear); ok {
			break
		}
		p, ok := asPointwise(product.Op())
		if !ok || p.arity != 1 || len(f.op.steps) == maxSteps {
			return false
		}
		f.op.steps = append(f.op.steps, p)
		w = product.In(0)
	}
	if !ok {
		return false
	}
	slices.Reverse(f.values)
	slices.Reverse(f.op.steps)
	l := product.Op().(linear)
	f.op.bias = l.bias
	f.in = append(operands(product), at.In(1))
	f.out = []graph.Wire{at.Out(0), at.Out(2)}
	return !l.addend && len(l.stages) == 0
}

// backward goes from the gradient of the logits to those of the product's
// operands.
func (f *headLossFinder) backward(at, grad graph.Spot) bool {
	if grad.In(1) != at.In(1) || grad.In(2) != at.Out(0) || grad.In(3) != at.Out(1) {
		return false
	}
	f.op.grad = true
	f.calls = append(f.calls, grad)
	f.in = append(f.in, grad.In(4))
	dz := grad.Out(0)
	for range f.op.steps {
		s, ok := f.backStep(dz)
		if !ok {
			return false
		}
		f.calls = append(f.calls, s)
		dz = s.Out(0)
	}
	if s, ok := reader[linearDX](dz); ok && s.In(1) == f.in[1] {
		f.op.dx = true
		f.calls, f.out = append(f.calls, s), append(f.out, s.Out(0))
	}
	if s, ok := reader[linearDW](dz); ok && s.In(1) == f.in[0] {
		f.op.dw = true
		f.calls = append(f.calls, s)
		for i := range s.Results() {
			f.out = append(f.out, s.Out(i))
		}
	}
	return true
}

// backStep finds the gradient of a step in what reads dz.
func (f *headLossFinder) backStep(dz graph.Wire) (s graph.Spot, ok bool) {
	readers := dz.Readers()
	if len(readers) != 1 {
		return s, false
	}
	s = readers[0]
	p, ok := asPointwise(s.Op())
	if !ok || p.more > 0 || s.In(0) != dz {
		return s, false
	}
	b := backStep{op: p}
	for _, w := range operands(s)[1:] {
		i := slices.Index(f.values, w)
		if i < 0 {
			return s, false
		}
		b.from = append(b.from, i)
	}
	f.op.back = append(f.op.back, b)
	return s, true
}

// reader finds a call of an O among those that read w.
func reader[O graph.Op](w graph.Wire) (graph.Spot, bool) {
	for _, s := range w.Readers() {
		if _, ok := s.Op().(O); ok {
			return s, true
		}
	}
	return graph.Spot{}, false
}

// operands are all operands of a call.
func operands(s graph.Spot) []graph.Wire {
	all := make([]graph.Wire, s.Operands())
	for i := range all {
		all[i] = s.In(i)
	}
	return all
}
