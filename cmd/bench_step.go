package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"ablate/experiments/sweep"
	"ablate/graph"
	"ablate/nn"
	"ablate/ops/kernel"
	"ablate/train"
)

// benchSteps times every shape and prints a row or an object for each.
func (a *app) benchSteps(ctx context.Context, shapes []benchShape, seconds float64) error {
	var all []benchResult
	if !a.json {
		a.benchHeader()
	}
	for _, s := range shapes {
		r, err := a.benchApart(ctx, s, seconds, len(shapes) > 1)
		if err != nil {
			return err
		}
		all = append(all, r)
		if !a.json {
			a.benchRow(r)
			if err := a.stdout.Flush(); err != nil {
				return err
			}
		}
	}
	if a.json {
		return a.printJSON(all)
	}
	return nil
}

// benchApart times one shape; in a process of its own where others are timed
// too, so that neither the peak of memory nor the heap is theirs.
func (a *app) benchApart(ctx context.Context, s benchShape, seconds float64, apart bool) (benchResult, error) {
	self, err := os.Executable()
	if !apart || err != nil {
		return a.benchStep(ctx, s, seconds)
	}
	c := exec.CommandContext(ctx, self, "bench", s.name, "--json", fmt.Sprint("--seconds=", seconds), fmt.Sprint("--threads=", a.threads))
	c.Stderr = a.stderr
	out, err := c.Output()
	if err != nil {
		return benchResult{}, fmt.Errorf("bench %s in a process of its own: %w", s.name, err)
	}
	var r []benchResult
	if err := json.Unmarshal(out, &r); err != nil {
		return benchResult{}, err
	}
	return r[0], nil
}

// benchStep times the steps of one shape, then measures what its probes cost.
func (a *app) benchStep(ctx context.Context, s benchShape, seconds float64) (benchResult, error) {
	m, flops, err := a.benchModel(s)
	if err != nil {
		return benchResult{}, err
	}
	defer m.Team.Close()
	debug.FreeOSMemory() // of the symbolic graph
	peak := fmaPeak(a.threads)
	times, allocs, err := stepTimes(ctx, m, s, seconds)
	if err != nil {
		return benchResult{}, err
	}
	rss := sweep.PeakRSS()
	debug.FreeOSMemory() // of the optimizer, which the next runs have anew
	cost, err := probeCost(ctx, m, s, seconds)
	if err != nil {
		return benchResult{}, err
	}
	peak = max(peak, fmaPeak(a.threads))
	slices.Sort(times)
	tokens := float64(m.Step.Input("tokens").Len())
	median, best := times[len(times)/2].Seconds(), times[0].Seconds()
	r := benchResult{
		Shape: s.name, Threads: a.threads, TokensPerS: tokens / median, Best: tokens / best, MsPerStep: 1e3 * median,
		GFLOPs: flops * tokens / best / 1e9, Peak: peak, RSS: rss, Allocs: allocs,
		ProbeCost: cost.median, ProbeCI: cost.ci, Kernels: kernel.Path(), Arena: m.Step.Stats().Arena, Phases: m.Step.Stats().Phases,
	}
	r.Share = r.GFLOPs / peak
	return r, nil
}

// benchModel builds and compiles a shape. Its FLOPs are those of a token.
func (a *app) benchModel(s benchShape) (m *train.Model[float32], flops float64, err error) {
	m = &train.Model[float32]{Team: graph.NewTeam(a.threads)}
	if flops, err = s.compile(m); err != nil {
		m.Team.Close()
		return nil, 0, err
	}
	return m, flops, nil
}

// compile completes a model that has a team.
func (s benchShape) compile(m *train.Model[float32]) (flops float64, err error) {
	cfg, err := s.config()
	if err != nil {
		return 0, err
	}
	model, err := nn.New(cfg)
	if err != nil {
		return 0, err
	}
	g, err := model.Train(graph.Float32, s.sequences, cfg.Context)
	if err != nil {
		return 0, err
	}
	m.Params = graph.NewParams[float32](g)
	m.Params.Init(1, "")
	m.Layers, m.Width = cfg.Layers, cfg.DModel
	if m.Step, err = graph.Compile(g, m.Params, m.Team); err != nil {
		return 0, err
	}
	return model.Attest(g).FLOPsPerToken, nil
}

// fmaPeak is the sum of the best windows of independent multiply-adds on all
// threads at once, in GFLOP/s.
func fmaPeak(threads int) float64 {
	const windows, length = 4, 50 * time.Millisecond
	best := 0.0
	for range windows {
		var wg sync.WaitGroup
		rates := make([]float64, threads)
		for i := range rates {
			wg.Go(func() { rates[i] = kernel.FMAPeak(length) })
		}
		wg.Wait()
		sum := 0.0
		for _, r := range rates {
			sum += r
		}
		best = max(best, sum)
	}
	return best
}

func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}
