package train

import (
	"math"
	"slices"
	"strings"
	"testing"

	"ablate/graph"
	"ablate/train/metrics"
)

// saboteur spoils a run at a step: it is called when the step's batch is drawn.
type saboteur struct {
	Batches
	step  int
	spoil func()
}

func (s saboteur) Batch(tokens, targets []int32, step, micro int) {
	if step == s.step {
		s.spoil()
	}
	s.Batches.Batch(tokens, targets, step, micro)
}

// TestDivergenceIsAResult spoils a run at step 6 in many places. Each ends
// there, keeps the weights of step 6, records the row, and names the place.
func TestDivergenceIsAResult(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	fault := func(m *Model[float64], i int, x float64) func() {
		return func() { graph.Slice[float64](m.Step.Input("fault"))[i] = x }
	}
	for _, c := range []struct {
		name  string
		spoil func(m *Model[float64]) func()
		what  string
		layer int
		where string
	}{
		{"NaN in block 1", func(m *Model[float64]) func() { return fault(m, 1, nan) }, "loss", 1, "the output of block 1"},
		{"infinity in block 0", func(m *Model[float64]) func() { return fault(m, 0, inf) }, "loss", 0, "the output of block 0"},
		{"NaN in the gradient of block 1", func(m *Model[float64]) func() { return fault(m, testBlocks+1, nan) }, "gradient", 0, "block.0.ffn.up, with the gradient of the residual stream at boundary 1 of 3"},
		{"infinity in the gradient of block 2", func(m *Model[float64]) func() { return fault(m, testBlocks+2, inf) }, "gradient", 1, "block.1.ffn.up, with the gradient of the residual stream at boundary 2 of 3"},
		{"huge gradient", func(m *Model[float64]) func() { return fault(m, testBlocks, 1e154) }, "gradient", -1, "embed.wte"},
		{"NaN in a weight", func(m *Model[float64]) func() {
			return func() { m.Params.Value("block.2.ffn.up")[1] = nan }
		}, "weight", 2, "block.2.ffn.up"},
		{"NaN in the head", func(m *Model[float64]) func() {
			return func() { m.Params.Value("head.w")[0] = nan }
		}, "weight", -1, "head.w"},
	} {
		job := testJob[float64](t)
		job.Probe.Params = true
		var before []float64
		spoil := c.spoil(job.Model)
		job.Data.Train = saboteur{job.Data.Train, 6, func() {
			spoil()
			before = slices.Clone(job.Model.Params.Values())
		}}
		r := mustTrain(t, job)
		if r.Status != metrics.Diverged || r.Steps != 6 || r.NonFinite == nil {
			t.Errorf("%s: %+v", c.name, r)
			continue
		}
		n := *r.NonFinite
		if n.Step != 6 || n.What != c.what || n.Layer != c.layer || !strings.Contains(n.Where, c.where) {
			t.Errorf("%s: %+v, want %s in layer %d, %q", c.name, n, c.what, c.layer, c.where)
		}
		if !sameBits(job.Model.Params.Values(), before) {
			t.Errorf("%s: the weights changed", c.name)
		}
		m := job.Sink.(*metrics.Memory)
		last := m.Steps[len(m.Steps)-1]
		if last.Step != 6 || last.Loss.Finite() && last.GradNorm.Finite() || last.ClipCoef != (metrics.Value{}) {
			t.Errorf("%s: last row %+v", c.name, last)
		}
		if rows := m.LayerRows; rows[len(rows)-1].Step != 6 {
			t.Errorf("%s: the layers of the last step are not recorded", c.name)
		}
		checkWeightNorms(t, job)
	}
}

// checkWeightNorms compares the last step's norms of the weights with the weights, which no update has changed, and
// looks for ratios of updates, of which there are none.
func checkWeightNorms(t *testing.T, job Job[float64]) {
	t.Helper()
	m := job.Sink.(*metrics.Memory)
	last := m.LayerRows[len(m.LayerRows)-1].Step
	for _, r := range m.LayerRows {
		if r.Step != last || r.Param == "" {
			continue
		}
		switch r.Quantity {
		case metrics.UpdateRatio:
			t.Errorf("%s has a ratio without an update", r.Param)
		case metrics.WeightNorm:
			want := 0.0
			for _, w := range job.Model.Params.Value(r.Param) {
				want += w * w
			}
			if want = math.Sqrt(want); math.Abs(r.Value.Float()-want) > 1e-12*want {
				t.Errorf("%s has weights of norm %v, not %v", r.Param, want, r.Value)
			}
		}
	}
}

func sameBits(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })
}

