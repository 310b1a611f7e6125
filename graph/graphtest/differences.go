package graphtest

import (
	"fmt"
	"math"
	"testing"

	"ablate/graph"
)

// step is the half-width of central differences: with third derivatives of
// order one, truncation (step²/6) and rounding (ε/step) both stay near 1e-11.
const step = 1e-5

// Tolerance of CheckGradients, absolute and relative.
const Tolerance = 1e-7

// checked is the most elements of an operand that CheckGradients looks at.
const checked = 64

// CheckGradients compares the gradients of f, computed in float64 at the given
// point, with central differences there, for random weights of the results
// whose index is not in free. Of large operands it takes elements at equal
// distances.
func CheckGradients(t testing.TB, f Expr, in []Input, free ...int) {
	t.Helper()
	dy, err := RandomGradients(f, in, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range free {
		dy[i] = nil
	}
	e, err := Compile[float64](f, in, dy, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	_, grads := e.All()
	for k := range in {
		if !in[k].differentiable() {
			continue
		}
		x := e.In(k)
		for i := 0; i < len(x); i += 1 + (len(x)-1)/checked {
			if d := e.difference(x, i, dy); math.Abs(d-grads[k][i]) > Tolerance*(1+math.Abs(d)) {
				t.Errorf("gradient of operand %d, element %d: %v, by differences %v", k, i, grads[k][i], d)
			}
		}
	}
}

// difference is ∂(Σ dy ⊙ y)/∂x[i] by central differences. Differences are
// taken result by result, before the sum, where they lose least.
func (e *Eval[T]) difference(x []T, i int, dy [][]float64) float64 {
	if x == nil {
		return 0
	}
	old := x[i]
	x[i] = old + step
	width := float64(x[i])
	e.Run()
	var up [][]T
	for k := range dy {
		up = append(up, append([]T(nil), e.Out(k)...))
	}
	x[i] = old - step
	width -= float64(x[i])
	e.Run()
	x[i] = old
	var s float64
	for k := range dy {
		for j, v := range e.Out(k) {
			if dy[k] != nil {
				s += dy[k][j] * float64(up[k][j]-v)
			}
		}
	}
	return s / width
}

// RandomGradients draws a standard normal dy for every result of f.
func RandomGradients(f Expr, in []Input, seed uint64) ([][]float64, error) {
	e, err := Compile[float64](f, in, nil, 1)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	dy := make([][]float64, e.Outputs())
	for i := range dy {
		dy[i] = Normal(seed, fmt.Sprint("dy.", i), len(e.Out(i)))
	}
	return dy, nil
}

// Normal draws n standard normal numbers.
func Normal(seed uint64, name string, n int) []float64 {
	r := graph.Stream(seed, "graphtest", name)
	x := make([]float64, n)
	for i := range x {
		x[i] = r.NormFloat64()
	}
	return x
}

// NormalInput is an operand of standard normal numbers.
func NormalInput(seed uint64, name string, shape ...int) Input {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return Input{Shape: shape, Data: Normal(seed, name, n)}
}
