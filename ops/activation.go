package ops

import (
	"ablate/graph"
)

// Unary is an activation: a function of one number and its derivative. Two
// functions are enough to make one; the built-in ones bring kernels too.
type Unary struct {
	Name string                  // as in a configuration
	F    func(x float64) float64 // f(x)
	D    func(x float64) float64 // f'(x)
	F32  UnaryKernels[float32]   // optional
	F64  UnaryKernels[float64]   // optional
}

// UnaryKernels computes an activation on slices of equal length. A nil
// function is replaced by a loop over Unary's, Both by the other two.
type UnaryKernels[T graph.Float] struct {
	F    func(y, x []T)         // y = f(x); y may be x
	D    func(dx, dy, x []T)    // dx = dy ⊙ f'(x); dx may be dy or x
	Both func(y, dx, dy, x []T) // both, the same bits; y may be x, dx may be dy
}

// kernelsOf completes u's kernels for type T.
func kernelsOf[T graph.Float](u Unary) UnaryKernels[T] {
	k, ok := any(u.F32).(UnaryKernels[T])
	if !ok {
		k = any(u.F64).(UnaryKernels[T])
	}
	if k.F == nil {
		k.F = func(y, x []T) {
			for i, v := range x[:len(y)] {
				y[i] = T(u.F(float64(v)))
			}
		}
	}
	if k.D == nil {
		k.D = func(dx, dy, x []T) {
			for i, v := range x[:len(dx)] {
				dx[i] = dy[i] * T(u.D(float64(v)))
			}
		}
	}
	if k.Both == nil {
		k.Both = func(y, dx, dy, x []T) {
			k.D(dx, dy, x)
			k.F(y, x)
		}
	}
	return k
}

// Activate is y = f(x), element by element, for an x of any shape.
func Activate(x *graph.Node, u Unary) *graph.Node {
	return graph.Apply1(activate{pointwise{name: "activate{" + u.Name + "}", arity: 1, f32: mapActivate[float32](u), f64: mapActivate[float64](u)}, &u}, x)
}

type activate struct {
	pointwise
	u *Unary
}

func mapActivate[T graph.Float](u Unary) mapFunc[T] {
	f := kernelsOf[T](u).F
	return func(out, in pieces[T], _ []T) { f(out[0], in[0]) }
}

// Grad is dx = dy ⊙ f'(x).
func (o activate) Grad(in, _, dout []*graph.Node) []*graph.Node {
	grad := pointwise{name: "activateGrad{" + o.u.Name + "}", arity: 2, f32: mapActivateGrad[float32](*o.u), f64: mapActivateGrad[float64](*o.u), grad: true}
	return []*graph.Node{graph.Apply1(activateGrad{grad, o.u}, dout[0], in[0])}
}

// activateGrad has operands dy, x.
type activateGrad struct {
	pointwise
	u *Unary
}

func mapActivateGrad[T graph.Float](u Unary) mapFunc[T] {
	d := kernelsOf[T](u).D
	return func(out, in pieces[T], _ []T) { d(out[0], in[0], in[1]) }
}

// Join takes in the activation itself, which the backward pass computes again: the
// two share most of their work. Results are dx, y.
func (o activateGrad) Join(other graph.Op, at []int) (graph.Op, bool) {
	if f, ok := other.(activate); !ok || f.u != o.u || at[0] != 1 {
		return nil, false
	}
	p := o.pointwise
	p.name, p.more = p.name+" and again", 1
	p.f32, p.f64 = mapActivateBoth[float32](*o.u), mapActivateBoth[float64](*o.u)
	return p, true
}

func mapActivateBoth[T graph.Float](u Unary) mapFunc[T] {
	f := kernelsOf[T](u).Both
	return func(out, in pieces[T], _ []T) { f(out[1], out[0], in[0], in[1]) }
}
