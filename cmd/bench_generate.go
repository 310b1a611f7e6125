package cmd

import (
	"context"
	"slices"
	"time"

	"ablate/experiments/sweep"
	"ablate/graph"
	"ablate/nn"
	"ablate/ops/kernel"
)

// What bench generate does: greedy texts of so many tokens after one, with a
// cache, one text at a time.
const (
	generateShape  = "llama-small"
	generateTokens = 128
)

// generateResult is one object of the list that bench generate --json prints.
type generateResult struct {
	Shape      string  `json:"shape"`
	Threads    int     `json:"threads"`
	Tokens     int     `json:"tokens"` // of a text
	TokensPerS float64 `json:"tokens_per_s"`
	Best       float64 `json:"tokens_per_s_best"`
	MsPerToken float64 `json:"ms_per_token"`
	Weights    int     `json:"weight_bytes_per_token"`
	GBPerS     float64 `json:"gb_per_s"`      // of weights, in the best text
	ReadGBPerS float64 `json:"read_gb_per_s"` // of one large matrix, by the same product
	Kernels    string  `json:"kernels"`
	RSS        int64   `json:"peak_rss_bytes"` // before the large matrix
}

// benchGenerate times greedy generation.
func (a *app) benchGenerate(ctx context.Context, seconds float64) error {
	shapes, err := pickShapes([]string{generateShape})
	if err != nil {
		return err
	}
	cfg, err := shapes[0].config()
	if err != nil {
		return err
	}
	m, err := nn.New(cfg)
	if err != nil {
		return err
	}
	g, err := m.Decode(graph.Float32, 1, generateTokens+1)
	if err != nil {
		return err
	}
	p := graph.NewParams[float32](g)
	p.Init(1, "")
	team := graph.NewTeam(a.threads)
	defer team.Close()
	times, err := generateTimes(ctx, m, p, team, seconds)
	if err != nil {
		return err
	}
	rss := sweep.PeakRSS()
	slices.Sort(times)
	median, best := times[len(times)/2].Seconds()/generateTokens, times[0].Seconds()/generateTokens
	r := generateResult{
		Shape: generateShape, Threads: a.threads, Tokens: generateTokens, TokensPerS: 1 / median, Best: 1 / best, MsPerToken: 1e3 * median,
		Weights: weightBytes(p), ReadGBPerS: readRate(team), Kernels: kernel.Path(), RSS: rss,
	}
	r.GBPerS = float64(r.Weights) / best / 1e9
	if a.json {
		return a.printJSON([]generateResult{r})
	}
	a.printf("%s, greedy, one text of %d tokens, %d threads, kernels %s\n", r.Shape, r.Tokens, r.Threads, r.Kernels)
	a.printf("%.1f tokens/s, best %.1f, %.2f ms a token\n", r.TokensPerS, r.Best, r.MsPerToken)
	a.printf("%.1f MB of weights a token: %.1f GB/s; reading one large matrix: %.1f GB/s\n", float64(r.Weights)/1e6, r.GBPerS, r.ReadGBPerS)
	return nil
}

// generateTimes generates texts for some seconds and gives the time of each.
func generateTimes(ctx context.Context, m *nn.Model, p *graph.Params[float32], team *graph.Team, seconds float64) ([]time.Duration, error) {
	g, err := nn.NewGenerator(m, p, team, nn.GeneratorOptions{Capacity: generateTokens + 1})
	if err != nil {
		return nil, err
	}
	greedy, err := nn.NewSampler(nn.Sampling{}, 0)
	if err != nil {
		return nil, err
	}
	var times []time.Duration
	for begun := time.Now(); ctx.Err() == nil && (len(times) < warmSteps || time.Since(begun).Seconds() < seconds); {
		t := time.Now()
		g.Reset()
		if err := g.Feed(1); err != nil {
			return nil, err
		}
		if err := g.Generate(generateTokens, greedy, nil); err != nil {
			return nil, err
		}
		times = append(times, time.Since(t))
	}
	if len(times) == 0 {
		return nil, ctx.Err()
	}
	return times, nil
}

// weightBytes is what a token reads of the parameters: every matrix but the
// embedding, of which it takes a row.
func weightBytes(p *graph.Params[float32]) int {
	n := 0
	for _, s := range p.Specs() {
		if s.Decay && s.Role != "embedding" {
			n += 4 * s.Size()
		}
	}
	return n
}

// readRate is the best rate, in GB/s, at which the team multiplies one large
// matrix by a vector: the speed of memory.
func readRate(team *graph.Team) float64 {
	const rows, cols, part = 1 << 13, 1 << 13, 1 << 3
	w, x, y := make([]float32, rows*cols), make([]float32, cols), make([]float32, rows)
	for i := range w { // or all pages would be one
		w[i] = 1
	}
	best := bestTime(500*time.Millisecond, func() {
		team.Do(rows/part, func(i int) {
			kernel.MulDots(1, rows, cols, x, cols, w, cols, y, rows, i*part, (i+1)*part, kernel.Epilogue[float32]{})
		})
	})
	return 4 * rows * cols / best.Seconds() / 1e9
}
