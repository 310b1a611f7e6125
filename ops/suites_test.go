package ops_test

import (
	"math"
	"slices"
	"testing"

	"ablate/graph"
	"ablate/graph/graphtest"
)

// values are the results and gradients of one run.
type values[T graph.Float] struct {
	out, grad [][]T
	stats     graph.Stats
}

// evaluate runs f with random gradients of all results but the free ones.
func evaluate[T graph.Float](t *testing.T, f graphtest.Expr, in []graphtest.Input, workers int, free ...int) values[T] {
	t.Helper()
	return run[T](t, f, in, workers, free, nil)
}

// evaluateWith is evaluate with options of the planner.
func evaluateWith[T graph.Float](t *testing.T, f graphtest.Expr, in []graphtest.Input, opts []graph.Option) values[T] {
	t.Helper()
	return run[T](t, f, in, 2, nil, opts)
}

func run[T graph.Float](t *testing.T, f graphtest.Expr, in []graphtest.Input, workers int, free []int, opts []graph.Option) values[T] {
	t.Helper()
	dy, err := graphtest.RandomGradients(f, in, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range free {
		dy[i] = nil
	}
	e, err := graphtest.Compile[T](f, in, dy, workers, opts...)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	var v values[T]
	e.Run() // the second run must not depend on the first
	v.out, v.grad = e.All()
	v.stats = e.Stats()
	return v
}

// near compares numbers within rel of the wanted size plus abs.
func near[A, B graph.Float](t *testing.T, name string, got []A, want []B, rel, abs float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s has %d elements, want %d", name, len(got), len(want))
		return
	}
	for i := range got {
		g, w := float64(got[i]), float64(want[i])
		if !(math.Abs(g-w) <= abs+rel*math.Abs(w)) {
			t.Errorf("%s, element %d: %v, want %v", name, i, g, w)
			return
		}
	}
}

func TestGradients(t *testing.T) {
	if raced {
		t.Skip("one worker has no races, and thousands of runs are slow under the detector")
	}
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) { graphtest.CheckGradients(t, c.f, c.in, c.free...) })
	}
}

func TestFloat32AgainstFloat64(t *testing.T) {
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			got, want := evaluate[float32](t, c.f, c.in, 2, c.free...), evaluate[float64](t, c.f, c.in, 2, c.free...)
			for i := range want.out {
				near(t, "result", got.out[i], want.out[i], 1e-3, 1e-5)
			}
			for i := range want.grad {
				near(t, "gradient", got.grad[i], want.grad[i], 1e-3, 2e-5)
			}
		})
	}
}

func TestSameBytesForAnyNumberOfWorkers(t *testing.T) {
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			want := evaluate[float32](t, c.f, c.in, 1, c.free...)
			for _, workers := range []int{2, 4} {
				got := evaluate[float32](t, c.f, c.in, workers, c.free...)
				if !slices.EqualFunc(got.out, want.out, slices.Equal) || !slices.EqualFunc(got.grad, want.grad, slices.Equal) {
					t.Errorf("%d workers give other bytes than one", workers)
				}
			}
		})
	}
}

func TestRunAllocatesNothing(t *testing.T) {
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			dy, err := graphtest.RandomGradients(c.f, c.in, 1)
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range c.free {
				dy[i] = nil
			}
			e, err := graphtest.Compile[float32](c.f, c.in, dy, 1)
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			e.Run() // fills the pools of the kernels
			if n := steadyAllocs(e.Run); n != 0 && !raced {
				t.Errorf("a run makes %v allocations", n)
			}
		})
	}
}

// steadyAllocs is the number of allocations of a run once the pools of the kernels are full: workers that have not
// met in a kernel before fill them further.
func steadyAllocs(run func()) float64 {
	n := testing.AllocsPerRun(10, run)
	for tries := 0; n > 0 && tries < 3; tries++ {
		n = testing.AllocsPerRun(10, run)
	}
	return n
}
