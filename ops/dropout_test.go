package ops_test

import (
	"math"
	"slices"
	"testing"

	"ablate/graph"
	"ablate/graph/graphtest"
	"ablate/ops"
)

// masks gives dropout of ones, and its gradient for a gradient of ones.
func masks(t *testing.T, rng []int32, name string, p float64) (y, dx []float32) {
	t.Helper()
	ones := make([]float64, 8*16*32)
	for i := range ones {
		ones[i] = 1
	}
	f := one(func(in []*graph.Node) *graph.Node { return ops.Dropout(in[0], in[1], p, name) })
	in := []graphtest.Input{{Shape: graph.Shape{8, 16, 32}, Data: ones}, ints(rng, 2)}
	e, err := graphtest.Compile[float32](f, in, [][]float64{ones}, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	out, grad := e.All()
	return out[0], grad[0]
}

func TestDropoutMask(t *testing.T) {
	const p = 0.3
	y, dx := masks(t, []int32{1, 2}, "a", p)
	if !slices.Equal(y, dx) {
		t.Error("the gradient has another mask")
	}
	kept := 0
	for _, v := range y {
		if v != 0 {
			kept++
			near(t, "a kept element", []float32{v}, []float64{1 / (1 - p)}, 1e-6, 0)
		}
	}
	n := float64(len(y))
	if d := math.Abs(float64(kept) - (1-p)*n); d > 5*math.Sqrt(p*(1-p)*n) {
		t.Errorf("%d of %v elements kept", kept, n)
	}
	for _, c := range []struct {
		rng  []int32
		name string
	}{{[]int32{2, 2}, "a"}, {[]int32{1, 3}, "a"}, {[]int32{1, 2}, "b"}} {
		other, _ := masks(t, c.rng, c.name, p)
		same := 0
		for i := range y {
			if (y[i] == 0) == (other[i] == 0) {
				same++
			}
		}
		want := (p*p + (1-p)*(1-p)) * n // of independent masks
		if math.Abs(float64(same)-want) > 5*math.Sqrt(n)/2 {
			t.Errorf("%v %q: %d of %v elements agree, want about %v", c.rng, c.name, same, n, want)
		}
	}
}

// TestAttentionDropoutDiffersBySequence: equal sequences have masks of their own.
func TestAttentionDropoutDiffersBySequence(t *testing.T) {
	x := normal("x", nil, 1, 6, 8)
	x.Shape, x.Data = graph.Shape{2, 6, 8}, append(slices.Clone(x.Data), x.Data...)
	f := one(func(in []*graph.Node) *graph.Node {
		return ops.Attention(in[0], in[0], in[0], ops.AttentionOptions{Heads: 2, Dropout: 0.5, RNG: in[1], Name: "a"})
	})
	out := evaluate[float64](t, f, []graphtest.Input{x, ints([]int32{5, 6}, 2)}, 1).out[0]
	if slices.Equal(out[:48], out[48:]) {
		t.Error("two sequences share a mask")
	}
}

func TestNoDropoutIsTheOperand(t *testing.T) {
	_, err := graph.Build(graph.Float32, func(s *graph.Scope) {
		if x := s.Floats("x", 2, 3); ops.Dropout(x, nil, 0, "d") != x {
			t.Error("dropout with p = 0 is an operation")
		}
	})
	if err != nil {
		t.Error(err)
	}
}
