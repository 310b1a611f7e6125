package nn_test

import (
	"fmt"
	"math"

	"ablate/graph"
	"ablate/nn"
	"ablate/ops"
)

// A new activation is a value in a table, and a placement is a formula.
func Example() {
	nn.RegisterActivation(nn.Activation{
		Name: "softplus", Source: "Dugas et al. 2000",
		F: ops.Unary{
			Name: "softplus",
			F:    func(x float64) float64 { return math.Log1p(math.Exp(x)) },
			D:    func(x float64) float64 { return 1 / (1 + math.Exp(-x)) },
		},
	})
	cfg := nn.Default()
	cfg.Layers, cfg.DModel, cfg.Activation = 3, 16, "softplus"
	cfg.Placement = nn.Place("x + N2(F(N1(x)))/sqrt(2*l)")
	cfg, err := cfg.Resolve(256)
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err := nn.New(cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	g, err := m.Train(graph.Float32, 4, cfg.Context)
	if err != nil {
		fmt.Println(err)
		return
	}
	a := m.Attest(g)
	for _, p := range a.Placements() {
		fmt.Println(p)
	}
	fmt.Println(a.Params, "parameters,", a.Blocks[0].Params, "in a block")
	// Output:
	// 0 x + 0.707107*N2(F(N1(x)))
	// 1 x + 0.5*N2(F(N1(x)))
	// 2 x + 0.408248*N2(F(N1(x)))
	// 13520 parameters, 3136 in a block
}
