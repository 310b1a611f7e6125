package cmd

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ablate/experiments/config"
	"ablate/nn"
	"ablate/ops/kernel"
)

// benchShape is a model and a batch whose training step is timed.
type benchShape struct {
	name      string
	sequences int
	keys      string // of the model, as on the command line
}

const (
	gptKeys   = " activation=gelu norm=layernorm position=learned embedding.tied=true ffn.bias=true attention.bias=all vocab=256"
	llamaKeys = " activation=swiglu norm=rmsnorm position=rope embedding.tied=false vocab=8192"
)

// benchShapes are the shapes that speed is judged by: small and narrow, wide,
// modern, and deep.
var benchShapes = []benchShape{
	{"ci-tiny", 8, "layers=2 d_model=64 heads=4 d_ff=256 context=64" + gptKeys},
	{"nano", 8, "layers=4 d_model=128 heads=4 d_ff=512 context=128" + gptKeys},
	{"small", 8, "layers=6 d_model=384 heads=6 d_ff=1536 context=256" + gptKeys},
	{"llama-small", 4, "layers=8 d_model=512 heads=8 kv_heads=2 d_ff=1408 context=256" + llamaKeys},
	{"deep-narrow-pre", 4, "layers=48 d_model=64 heads=4 d_ff=256 context=64" + gptKeys},
	{"deep-narrow-post", 4, "placement=post layers=48 d_model=64 heads=4 d_ff=256 context=64" + gptKeys},
}

// config is the shape's model.
func (s benchShape) config() (nn.Config, error) {
	var c nn.Config
	t, err := config.ParseArgs(strings.Fields(s.keys))
	if err != nil {
		return c, err
	}
	if err := config.Decode(t, &c); err != nil {
		return c, err
	}
	return c.Resolve(0)
}

// flopsFormula says what is counted; nn.Attestation counts it on the graph.
const flopsFormula = "6 for every weight of a matrix product, and 12·L·H·hd·T/2 for causal attention (visible keys only under a window)"

func (a *app) bench() *cobra.Command {
	var seconds float64
	var scaling bool
	var file string
	c := &cobra.Command{
		Use:   "bench [SHAPE …|gemm|generate]",
		Short: "Measure the speed of the training step",
		Long: "Bench times forward, backward, clipping and AdamW on one fixed batch, and compares\n" +
			"with the floating-point peak measured in the same process on the same threads.\n\n" +
			"FLOPs of a token: " + flopsFormula + ".\n\n" +
			"Shapes: " + strings.Join(shapeNames(), ", ") + "; gemm times bare matrix products,\n" +
			"generate greedy generation with a cache.",
		RunE: func(c *cobra.Command, names []string) error {
			if seconds <= 0 || seconds > 3600 {
				return usageErrorf("--seconds %v: more than 0, at most 3600", seconds)
			}
			if scaling {
				if len(names) > 0 {
					return usageErrorf("bench --scaling takes no shape")
				}
				return a.benchScaling(c.Context(), seconds, file)
			}
			if slices.Equal(names, []string{"gemm"}) {
				return a.benchGEMM(seconds)
			}
			if slices.Equal(names, []string{"generate"}) {
				return a.benchGenerate(c.Context(), seconds)
			}
			shapes, err := pickShapes(names)
			if err != nil {
				return err
			}
			return a.benchSteps(c.Context(), shapes, seconds)
		},
	}
	c.Flags().Float64Var(&seconds, "seconds", 3, "time for each shape, or for all products")
	c.Flags().BoolVar(&scaling, "scaling", false, "time steps as layers, width, context, batch and threads grow, and fit exponents")
	c.Flags().StringVar(&file, "file", "", "with --scaling: draw the figure into `FILE`.png, .svg or .pdf")
	return c
}

func shapeNames() []string {
	var names []string
	for _, s := range benchShapes {
		names = append(names, s.name)
	}
	return names
}

func pickShapes(names []string) ([]benchShape, error) {
	if len(names) == 0 {
		return benchShapes, nil
	}
	var out []benchShape
	for _, name := range names {
		i := slices.IndexFunc(benchShapes, func(s benchShape) bool { return s.name == name })
		if i < 0 {
			return nil, usageErrorf("bench: no shape %q; there are %s, gemm and generate%s", name, strings.Join(shapeNames(), ", "), didYouMean(config.Suggest(name, shapeNames())))
		}
		out = append(out, benchShapes[i])
	}
	return out, nil
}

func (a *app) benchHeader() {
	a.printf("%d threads, kernels %s. FLOPs of a token: %s.\n", a.threads, kernel.Path(), flopsFormula)
	a.printf("%-17s %10s %10s %9s %8s %8s %7s %7s %9s %7s %17s\n", "shape", "tokens/s", "best", "ms/step", "GFLOP/s", "peak", "share", "allocs", "peak RSS", "probes", "(95 %)")
}

func (a *app) benchRow(r benchResult) {
	a.printf("%-17s %10.0f %10.0f %9.3f %8.1f %8.1f %6.1f%% %7.0f %6.0f MB %6.2f%% %+7.2f … %+5.2f%%\n", r.Shape, r.TokensPerS, r.Best, r.MsPerStep,
		r.GFLOPs, r.Peak, 100*r.Share, r.Allocs, float64(r.RSS)/1e6, 100*r.ProbeCost, 100*r.ProbeCI[0], 100*r.ProbeCI[1])
}

// benchResult is one object of the list that bench --json prints.
type benchResult struct {
	Shape      string  `json:"shape"`
	Threads    int     `json:"threads"`
	TokensPerS float64 `json:"tokens_per_s"`
	Best       float64 `json:"tokens_per_s_best"`
	MsPerStep  float64 `json:"ms_per_step"`
	GFLOPs     float64 `json:"gflops"`
	Peak       float64 `json:"peak_gflops"`
	Share      float64 `json:"peak_share"`
	Allocs     float64 `json:"allocs_per_step"`
	RSS        int64   `json:"peak_rss_bytes"`
	ProbeCost  float64 `json:"probe_cost"`
	Kernels    string  `json:"kernels"`
	Arena      int     `json:"arena_bytes"`
	Phases     int     `json:"phases"`

	ProbeCI [2]float64 `json:"probe_cost_ci95"` // where ProbeCost is with 95 %
}