// TestGradientTooLongToSquare: in float32 a gradient of 1e20 is finite, but
// its square is not.
func TestGradientTooLongToSquare(t *testing.T) {
	for _, clip := range []Clip{0, 1} {
		job := testJob[float32](t)
		job.Config.Clip = clip
		job.Data.Train = saboteur{job.Data.Train, 6, func() {
			graph.Slice[float32](job.Model.Step.Input("fault"))[testBlocks] = 1e20
		}}
		r := mustTrain(t, job)
		switch {
		case clip == 0 && (r.Status != metrics.Diverged || r.NonFinite.What != "gradient_norm" || r.Steps != 6):
			t.Errorf("without clipping: %+v", r)
		case clip == 1 && r.Status != metrics.Done:
			t.Errorf("clipping saves it, but the run ended %+v", r)
		}
	}
}

// TestInfiniteUpdate: an update of finite numbers overflows; no checkpoint of
// it is saved.
func TestInfiniteUpdate(t *testing.T) {
	job := testJob[float32](t)
	job.Config.LR, job.Config.WeightDecay, job.Config.Warmup = 1e38, 0, Warmup{}
	job.Config.CheckpointEvery = 1
	job.Sink = nil
	job.Checkpoints = mustOpen(t, t.TempDir())
	job.Data.Train = saboteur{job.Data.Train, 0, func() {
		for i := range job.Model.Params.Value("head.w") {
			job.Model.Params.Value("head.w")[i] = 3.4e38
		}
	}}
	r := mustTrain(t, job)
	latest, _, err := job.Checkpoints.Latest()
	if r.Status != metrics.Diverged || err != nil || latest != nil {
		t.Errorf("%+v, saved %v, %v", r, latest, err)
	}
}

// TestInfiniteValidationLoss: the evaluation at the end counts.
func TestInfiniteValidationLoss(t *testing.T) {
	job := testJob[float64](t)
	graph.Slice[float64](job.Model.Eval.Input("fault"))[0] = math.NaN()
	r := mustTrain(t, job)
	if r.Status != metrics.Diverged || r.NonFinite.What != "val_loss" || r.Steps != 20 || !math.IsNaN(r.ValLoss.Float()) {
		t.Errorf("%+v", r)
	}
}

// TestSkippedSteps: told to go on, a run leaves out the update of a step whose
// numbers are not finite, keeps its row, and counts it, across a resumption too.
// A weight that is not finite ends it all the same.
func TestSkippedSteps(t *testing.T) {
	d := &runDir{dir: t.TempDir()}
	spoilt := func(steps int, at ...int) func(*Job[float32]) {
		return func(j *Job[float32]) {
			j.Config.OnNonFinite, j.Config.Steps, j.Config.Schedule = skipNonFinite, steps, "constant"
			fault := graph.Slice[float32](j.Model.Step.Input("fault"))
			batches := j.Data.Train
			j.Data.Train = eachStep{batches, func(step int) {
				fault[0], fault[testBlocks+1] = 0, 0
				if i := slices.Index(at, step); i >= 0 {
					fault[i%2*(testBlocks+1)] = float32(math.NaN()) // in the loss, in the gradient alone
				}
			}}
		}
	}
	var hash string
	for _, steps := range []int{8, 20} { // the second continues the first
		r, err := d.run(t, t.Context(), spoilt(steps, 6, 11))
		if err != nil || r.Status != metrics.Done || r.Steps != int64(steps) || r.Skipped != int64(steps/8) {
			t.Fatalf("%+v, %v", r, err)
		}
		hash = r.WeightsSHA256
	}
	whole := &runDir{dir: t.TempDir()}
	if r, err := whole.run(t, t.Context(), spoilt(20, 6, 11)); err != nil || r.Skipped != 2 || r.WeightsSHA256 != hash {
		t.Errorf("at once: %+v, %v", r, err)
	}

	job := testJob[float64](t)
	job.Config.OnNonFinite = skipNonFinite
	job.Data.Train = saboteur{job.Data.Train, 6, func() { job.Model.Params.Value("head.w")[0] = math.NaN() }}
	if r := mustTrain(t, job); r.Status != metrics.Diverged || r.Steps != 6 || r.Skipped != 0 {
		t.Errorf("a spoilt weight: %+v", r)
	}
}

// eachStep tells when the batch of a step is drawn.
type eachStep struct {
	Batches
	tell func(step int)
}

func (e eachStep) Batch(tokens, targets []int32, step, micro int) {
	e.tell(step)
	e.Batches.Batch(tokens, targets, step, micro)
}
