package sweep

import (
	"math"
	"testing"

	"ablate/experiments/config"
	"ablate/graph"
	"ablate/nn"
	"ablate/nn/presets"
	"ablate/train/metrics"
)

// families are the presets of which each has something of its own.
var families = []string{
	"vaswani2017", "gpt1", "bert", "gpt2", "nanogpt", "t5", "t5.1.1", "palm", "llama1", "llama2-7b", "llama2-70b", "llama3-8b", "llama3.1-8b", "mistral-7b",
	"qwen2.5", "qwen2.5-0.5b", "qwen3", "qwen3-0.6b", "gemma1", "gemma1-7b", "gemma2", "gemma3", "olmo2", "nanochat", "deepnorm", "subln", "lns", "mixln",
	"hybridnorm", "hybridnorm-star", "dyt",
}

// TestSmallTwinsTrain trains each small preset for two steps, through everything
// that a run goes through.
func TestSmallTwinsTrain(t *testing.T) {
	if testing.Short() {
		t.Skip("trains some thirty models")
	}
	for _, name := range families {
		name += presets.Tiny
		tree, err := config.ParseArgs([]string{"model.preset=" + name, "data={source: text, path: testdata/text.txt}", "train.steps=2",
			"train.batch=2", "train.warmup=0", "train.lr=1e-3", "train.eval_tokens=64", "train.checkpoint_every=2"})
		if err != nil {
			t.Fatal(err)
		}
		p, err := Single(tree)
		if err != nil {
			t.Fatal(err)
		}
		if s := run(t, p, t.TempDir(), Options{Threads: 2})[0].Summary; s.Status != metrics.Done || s.Steps != 2 || !s.ValLoss.Finite() || s.ValLoss.Float() > 8 {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// TestGradientsOfSmallTwins compares elements of a sample of the gradients of each
// small preset, at its own initial values, with central differences.
func TestGradientsOfSmallTwins(t *testing.T) {
	if testing.Short() {
		t.Skip("some hundreds of evaluations in float64")
	}
	for i, name := range families {
		name += presets.Tiny
		c := presetModel(t, name)
		c.Context, c.Vocab = 6, 24
		checkSample(t, name, c, uint64(i))
	}
}

// checkSample checks three elements.
func checkSample(t *testing.T, name string, c nn.Config, seed uint64) {
	t.Helper()
	m, err := nn.New(c)
	if err != nil {
		t.Fatal(err)
	}
	g, err := m.Train(graph.Float64, 1, c.Context)
	if err != nil {
		t.Fatal(err)
	}
	team := graph.NewTeam(1)
	defer team.Close()
	params := graph.NewParams[float64](g)
	params.Init(seed, "")
	prog, err := graph.Compile(g, params, team)
	if err != nil {
		t.Fatal(err)
	}
	rng := graph.Stream(seed, "", "sample")
	for _, input := range []string{"tokens", "targets"} {
		ids := graph.Slice[int32](prog.Input(input))
		for i := range ids {
			ids[i] = int32(rng.IntN(int(c.Vocab)))
		}
	}
	graph.Slice[float64](prog.Input("seed"))[0] = 1
	loss := func() float64 {
		prog.Run()
		return graph.Slice[float64](prog.Output("loss"))[0]
	}
	for range 3 {
		spec := params.Specs()[rng.IntN(len(params.Specs()))]
		i := rng.IntN(spec.Size())
		loss()
		got := params.Grad(spec.Name)[i]
		const h = 1e-5
		x := &params.Value(spec.Name)[i]
		old := *x
		*x = old + h
		up := loss()
		*x = old - h
		down := loss()
		*x = old
		if want := (up - down) / (2 * h); math.Abs(got-want) > 1e-6+1e-5*math.Abs(want) {
			t.Errorf("%s: d %s[%d] is %v, by differences %v", name, spec.Name, i, got, want)
		}
	}
}
