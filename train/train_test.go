package train

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"

	"ablate/data"
	"ablate/graph"
	"ablate/ops/kernel"
	"ablate/train/metrics"
)

func mustTrain[T graph.Float](t testing.TB, job Job[T]) *Result {
	t.Helper()
	r, err := Train(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestLossFalls(t *testing.T) {
	for _, optimizer := range []OptimizerName{"adamw", "sgd"} {
		job := testJob[float32](t)
		job.Config.Optimizer, job.Config.Momentum = optimizer, 0.9
		job.Config.Steps, job.Config.EvalEvery = 300, 0
		if optimizer == "sgd" {
			job.Config.LR = 0.3
		}
		r := mustTrain(t, job)
		first := job.Sink.(*metrics.Memory).Steps[0].Loss.Float()
		// Of ten tokens nine follow from the last; the rest is even: 0.47 nats.
		if r.Status != metrics.Done || r.ValLoss.Float() > 0.9 || first < 1.5 {
			t.Errorf("%s: %s, loss from %.3f to a validation loss of %v, want below 0.9", optimizer, r.Status, first, r.ValLoss)
		}
	}
}

func TestRows(t *testing.T) {
	job := testJob[float64](t)
	job.Probe.Params = true
	r := mustTrain(t, job)
	m := job.Sink.(*metrics.Memory)
	if len(m.Steps) != 21 || r.Steps != 20 {
		t.Fatalf("%d rows and %d updates, want 21 and 20", len(m.Steps), r.Steps)
	}
	tokens := int64(0)
	for i, s := range m.Steps[:20] {
		probed := slices.Contains([]int{0, 3, 5, 10, 15, 19}, i)
		if s.Step != int64(i) || s.Tokens != tokens || s.LR.Float() != job.Config.LearningRate(i) {
			t.Errorf("row %d: step %d, tokens %d, lr %v", i, s.Step, s.Tokens, s.LR)
		}
		if s.UpdateRatio.Finite() != probed || s.ValLoss.Finite() != (i == 7 || i == 14) {
			t.Errorf("row %d: update ratio %v, validation loss %v", i, s.UpdateRatio, s.ValLoss)
		}
		if want := min(1, 1/(s.GradNorm.Float()+1e-6)); s.ClipCoef.Float() != want {
			t.Errorf("row %d: clip coefficient %v, want %v", i, s.ClipCoef, want)
		}
		tokens += 4 * testTime
	}
	last := m.Steps[20]
	if last.Step != 20 || last.Tokens != tokens || last.Loss.Finite() || last.ValLoss != r.ValLoss || last.ValPPL.Float() != math.Exp(r.ValLoss.Float()) {
		t.Errorf("last row %+v", last)
	}
	if r.Tokens != tokens || r.TrainLoss != m.Steps[19].Loss || r.GradNorm != m.Steps[19].GradNorm || r.ValTargets != 189 {
		t.Errorf("result %+v", r)
	}
}

// sumOf adds the squares of the values of a quantity.
func sumOf(rows []metrics.Layer, step int64, quantity string, in func(metrics.Layer) bool) float64 {
	s := 0.0
	for _, r := range rows {
		if r.Step == step && r.Quantity == quantity && in(r) {
			s += r.Value.Float() * r.Value.Float()
		}
	}
	return s
}

func TestLayerRowsAddUp(t *testing.T) {
	job := testJob[float64](t)
	job.Probe.Params = true
	mustTrain(t, job)
	m := job.Sink.(*metrics.Memory)
	outside := func(r metrics.Layer) bool {
		return r.Layer == metrics.NoLayer && r.Module != metrics.ModuleTotal && r.Param == ""
	}
	for _, step := range []int64{0, 3, 10, 19} {
		for _, q := range []string{metrics.GradNorm, metrics.WeightNorm} {
			total := sumOf(m.LayerRows, step, q, func(r metrics.Layer) bool { return r.Module == metrics.ModuleTotal })
			parts := map[string]float64{
				"blocks": sumOf(m.LayerRows, step, q, func(r metrics.Layer) bool { return r.Module == metrics.ModuleBlock || outside(r) }),
				"modules": sumOf(m.LayerRows, step, q, func(r metrics.Layer) bool {
					return r.Layer >= 0 && r.Module != metrics.ModuleBlock && r.Param == "" || outside(r)
				}),
				"params": sumOf(m.LayerRows, step, q, func(r metrics.Layer) bool { return r.Param != "" }),
			}
			for name, s := range parts {
				if math.Abs(s-total) > 1e-12*total {
					t.Errorf("step %d, %s: the squares of the %s add up to %v, not to %v", step, q, name, s, total)
				}
			}
			if q == metrics.GradNorm && math.Abs(math.Sqrt(total)-m.Steps[step].GradNorm.Float()) > 1e-12 {
				t.Errorf("step %d: total %v, in the row %v", step, math.Sqrt(total), m.Steps[step].GradNorm)
			}
		}
	}
	counts := map[string]int{}
	norm := 0.0 // in the row before
	for _, r := range m.LayerRows {
		if r.Step == 0 {
			counts[r.Quantity]++
		}
		if want := norm / math.Sqrt(float64(r.Numel)); r.Quantity == metrics.GradRMS && r.Value.Float() != want {
			t.Errorf("step %d, layer %d, %s: an RMS of %v, want %v", r.Step, r.Layer, r.Module, r.Value, want)
		}
		norm = r.Value.Float()
	}
	// 3 blocks, 2 modules each, 2 modules outside, a total, 8 parameters; 4 boundaries
	for q, want := range map[string]int{metrics.GradNorm: 20, metrics.GradRMS: 20, metrics.WeightNorm: 20, metrics.UpdateRatio: 20,
		metrics.StreamRMS: 4, metrics.StreamGradNorm: 4, metrics.StreamGradRMSToken: 4} {
		if counts[q] != want {
			t.Errorf("%d rows of %s, want %d", counts[q], q, want)
		}
	}
}

// TestUpdateRatio compares the recorded norms and ratios with weights before and after.
func TestUpdateRatio(t *testing.T) {
	job := testJob[float64](t)
	job.Config.Steps, job.Probe.Params = 1, true
	before := slices.Clone(job.Model.Params.Values())
	mustTrain(t, job)
	p := job.Model.Params
	for _, r := range job.Sink.(*metrics.Memory).LayerRows {
		if r.Param == "" || r.Quantity != metrics.UpdateRatio && r.Quantity != metrics.WeightNorm {
			continue
		}
		var dw, w float64
		from, to := p.Span(r.Param)
		for i := from; i < to; i++ {
			dw += (p.Values()[i] - before[i]) * (p.Values()[i] - before[i])
			w += before[i] * before[i]
		}
		want := math.Sqrt(dw / w)
		if r.Quantity == metrics.WeightNorm {
			want = math.Sqrt(w)
		}
		if math.Abs(r.Value.Float()-want) > 1e-12*max(1, want) || want == 0 {
			t.Errorf("%s: %s %v, want %v", r.Param, r.Quantity, r.Value, want)
		}
	}
}

// micro is a source of batches in which every row has its own number of
// targets; it deals the same eight rows a step however they are grouped.
type micro struct{ data Batches }

func (m micro) Batch(tokens, targets []int32, step, number int) {
	m.data.Batch(tokens, targets, step, number)
	rows := len(tokens) / testTime
	for r := range rows {
		for i := range (number*rows + r) % 5 {
			targets[r*testTime+i] = data.Ignore
		}
	}
}

// TestAccumulationIsExact: 1×8, 2×4 and 8×1 sequences of unequal lengths have
// the same loss, gradient and stream, because sums are divided once, by the
// targets of the whole step.
func TestAccumulationIsExact(t *testing.T) {
	type reading struct {
		steps []metrics.Step
		rows  []metrics.Layer
	}
	run := func(rows, times int) reading {
		job := testJob[float64](t)
		job.Model = newTestModel[float64](t, rows, 3, 2)
		job.Config.Batch, job.Config.Accumulate, job.Config.Steps, job.Probe = rows, times, 5, Probe{Every: 1, Params: true}
		job.Data.Train = micro{job.Data.Train}
		mustTrain(t, job)
		m := job.Sink.(*metrics.Memory)
		return reading{m.Steps, m.LayerRows}
	}
	whole := run(8, 1)
	for _, shape := range [][2]int{{4, 2}, {2, 4}, {1, 8}} {
		got := run(shape[0], shape[1])
		for i, s := range got.steps {
			w := whole.steps[i]
			for _, pair := range [][2]metrics.Value{{s.Loss, w.Loss}, {s.GradNorm, w.GradNorm}, {s.UpdateRatio, w.UpdateRatio}, {s.ValLoss, w.ValLoss}} {
				if !near(pair[0], pair[1]) {
					t.Errorf("%v, row %d: %v instead of %v", shape, i, pair[0], pair[1])
				}
			}
		}
		for i, r := range got.rows {
			w := whole.rows[i]
			if !near(r.Value, w.Value) || r.Numel != w.Numel || r.Layer != w.Layer {
				t.Errorf("%v: %+v instead of %+v", shape, r, w)
			}
		}
	}
}

func near(a, b metrics.Value) bool {
	x, y := a.Float(), b.Float()
	return a == b || math.Abs(x-y) <= 1e-9*(math.Abs(x)+math.Abs(y))
}

// TestStreamDefinitions recomputes the quantities of the stream by hand at
// step 0, from the outputs of the program.
func TestStreamDefinitions(t *testing.T) {
	job := testJob[float64](t)
	job.Config.Steps = 1
	job.Data.Train = micro{job.Data.Train}
	tokens, targets := make([]int32, 4*testTime), make([]int32, 4*testTime)
	job.Data.Train.Batch(tokens, targets, 0, 0)
	n := 0
	for _, x := range targets {
		if x != data.Ignore {
			n++
		}
	}
	mustTrain(t, job)
	norm := func(name string, l int) float64 {
		return math.Sqrt(kernel.SumSquares(graph.Slice[float64](job.Model.Step.Output(fmt.Sprint(name, l)))))
	}
	for _, r := range job.Sink.(*metrics.Memory).LayerRows {
		if r.Module != metrics.ModuleStream || r.Step != 0 {
			continue
		}
		stream, gradient := norm("stream_norm.", r.Layer), norm("stream_grad_norm.", r.Layer)
		want := map[string]float64{
			metrics.StreamRMS:          stream / math.Sqrt(4*testTime*testWidth),
			metrics.StreamGradNorm:     gradient,
			metrics.StreamGradRMSToken: float64(n) * gradient / math.Sqrt(4*testTime),
		}[r.Quantity]
		if math.Abs(r.Value.Float()-want) > 1e-12*want || r.Numel != 4*testTime*testWidth {
			t.Errorf("boundary %d, %s: %v over %d, want %v", r.Layer, r.Quantity, r.Value, r.Numel, want)
		}
	}
}

func TestEvaluationIsIndependentOfBatchSize(t *testing.T) {
	var want float64
	var wantAll []PositionSum
	w := testData().Validation.Windows(testTime, 0)
	for _, rows := range []int{1, 3, 8, 64} {
		m := newTestModel[float32](t, 4, rows, 2)
		got, whole := Evaluate(m.Eval, w, nil)
		r := EvaluateByPosition(m.Eval, w)
		if want == 0 {
			want, wantAll = got, r.All
		}
		if !whole || got != want || !(got > 0) {
			t.Errorf("batches of %d rows: %v, batches of 1: %v", rows, got, want)
		}
		if r.Loss != want || !slices.Equal(r.All, wantAll) {
			t.Errorf("batches of %d rows, by position: %v, batches of 1: %v %v", rows, r, want, wantAll)
		}
		if mean, n := r.Mean(0, testTime); n != w.Targets() || math.Abs(mean-want) > 1e-12*want {
			t.Errorf("all positions together: %v of %d targets, want %v of %d", mean, n, want, w.Targets())
		}
	}
}

func TestMeasuringChangesNothing(t *testing.T) {
	var want string
	for _, change := range []func(*Job[float32]){
		func(*Job[float32]) {},
		func(j *Job[float32]) { j.Config.EvalEvery = 1 },
		func(j *Job[float32]) { j.Config.EvalEvery, j.Data.Validation = 0, data.Tokens{} },
		func(j *Job[float32]) { j.Probe = Probe{Every: 1, Params: true} },
		func(j *Job[float32]) { j.Probe, j.Sink = Probe{}, nil },
		func(j *Job[float32]) { j.Progress = func(Progress) {} },
		func(j *Job[float32]) { j.Model = newTestModel[float32](t, 4, 5, 3) },
	} {
		job := testJob[float32](t)
		change(&job)
		got := mustTrain(t, job).WeightsSHA256
		if want == "" {
			want = got
		}
		if got != want {
			t.Errorf("config %+v, probe %+v: other weights", job.Config, job.Probe)
		}
	}
}

func TestWeightsSHA256(t *testing.T) {
	m := newTestModel[float32](t, 1, 1, 1)
	a := WeightsSHA256(m.Params)
	m.Params.Value("block.1.ffn.up")[2] += 1e-6
	b := WeightsSHA256(m.Params)
	m.Params.Value("block.1.ffn.up")[2] -= 1e-6
	if len(a) != 64 || a == b {
		t.Errorf("%s and, with one weight changed, %s", a, b)
	}
}

func TestProgress(t *testing.T) {
	job := testJob[float32](t)
	steps, evaluations := 0, 0
	job.Progress = func(p Progress) {
		switch {
		case p.Steps != 20 || p.ETA < 0:
			t.Errorf("%+v", p)
		case p.Evaluated > 0:
			evaluations++
		case p.Step == steps+1:
			steps++
			if p.TokensPerS <= 0 || !(p.Loss > 0) || p.GradNorm <= 0 {
				t.Errorf("%+v", p)
			}
		}
	}
	mustTrain(t, job)
	if steps != 20 || evaluations == 0 {
		t.Errorf("told of %d steps and %d parts of evaluations", steps, evaluations)
	}
}

func TestTrainRefuses(t *testing.T) {
	for _, c := range []struct {
		want   string
		change func(*Job[float32])
	}{
		{"lr: 0 is no positive number", func(j *Job[float32]) { j.Config.LR = 0 }},
		{"every: -1 is below 0", func(j *Job[float32]) { j.Probe.Every = -1 }},
		{"train: the training program has batches of 4 rows, the configuration of 5", func(j *Job[float32]) { j.Config.Batch = 5 }},
		{`train: validation data, but no program that gives "nll"`, func(j *Job[float32]) { j.Model.Eval = nil }},
		{"train: checkpoints need a sink that can be cut back", func(j *Job[float32]) { j.Checkpoints = &Checkpoints{} }},
		{"step 0: train: step 0 has no targets", func(j *Job[float32]) { j.Data.Train = silent{} }},
	} {
		job := testJob[float32](t)
		c.change(&job)
		before := slices.Clone(job.Model.Params.Values())
		_, err := Train(context.Background(), job)
		if err == nil || err.Error() != c.want {
			t.Errorf("got %v, want %q", err, c.want)
		}
		if !slices.Equal(before, job.Model.Params.Values()) {
			t.Errorf("%s: the weights changed", c.want)
		}
	}
}

// silent is a source without targets.
type silent struct{}

func (silent) Batch(tokens, targets []int32, _, _ int) {
	clear(tokens)
	for i := range targets {
		targets[i] = data.Ignore
	}
}

func TestNonFiniteIsJSON(t *testing.T) {
	b, err := json.Marshal(NonFinite{Step: 3, What: "loss", Layer: 1, Where: "x"})
	if err != nil || string(b) != `{"step":3,"what":"loss","layer":1,"where":"x"}` {
		t.Errorf("%s, %v", b, err)
	}
}
