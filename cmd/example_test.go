package cmd_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"

	"ablate/cmd"
	"ablate/graph"
	"ablate/nn"
	"ablate/ops"
)

// Variants from outside of the project: each is a value in a table. The
// arguments stand for those of a program whose main ends in cmd.Main.
func Example() {
	nn.RegisterActivation(nn.Activation{
		Name: "mish", Source: "Misra 2019, arXiv:1908.08681",
		F: ops.Unary{Name: "mish", F: mish, D: mishSlope},
	})
	nn.RegisterNorm(nn.Norm{
		Name: "half_rms", Source: "an example: RMSNorm with gains that start at one half",
		Eps: true,
		Build: func(s nn.Site, x *graph.Node, c nn.NormConfig) *graph.Node {
			return ops.RMSNorm(x, s.Param("w", nn.Constant(0.5), s.Config().DModel), c.Eps, false)
		},
	})
	nn.RegisterPosition(nn.Position{
		Name: "steep", Source: "an example: ALiBi (arXiv:2108.12409) with slopes four times as steep",
		Scores: func(_ nn.Site, o *ops.AttentionOptions, _ nn.PositionConfig) {
			o.Slopes = ops.ALiBiSlopes(o.Heads)
			for i := range o.Slopes {
				o.Slopes[i] *= 4
			}
		},
	})

	dir, err := os.MkdirTemp("", "ablate")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "mine.yaml")
	text := `
model: {layers: 2, d_model: 16, heads: 2, context: 16, activation: mish, norm: half_rms, position: steep, placement: "x + F(N1(x))/2"}
data: {source: text, path: ` + filepath.Join("..", "go.sum") + `}
train: {steps: 2, batch: 2, eval_tokens: 64}
`
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("train exits", cmd.Run([]string{"train", file, "--out", dir, "--progress", "off", "--json"}, discard{}, os.Stderr))
	// Output:
	// train exits 0
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

func mish(x float64) float64 { return x * math.Tanh(math.Log1p(math.Exp(x))) }

func mishSlope(x float64) float64 {
	t := math.Tanh(math.Log1p(math.Exp(x)))
	return t + x*(1-t*t)/(1+math.Exp(-x))
}
