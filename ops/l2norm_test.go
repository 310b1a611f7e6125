package ops_test

import (
	"math"
	"slices"
	"testing"

	"ablate/graph"
	"ablate/graph/graphtest"
	"ablate/ops"
)

// A norm below the root of float32's smallest number is still a norm.
func TestL2NormOfTinyAndHugeValues(t *testing.T) {
	for _, size := range []float64{1e-30, 1e-3, 1, 1e25} {
		x := graphtest.Input{Shape: graph.Shape{3, 4, 5}, Data: make([]float64, 60), Fixed: true}
		for i := range x.Data {
			x.Data[i] = size * float64(1+i%3)
		}
		e, err := graphtest.Compile[float32](func(in []*graph.Node) []*graph.Node {
			return []*graph.Node{ops.L2Norm(in[0], nil)}
		}, []graphtest.Input{x}, nil, 2)
		if err != nil {
			t.Fatal(err)
		}
		e.Run()
		for b, got := range e.Out(0) {
			sum := 0.
			for _, v := range x.Data[b*20 : (b+1)*20] {
				sum += v / size * (v / size)
			}
			if want := size * math.Sqrt(sum); math.Abs(float64(got)-want) > 1e-6*want {
				t.Errorf("the norm of sequence %d of values of %g is %g, want %g", b, size, got, want)
			}
		}
		e.Close()
	}
}

// A run that skips a norm leaves it alone, and the next one need not.
func TestL2NormSkipped(t *testing.T) {
	g, err := graph.Build(graph.Float32, func(s *graph.Scope) {
		s.Output("norm", ops.L2Norm(s.Floats("x", 2, 1, 2), s.Ints("skip", 1)))
	})
	if err != nil {
		t.Fatal(err)
	}
	team := graph.NewTeam(2)
	defer team.Close()
	p, err := graph.Compile(g, graph.NewParams[float32](g), team)
	if err != nil {
		t.Fatal(err)
	}
	x, skip, norm := graph.Slice[float32](p.Input("x")), graph.Slice[int32](p.Input("skip")), graph.Slice[float32](p.Output("norm"))
	for _, c := range []struct {
		skip    int32
		x, want []float32
	}{{0, []float32{3, 4, -2, 0}, []float32{5, 2}}, {1, []float32{0, 0, 0, 0}, []float32{5, 2}}, {0, []float32{0, 4, 0, 7}, []float32{4, 7}}} {
		skip[0] = c.skip
		copy(x, c.x)
		p.Run()
		if !slices.Equal(norm, c.want) {
			t.Errorf("skip %d: %v, want %v", c.skip, norm, c.want)
		}
	}
}
