package graph

// gradient makes v the gradient of a parameter, which has a home in the flat
// vector; or a copy of v, if that is an input, or has the home of another one:
// the gradients of both terms of a sum are one node.
func (l *lowered) gradient(v *value) *value {
	if v.home {
		c := &call{op: duplicate{}, in: []*value{v}, backward: true}
		v.uses = append(v.uses, c)
		v = newValue(v.shape, v.dtype, c)
		c.out = []*value{v}
		l.calls = append(l.calls, c)
	}
	v.keep, v.home = true, true
	return v
}

// duplicate is y = x.
type duplicate struct{}

func (duplicate) String() string                    { return "copy" }
func (duplicate) Infer(in []Shape) ([]Shape, error) { return in[:1], nil }

// Bind copies row by row.
func (duplicate) Bind(c *Call) []Task {
	return []Task{c.Rows(Typed(c, copyRows[float32], copyRows[float64])(c))}
}

func copyRows[T Float](c *Call) func(part, parts int, w *Worker) {
	return func(part, parts int, _ *Worker) {
		copy(Part[T](c.Out(0), part, parts), Part[T](c.In(0), part, parts))
	}
}
