package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
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
	"ablate/train/metrics"
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

// benchStep times the steps of one shape, first as they are, then with probes
// of every layer at every step.
func (a *app) benchStep(ctx context.Context, s benchShape, seconds float64) (benchResult, error) {
	m, flops, err := a.benchModel(s)
	if err != nil {
		return benchResult{}, err
	}
	defer m.Team.Close()
	debug.FreeOSMemory() // of the symbolic graph
	peak := fmaPeak(a.threads)
	plain, allocs, err := stepTimes(ctx, m, s, seconds, train.Probe{Every: 0})
	if err != nil {
		return benchResult{}, err
	}
	rss := sweep.PeakRSS()
	debug.FreeOSMemory() // of the optimizer, which the next run has anew
	mixed, _, err := stepTimes(ctx, m, s, seconds, train.Probe{Every: 2})
	if err != nil {
		return benchResult{}, err
	}
	peak = max(peak, fmaPeak(a.threads))
	slices.Sort(plain)
	tokens := float64(m.Step.Input("tokens").Len())
	median, best := plain[len(plain)/2].Seconds(), plain[0].Seconds()
	r := benchResult{
		Shape: s.name, Threads: a.threads, TokensPerS: tokens / median, Best: tokens / best, MsPerStep: 1e3 * median,
		GFLOPs: flops * tokens / best / 1e9, Peak: peak, RSS: rss, Allocs: allocs,
		ProbeCost: probeCost(mixed),
		Kernels:   kernel.Path(), Arena: m.Step.Stats().Arena, Phases: m.Step.Stats().Phases,
	}
	r.Share = r.GFLOPs / peak
	return r, nil
}

// probeCost compares the steps of a run that is probed at every second step
// with their neighbours, so that the machine's drift is in both. times begins
// with step number warmSteps.
func probeCost(times []time.Duration) float64 {
	var plain, probed []time.Duration
	for i, t := range times {
		if (warmSteps+i)%2 == 0 {
			probed = append(probed, t)
		} else {
			plain = append(plain, t)
		}
	}
	slices.Sort(plain)
	slices.Sort(probed)
	return probed[len(probed)/2].Seconds()/plain[len(plain)/2].Seconds() - 1
}

// benchModel builds and compiles a shape. Its FLOPs are those of a token.
func (a *app) benchModel(s benchShape) (m *train.Model[float32], flops float64, err error) {
	cfg, err := s.config()
	if err != nil {
		return nil, 0, err
	}
	model, err := nn.New(cfg)
	if err != nil {
		return nil, 0, err
	}
	g, err := model.Train(graph.Float32, s.sequences, cfg.Context)
	if err != nil {
		return nil, 0, err
	}
	p := graph.NewParams[float32](g)
	p.Init(1, "")
	team := graph.NewTeam(a.threads)
	step, err := graph.Compile(g, p, team)
	if err != nil {
		team.Close()
		return nil, 0, err
	}
	return &train.Model[float32]{Params: p, Step: step, Team: team, Layers: cfg.Layers, Width: cfg.DModel}, model.Attest(g).FLOPsPerToken, nil
}

// fixedBatch is the same uniform tokens at every step.
type fixedBatch struct{ tokens, targets []int32 }

func newFixedBatch(n, vocab int) *fixedBatch {
	r := rand.New(rand.NewPCG(1, 1))
	b := &fixedBatch{make([]int32, n), make([]int32, n)}
	for i := range n {
		b.tokens[i], b.targets[i] = r.Int32N(int32(vocab)), r.Int32N(int32(vocab))
	}
	return b
}

func (b *fixedBatch) Batch(tokens, targets []int32, _, _ int) {
	copy(tokens, b.tokens)
	copy(targets, b.targets)
}

// warmSteps are not counted: caches, page faults, the processor's clock.
const warmSteps = 3

// stepTimes trains for some seconds and gives the time of every step, and the
// allocations that one makes.
func stepTimes(ctx context.Context, m *train.Model[float32], s benchShape, seconds float64, probe train.Probe) (times []time.Duration, allocs float64, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	vocab := m.Params.Specs()[0].Shape[0] // of embed.wte
	batch := newFixedBatch(m.Step.Input("tokens").Len(), vocab)
	times = make([]time.Duration, 0, 1<<20)
	last, begun, before, after := time.Now(), time.Time{}, uint64(0), uint64(0)
	job := train.Job[float32]{
		Config: train.Config{
			Steps: 1e9, Batch: s.sequences, Accumulate: 1, Optimizer: "adamw", LR: 3e-4, Betas: [2]float64{0.9, 0.95},
			Eps: 1e-8, WeightDecay: 0.1, Clip: 1, Schedule: "constant",
		},
		Probe: probe, Model: m, Data: train.Data{Train: batch}, Sink: &discard{},
		Progress: func(p train.Progress) {
			now := time.Now()
			switch {
			case p.Step == warmSteps:
				before = mallocs()
				begun = time.Now()
			case p.Step > warmSteps && len(times) < cap(times):
				times = append(times, now.Sub(last))
			}
			if p.Step > warmSteps+4 && now.Sub(begun).Seconds() > seconds {
				after = max(after, mallocs())
				cancel()
			}
			last = time.Now()
		},
	}
	_, err = train.Train(ctx, job)
	return times, float64(after-before) / float64(max(1, len(times))), err
}

// discard formats records, as a file would get them, and drops them.
type discard struct{ buf []byte }

func (d *discard) Step(s metrics.Step) error { d.buf = s.AppendJSON(d.buf[:0]); return nil }
func (d *discard) Layers(rows []metrics.Layer) error {
	for _, r := range rows {
		d.buf = r.AppendJSON(d.buf[:0])
	}
	return nil
}
func (d *discard) Timing(t metrics.Timing) error { d.buf = t.AppendJSON(d.buf[:0]); return nil }
func (d *discard) Flush() error                  { return nil }
func (d *discard) Close() error                  { return nil }

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
