package ops_test

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"ablate/ops"
)

// TestGoldenTables compares the tables of positions with the reference files.
func TestGoldenTables(t *testing.T) {
	files, err := filepath.Glob("testdata/golden/op_*.json")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "op_"), ".json")
		if !isTable(name) {
			continue
		}
		seen++
		t.Run(name, func(t *testing.T) {
			g := readGolden(t, name)
			near(t, "table", goldenTable(t, name, g), g.Output.Data, 0, 1e-12)
		})
	}
	if seen < 20 {
		t.Errorf("%d tables", seen)
	}
}

func goldenTable(t *testing.T, name string, g *golden) []float64 {
	switch a := g.Attrs; {
	case strings.HasPrefix(name, "sinusoidal"):
		return ops.Sinusoidal(a.T, a.D)
	case strings.HasPrefix(name, "alibi_slopes"):
		return ops.ALiBiSlopes(a.NHead)
	case strings.HasPrefix(name, "alibi_bias"):
		var all []float64
		for _, slope := range ops.ALiBiSlopes(a.NHead) {
			for i := range a.T {
				for j := range a.T {
					all = append(all, -slope*math.Abs(float64(i-j)))
				}
			}
		}
		return all
	case strings.HasPrefix(name, "t5_buckets"):
		var all []float64
		for _, i := range a.QueryPositions {
			for j := range g.Output.Shape[1] {
				all = append(all, float64(ops.T5Bucket(i-j, a.Buckets, a.MaxDistance, g.causal())))
			}
		}
		return all
	}
	w, mult := ops.RoPEFrequencies(g.Attrs.RotatedDims, g.Attrs.Base, g.Attrs.Scaling.value())
	near(t, "multiplier", []float64{mult}, []float64{g.Attrs.Multiplier}, 0, 1e-12)
	return w
}

func TestRoPETables(t *testing.T) {
	cos, sin := ops.RoPETables([]float64{1, 0.5}, 2, 3, 2)
	near(t, "cos", cos, []float64{2 * math.Cos(3), 2 * math.Cos(1.5), 2 * math.Cos(4), 2 * math.Cos(2)}, 0, 1e-15)
	near(t, "sin", sin, []float64{2 * math.Sin(3), 2 * math.Sin(1.5), 2 * math.Sin(4), 2 * math.Sin(2)}, 0, 1e-15)
}

func TestT5BucketsIndex(t *testing.T) {
	const queries, keys = 3, 5
	table := ops.T5Buckets(queries, keys, 8, 11, false)
	for i := range queries {
		for j := range keys {
			if got, want := table[i-j+keys-1], int32(ops.T5Bucket(i-j, 8, 11, false)); got != want {
				t.Errorf("bucket of query %d, key %d: %d, want %d", i, j, got, want)
			}
		}
	}
}
