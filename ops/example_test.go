package ops_test

import (
	"fmt"
	"math"

	"ablate/graph"
	"ablate/ops"
)

// An activation of one's own is a name, a function and its derivative.
func ExampleUnary() {
	softplus := ops.Unary{
		Name: "softplus",
		F:    func(x float64) float64 { return math.Log1p(math.Exp(x)) },
		D:    func(x float64) float64 { return 1 / (1 + math.Exp(-x)) },
	}
	g, err := graph.Build(graph.Float32, func(s *graph.Scope) {
		x := s.Floats("x", 1, 3)
		s.Output("y", ops.Activate(x, softplus))
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	team := graph.NewTeam(1)
	defer team.Close()
	p, err := graph.Compile(g, graph.NewParams[float32](g), team)
	if err != nil {
		fmt.Println(err)
		return
	}
	copy(graph.Slice[float32](p.Input("x")), []float32{-1, 0, 1})
	p.Run()
	fmt.Printf("%.4f\n", graph.Slice[float32](p.Output("y")))
	// Output: [0.3133 0.6931 1.3133]
}

// An operand that does not fit is an error of Build that names the sizes.
func ExampleLinear() {
	_, err := graph.Build(graph.Float32, func(s *graph.Scope) {
		ops.Linear(s.Floats("x", 2, 3, 8), s.Floats("w", 5, 7), nil)
	})
	fmt.Println(err)
	// Output: linear of [(2, 3, 8) (5, 7)]: the weight has shape (5, 7), (out, 8) is wanted for x of width 8
}
