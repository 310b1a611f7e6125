package ops_test

import (
	"math"
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
			return []*graph.Node{ops.L2Norm(in[0])}
		}, []graphtest.Input{x}, nil, 2)
		if err != nil {
			t.Fatal(err)
		}
		e.Run()
		want := size * math.Sqrt(20*(1+4+9))
		if got := float64(e.Out(0)[0]); math.Abs(got-want) > 1e-6*want {
			t.Errorf("the norm of values of %g is %g, want %g", size, got, want)
		}
		e.Close()
	}
}
