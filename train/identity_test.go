package train

import (
	"math"
	"testing"

	"ablate/graph"
)

// TestClippingKeepsTheDirection: what reaches the weights has the norm
// min(norm, limit), to the 1e-6 of the formula, and the direction of the gradient;
// the squares of the norms of its parts add up to that of the whole.
func TestClippingKeepsTheDirection(t *testing.T) {
	const n = 40
	g := random("gradient", n, 0.3)
	norm, parts := 0.0, 0.0
	for i := 0; i < n; i += 10 {
		parts += square(g[i : i+10])
	}
	if norm = math.Sqrt(square(g)); math.Abs(parts-norm*norm) > 1e-12 {
		t.Errorf("the parts have %v, the whole %v", parts, norm*norm)
	}
	o, _ := lookupOptimizer[float64]("sgd")
	for _, limit := range []float64{norm / 4, norm / 1.01, 2 * norm} {
		rule := o.New(Config{})
		v := &Vectors[float64]{Values: make([]float64, n), Grads: g, State: [][]float64{make([]float64, n)}}
		rule.Prepare(1, 1, Clip(limit).Coefficient(norm))
		rule.Update(v, 0, n, Factors{1, 0})
		got, along := math.Sqrt(square(v.Values)), 0.0
		for i := range g {
			along -= v.Values[i] * g[i]
		}
		if want := min(norm, limit); math.Abs(got-want) > 2e-6 || math.Abs(along-got*norm) > 1e-12 {
			t.Errorf("limit %v: a step of %v, %v along the gradient; want %v", limit, got, along/norm, want)
		}
	}
}

// TestFirstStepOfAdam: the first update of every element is lr in size, whatever its
// gradient, as long as that is far above eps; later ones stay about that size.
func TestFirstStepOfAdam(t *testing.T) {
	const n, lr = 1000, 1e-3
	o, _ := lookupOptimizer[float64]("adamw")
	for _, size := range []float64{1e-3, 1, 1e3} {
		rule := o.New(Config{Betas: [2]float64{0.9, 0.95}, Eps: 1e-12})
		v := &Vectors[float64]{Values: make([]float64, n), State: [][]float64{make([]float64, n), make([]float64, n)}}
		old := make([]float64, n)
		for step := 1; step <= 5; step++ {
			v.Grads = random("gradient of step "+string(rune('0'+step)), n, size)
			copy(old, v.Values)
			rule.Prepare(step, lr, 1)
			rule.Update(v, 0, n, Factors{1, 1})
			for i, x := range v.Values {
				old[i] -= x
			}
			rms := math.Sqrt(square(old) / n)
			if step == 1 && math.Abs(rms/lr-1) > 1e-6 || rms > lr*1.001 || rms < lr/5 {
				t.Errorf("gradients of %v, step %d: updates of %v", size, step, rms)
			}
		}
	}
}

func random(name string, n int, std float64) []float64 {
	r, x := graph.Stream(1, "", name), make([]float64, n)
	for i := range x {
		x[i] = std * r.NormFloat64()
	}
	return x
}

func square(x []float64) (sum float64) {
	for _, v := range x {
		sum += v * v
	}
	return sum
}
