package ops_test

import (
	"math"
	"testing"
)

// TestKernelsEqualFunctions compares an activation's kernels with its scalar
// functions, far out on both sides too.
func TestKernelsEqualFunctions(t *testing.T) {
	x := []float64{-1e4, -40, -8, -3, -1, -0.5, -1e-3, 1e-9, 1e-3, 0.5, 1, 3, 8, 40, 1e4}
	for _, u := range activations {
		want, slope, ones := make([]float64, len(x)), make([]float64, len(x)), make([]float64, len(x))
		x32, ones32 := make([]float32, len(x)), make([]float32, len(x))
		for i, v := range x {
			want[i], slope[i], ones[i], x32[i], ones32[i] = u.F(v), u.D(v), 1, float32(v), 1
		}
		if u.F64.F == nil {
			continue
		}
		got, got32 := make([]float64, len(x)), make([]float32, len(x))
		u.F64.F(got, x)
		near(t, u.Name, got, want, 1e-12, 1e-14)
		u.F64.D(got, ones, x)
		near(t, u.Name+"'", got, slope, 1e-12, 1e-14)
		u.F32.F(got32, x32)
		near(t, u.Name+" in float32", got32, want, 1e-5, 1e-6)
		u.F32.D(got32, ones32, x32)
		near(t, u.Name+"' in float32", got32, slope, 1e-5, 1e-6)
		for _, v := range []float64{-1e300, 1e300} {
			if math.IsNaN(u.F(v)) || math.IsNaN(u.D(v)) {
				t.Errorf("%s of %v is not a number", u.Name, v)
			}
		}
	}
}

// TestNames: a configuration tells activations apart by their names.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, u := range activations {
		if u.Name == "" || seen[u.Name] {
			t.Errorf("the name %q is empty or taken", u.Name)
		}
		seen[u.Name] = true
	}
}
