package graphtest_test

import (
	"slices"
	"strings"
	"testing"

	"ablate/graph"
	"ablate/graph/graphtest"
)

// square is y = x², with a gradient that is wrong by a factor if asked to be.
type square struct{ wrong float64 }

func (square) String() string { return "square" }

func (square) Infer(in []graph.Shape) ([]graph.Shape, error) { return in[:1], nil }

func (o square) Bind(c *graph.Call) []graph.Task {
	return []graph.Task{{Parts: 1, Run: graph.Typed(c, multiply[float32], multiply[float64])(c, 1)}}
}

func (o square) Grad(in, _, dout []*graph.Node) []*graph.Node {
	return []*graph.Node{graph.Apply1(product{2 + o.wrong}, in[0], dout[0])}
}

// product is c·a·b.
type product struct{ c float64 }

func (product) String() string { return "product" }

func (product) Infer(in []graph.Shape) ([]graph.Shape, error) { return in[:1], nil }

func (o product) Bind(c *graph.Call) []graph.Task {
	return []graph.Task{{Parts: 1, Run: graph.Typed(c, multiply[float32], multiply[float64])(c, o.c)}}
}

func multiply[T graph.Float](c *graph.Call, factor float64) func(int, *graph.Worker) {
	return func(int, *graph.Worker) {
		a, b, y := graph.Slice[T](c.In(0)), graph.Slice[T](c.In(c.Operands()-1)), graph.Slice[T](c.Out(0))
		for i := range y {
			y[i] = T(factor) * a[i] * b[i]
		}
	}
}

func squares(wrong float64) graphtest.Expr {
	return func(in []*graph.Node) []*graph.Node { return graph.Apply(square{wrong}, in[0]) }
}

func TestEval(t *testing.T) {
	in := []graphtest.Input{{Shape: graph.Shape{3}, Data: []float64{1, -2, 3}}}
	e, err := graphtest.Compile[float32](squares(0), in, [][]float64{{1, 10, 100}}, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	out, grad := e.All()
	if !slices.Equal(out[0], []float32{1, 4, 9}) || !slices.Equal(grad[0], []float32{2, -40, 600}) {
		t.Errorf("x² is %v with gradient %v", out[0], grad[0])
	}
}

// recorder is a testing.TB that takes note of errors.
type recorder struct {
	testing.TB
	errors int
}

func (r *recorder) Helper()               {}
func (r *recorder) Errorf(string, ...any) { r.errors++ }

func TestCheckGradientsFindsAWrongOne(t *testing.T) {
	in := []graphtest.Input{graphtest.NormalInput(1, "x", 5)}
	for _, c := range []struct {
		wrong float64
		want  int
	}{{0, 0}, {1e-5, 5}} {
		r := &recorder{TB: t}
		graphtest.CheckGradients(r, squares(c.wrong), in)
		if r.errors != c.want {
			t.Errorf("a gradient that is wrong by %v: %d complaints, want %d", c.wrong, r.errors, c.want)
		}
	}
}

func TestErrors(t *testing.T) {
	in := []graphtest.Input{graphtest.NormalInput(1, "x", 2)}
	for _, c := range []struct {
		want string
		dy   [][]float64
	}{
		{"1 results with 2 gradients", [][]float64{{1, 1}, {1, 1}}},
		{"no result enters the gradient", [][]float64{nil}},
	} {
		if _, err := graphtest.Compile[float64](squares(0), in, c.dy, 1); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}
