package train

import (
	"crypto/sha256"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"ablate/graph"
	"ablate/ops/kernel"
	"ablate/train/metrics"
)

// TestStepAllocations: a step between two probes allocates nothing of its own.
// What Team.Do needs is measured beside it.
func TestStepAllocations(t *testing.T) {
	job := testJob[float32](t)
	job.Config.Steps, job.Config.Accumulate = 1_000_000, 2
	job.Probe.Every = 0
	job.Sink = nil
	tr, err := newTrainer(&job)
	if err != nil {
		t.Fatal(err)
	}
	turn := func() {
		row := metrics.Step{Step: int64(tr.step)}
		if err := tr.turn(&row); err != nil || tr.fault != nil {
			t.Fatal(err, tr.fault)
		}
	}
	for range 5 { // past the probe after warm-up
		turn()
	}
	do := testing.AllocsPerRun(100, func() { job.Model.Team.Do(tr.flat.tasks.update.parts, func(int) {}) })
	if got := testing.AllocsPerRun(100, turn); got > 3*do { // adding micro-batches, norms, update
		t.Errorf("%v allocations a step, of which Team.Do makes 3·%v", got, do)
	}
}

// largeParams are parameters of sizes around that of a piece.
func largeParams(t *testing.T) *graph.Params[float32] {
	t.Helper()
	g, err := graph.Build(graph.Float32, func(s *graph.Scope) {
		for i, n := range []int{1, 5, pieceLen - 5, pieceLen, 2*pieceLen + 1, 3, 3} {
			s.Param(graph.ParamSpec{Name: string(rune('a' + i)), Shape: graph.Shape{n}, Decay: i%2 == 0, Init: normal(1)})
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return graph.NewParams[float32](g)
}

// TestFlatWorkIsTheSameForAnyTeam: sums of gradients, norms and updates do not
// depend on the number of workers.
func TestFlatWorkIsTheSameForAnyTeam(t *testing.T) {
	type reading struct {
		values      []float32
		grad, delta []float64
	}
	var want reading
	for _, workers := range []int{1, 2, 5} {
		m := &Model[float32]{Params: largeParams(t), Team: graph.NewTeam(workers)}
		t.Cleanup(m.Team.Close)
		m.Params.Init(1, "")
		cfg := testConfig()
		cfg.Accumulate = 3
		o, _ := lookupOptimizer[float32]("adamw")
		f := newFlat(m, o, cfg)
		for step := range 4 {
			for micro := range cfg.Accumulate {
				normal32(graph.Stream(uint64(step), "", string(rune('a'+micro))), m.Params.Grads())
				f.accumulate(micro)
			}
			f.do(f.tasks.gradNorms)
			f.update(step+1, 0.01, 1, step%2 == 1)
		}
		got := reading{m.Params.Values(), f.gradSq, f.deltaSq}
		if workers == 1 {
			want = got
		}
		if !slices.Equal(got.values, want.values) || !slices.Equal(got.grad, want.grad) || !slices.Equal(got.delta, want.delta) {
			t.Errorf("%d workers give other numbers", workers)
		}
	}
}

// TestGradientSquares: what the program has measured of its gradients stands for them, but not for sums of
// micro-batches, nor for what it does not measure.
func TestGradientSquares(t *testing.T) {
	for _, micros := range []int{1, 3} {
		job := testJob[float32](t)
		job.Config.Accumulate = micros
		tr, err := newTrainer(&job)
		if err != nil {
			t.Fatal(err)
		}
		if err := tr.gradient.compute(0, false); err != nil {
			t.Fatal(err)
		}
		tr.gradNorm()
		byProgram := 0
		for i, s := range tr.flat.specs {
			if tr.flat.measured[i] != nil {
				byProgram++
			}
			from, to := job.Model.Params.Span(s.Name)
			want := kernel.SumSquares(tr.flat.vec.Grads[from:to])
			if got := tr.norms.grad[i]; want == 0 || math.Abs(got/want-1) > 1e-12 {
				t.Errorf("%d micro-batches: Σ g² of %s is %v, want %v", micros, s.Name, got, want)
			}
		}
		if want := map[int]int{1: testBlocks, 3: 0}[micros]; byProgram != want {
			t.Errorf("%d micro-batches: %d gradients measured by the program, want %d", micros, byProgram, want)
		}
	}
}

func normal32(r *rand.Rand, x []float32) {
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
}

func TestPieces(t *testing.T) {
	p := largeParams(t)
	all := pieces(p)
	parts := inParts(all)
	if flat := slices.Concat(parts...); !slices.Equal(flat, all) {
		t.Error("the parts are not the pieces")
	}
	covered := make([]int, len(p.Values()))
	for i, c := range all {
		if c.index != i {
			t.Errorf("piece %d has the number %d", i, c.index)
		}
		from, to := p.Span(p.Specs()[c.param].Name)
		if c.from < from || c.to > to || c.from >= c.to || c.to-c.from > pieceLen {
			t.Errorf("piece %+v of a parameter at [%d, %d)", c, from, to)
		}
		for i := c.from; i < c.to; i++ {
			covered[i]++
		}
	}
	for _, s := range p.Specs() {
		from, to := p.Span(s.Name)
		for i := from; i < to; i++ {
			if covered[i] != 1 {
				t.Fatalf("element %d is in %d pieces", i, covered[i])
			}
		}
	}
	var sizes []int
	for _, part := range parts {
		n := 0
		for _, c := range part {
			n += c.to - c.from
		}
		sizes = append(sizes, n)
	}
	if want := []int{6, pieceLen - 5, pieceLen, pieceLen, pieceLen, 7}; !slices.Equal(sizes, want) {
		t.Errorf("parts of %v elements, want %v", sizes, want)
	}
}

// TestRandomNumbers: the words of dropout differ between seeds, salts, steps
// and micro-batches, and are the same for the same.
func TestRandomNumbers(t *testing.T) {
	draw := func(seed uint64, salt string, step, micro int) [2]int32 {
		var w [2]int32
		key := streamKey(seed, salt, "dropout")
		setRNG(w[:], &key, step, micro)
		return w
	}
	seen := map[[2]int32]string{}
	for _, seed := range []uint64{1, 2} {
		for _, salt := range []string{"", "a"} {
			for step := range 3 {
				for micro := range 3 {
					w := draw(seed, salt, step, micro)
					if before, again := seen[w]; again || w != draw(seed, salt, step, micro) {
						t.Errorf("seed %d, salt %q, step %d, micro %d: %v, as %s", seed, salt, step, micro, w, before)
					}
					seen[w] = salt
				}
			}
		}
	}
	if streamKey(1, "a", "b") == streamKey(1, "", "ab") || streamKey(1, "", "b") == ([sha256.Size]byte{}) {
		t.Error("salt and name run into each other")
	}
}

func TestProbeDue(t *testing.T) {
	for _, c := range []struct {
		probe  Probe
		warmup Warmup
		want   []int
	}{
		{Probe{Every: 8}, Warmup{Steps: 3}, []int{0, 3, 8, 16, 19}},
		{Probe{}, Warmup{Share: 0.5}, []int{0, 10, 19}},
		{Probe{}, Warmup{}, []int{0, 19}},
		{Probe{Every: 10}, Warmup{Steps: 100}, []int{0, 10, 19}},
	} {
		cfg := testConfig()
		cfg.Warmup = c.warmup
		var got []int
		for step := range cfg.Steps {
			if c.probe.Due(step, cfg) {
				got = append(got, step)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v, warm-up %v: %v, want %v", c.probe, c.warmup, got, c.want)
		}
	}
}

// TestClock: speed counts the steps alone, the time left everything, and both
// only this session, whatever step it began with.
func TestClock(t *testing.T) {
	now := time.Duration(0)
	c := clock{now: func() time.Duration { return now }}
	if c.eta(10) != 0 || c.tokensPerS() != 0 {
		t.Error("a pace before the first step")
	}
	for range 4 {
		start := c.now()
		now += 2 * time.Second
		c.stepped(start, 100)
	}
	now += 12 * time.Second // an evaluation
	if c.tokensPerS() != 50 || c.eta(10) != 50*time.Second || c.eta(0) != 0 || c.eta(-3) != 0 {
		t.Errorf("%v tokens/s, %v left", c.tokensPerS(), c.eta(10))
	}
	row, due := c.timing(104, false)
	if !due || row.Step != 104 || row.Seconds.Float() != 20 || row.TokensPerS.Float() != 20 {
		t.Errorf("%+v", row)
	}
	now += time.Second / 2
	if _, due := c.timing(105, false); due {
		t.Error("two rows within half a second")
	}
	if _, due := c.timing(105, true); !due {
		t.Error("no row at the end")
	}
}
