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
// function is replaced by a loop over Unary's.
type UnaryKernels[T graph.Float] struct {
	F func(y, x []T)      // y = f(x); y may be x
	D func(dx, dy, x []T) // dx = dy ⊙ f'(x); dx may be dy or x
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
	return k
}

// Activate is y = f(x), element by element, for an x of any shape.
func Activate(x *graph.Node, u Unary) *graph.Node {
	return graph.Apply1(activate{pointwise{name: "activate{" + u.Name + "}", arity: 1, f32: mapActivate[float32](u), f64: mapActivate[float64](u)}, u}, x)
}

type activate struct {
	pointwise
	u Unary
}

func mapActivate[T graph.Float](u Unary) mapFunc[T] {
	f := kernelsOf[T](u).F
	return func(y, x, _, _, _ []T) { f(y, x) }
}

// Grad is dx = dy ⊙ f'(x).
func (o activate) Grad(in, _, dout []*graph.Node) []*graph.Node {
	grad := pointwise{name: "activateGrad{" + o.u.Name + "}", arity: 2, f32: mapActivateGrad[float32](o.u), f64: mapActivateGrad[float64](o.u), grad: true}
	return []*graph.Node{graph.Apply1(grad, dout[0], in[0])}
}

func mapActivateGrad[T graph.Float](u Unary) mapFunc[T] {
	d := kernelsOf[T](u).D
	return func(dx, dy, x, _, _ []T) { d(dx, dy, x) }
}
