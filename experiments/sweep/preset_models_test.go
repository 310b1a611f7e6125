package sweep

import (
	"math"
	"slices"
	"strings"
	"testing"

	"ablate/experiments/config"
	"ablate/graph"
	"ablate/nn"
	"ablate/nn/presets"
)

// presetModel is the resolved model of a preset.
func presetModel(t *testing.T, name string) nn.Config {
	t.Helper()
	args, err := config.ParseArgs([]string{presetKey + "=" + name})
	if err != nil {
		t.Fatal(err)
	}
	c, err := Decode(args)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	m, err := c.Model.Resolve(int(max(c.Model.Vocab, 256)))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return m
}

// attested is what the graph of a model contains; each is built once.
func attested(t *testing.T, c nn.Config) nn.Attestation {
	t.Helper()
	key := string(config.Canonical(c))
	if a, ok := attestations[key]; ok {
		return a
	}
	m, err := nn.New(c)
	if err != nil {
		t.Fatal(err)
	}
	g, err := m.Eval(graph.Float32, 1, c.Context)
	if err != nil {
		t.Fatal(err)
	}
	attestations[key] = m.Attest(g)
	return attestations[key]
}

var attestations = map[string]nn.Attestation{}

// parameters is the number of parameters of a preset in closed form.
func parameters(c nn.Config) int {
	d, ff, hd := c.DModel, int(c.DFF), int(c.HeadDim)
	q, kv := c.Heads*hd, int(c.KVHeads)*hd
	norm := map[nn.NormName]func(n int) int{
		"layernorm": func(n int) int { return n }, "rmsnorm": func(n int) int { return n },
		"rmsnorm_1p": func(n int) int { return n }, "rmsnorm_plain": func(int) int { return 0 }, "dyt": func(n int) int { return n + 1 },
	}[c.Norm.Kind]
	gains := func(n int) int {
		if c.Norm.Bias == nn.Yes {
			return norm(n) + n
		}
		return norm(n)
	}
	place := c.Placement[0].Kind
	norms := map[string]int{"sandwich": 4, "hybrid": 1, "hybrid_star": 1, "parallel": 1}[place]
	if norms == 0 {
		norms = 2
	}
	block := 2*d*q + 2*d*kv + 2*d*ff + norms*gains(d)
	if slices.Contains([]nn.ActivationName{"swiglu", "geglu_tanh"}, c.Activation) {
		block += d * ff
	}
	if c.FFN.Bias {
		block += ff + d
	}
	switch c.Attention.Bias {
	case "qkv":
		block += q + 2*kv
	case "all":
		block += q + 2*kv + d
	}
	switch {
	case c.Attention.QKNormGain == nn.No:
	case place == "hybrid" || place == "hybrid_star":
		block += 3 * hd
	case c.Attention.QKNorm == "head":
		block += 2 * hd
	case c.Attention.QKNorm == "full":
		block += q + kv
	}
	if place == "subln" {
		block += gains(q) + gains(ff)
	}
	total := c.Layers*block + d*int(c.Vocab)
	if place == "hybrid_star" {
		total += gains(d)
	}
	if c.Embedding.LearnScale {
		total++
	}
	if !c.Embedding.Tied {
		total += d * int(c.Vocab)
	}
	if c.FinalNorm == nn.Yes {
		total += gains(d)
	}
	if c.Embedding.Norm == nn.Yes {
		total += gains(d)
	}
	switch p := c.Position[0]; p.Kind {
	case "learned":
		total += d * int(p.Max)
	case "t5":
		total += p.Buckets * c.Heads
	}
	return total
}

// TestPresetsBuild builds every preset, without weights, and holds what was built
// against closed formulas.
func TestPresetsBuild(t *testing.T) {
	for _, name := range presets.Names() {
		p, err := LoadPreset(name)
		if err != nil {
			t.Fatal(err)
		}
		stated := &config.Tree{}
		stated.Set("model", p.Model)
		var c Config
		if err := config.Decode(stated, &c); err != nil { // strictly: no key that is not read
			t.Errorf("%v", err)
		}
		if p.About == "" || len(p.Source) == 0 {
			t.Errorf("%s: about %q, sources %q", name, p.About, p.Source)
		}
		m := presetModel(t, name)
		a := attested(t, m)
		if want := parameters(m); a.Params != want {
			t.Errorf("%s has %d parameters, %d in closed form", name, a.Params, want)
		}
		if want := 2 * m.Layers * int(m.KVHeads) * int(m.HeadDim); a.KVCachePerToken != want {
			t.Errorf("%s caches %d elements a token, want %d", name, a.KVCachePerToken, want)
		}
		if tiny := strings.HasSuffix(name, presets.Tiny); tiny != (a.Params < 5e6) {
			t.Errorf("%s has %d parameters", name, a.Params)
		}
		for l, b := range a.Blocks {
			if !b.AsConfigured {
				t.Errorf("%s: block %d was built as %s", name, l, b.Placement)
			}
		}
	}
}

// TestPublishedTotals holds presets against published numbers of parameters. Those
// marked hub are the numbers that the published weights have (size of all tensors); what a
// preset omits is added. The paper's own numbers are rounded as it rounds them.
func TestPublishedTotals(t *testing.T) {
	const t5block = 4*768*768 + 2*768*3072 + 2*768 // the gated form of 1.1 has as many: 3·2048 = 2·3072
	encoder, cross := 12*t5block+768+32*12, 12*(4*768*768+768)
	for name, c := range map[string]struct {
		total, omitted int
		source         string
	}{
		"gpt1":              {116_534_784, 0, "hub: openai-gpt"},
		"bert-base":         {109_482_240, 768*768 + 768 + 2*768, "hub: bert-base-uncased, with pooler and segments"},
		"bert-large":        {335_141_888, 1024*1024 + 1024 + 2*1024, "hub: bert-large-uncased, with pooler and segments"},
		"gpt2":              {124_439_808, 0, "hub: gpt2"},
		"gpt2-medium":       {354_823_168, 0, "hub: gpt2-medium"},
		"gpt2-large":        {774_030_080, 0, "hub: gpt2-large"},
		"gpt2-xl":           {1_557_611_200, 0, "hub: gpt2-xl"},
		"nanogpt":           {123_689_472 + 1024*768, 0, "nanoGPT prints 123.69M, without positions"},
		"t5-base":           {222_903_552, encoder + cross, "hub: t5-base, with encoder and cross-attention"},
		"t5.1.1-base":       {247_577_856, encoder + cross, "hub: google/t5-v1_1-base, with encoder and cross-attention"},
		"llama1-7b":         {6_738_415_616, 0, "hub: llama-7b"},
		"llama1-13b":        {13_015_864_320, 0, "hub: llama-13b"},
		"llama1-33b":        {32_528_943_616, 0, "hub: llama-30b"},
		"llama1-65b":        {65_285_660_672, 0, "hub: llama-65b"},
		"llama2-7b":         {6_738_415_616, 0, "hub: meta-llama/Llama-2-7b"},
		"llama2-70b":        {68_976_648_192, 0, "hub: meta-llama/Llama-2-70b"},
		"llama3-8b":         {8_030_261_248, 0, "hub: meta-llama/Meta-Llama-3-8B"},
		"llama3-70b":        {70_553_706_496, 0, "hub: meta-llama/Meta-Llama-3-70B"},
		"llama3.1-8b":       {8_030_261_248, 0, "hub: meta-llama/Llama-3.1-8B"},
		"mistral-7b":        {7_241_732_096, 0, "hub: mistralai/Mistral-7B-v0.1"},
		"qwen2.5-0.5b":      {494_032_768, 0, "hub: Qwen/Qwen2.5-0.5B"},
		"qwen2.5-1.5b":      {1_543_714_304, 0, "hub: Qwen/Qwen2.5-1.5B"},
		"qwen2.5-3b":        {3_085_938_688, 0, "hub: Qwen/Qwen2.5-3B"},
		"qwen2.5-7b":        {7_615_616_512, 0, "hub: Qwen/Qwen2.5-7B"},
		"qwen3-0.6b":        {596_049_920, 0, "hub: Qwen/Qwen3-0.6B, tied"},
		"qwen3-1.7b":        {1_720_574_976, 0, "hub: Qwen/Qwen3-1.7B, tied"},
		"qwen3-4b":          {4_022_468_096, 0, "hub: Qwen/Qwen3-4B"},
		"qwen3-8b":          {8_190_735_360, 0, "hub: Qwen/Qwen3-8B"},
		"gemma1-2b":         {2_506_172_416, 0, "hub: google/gemma-2b"},
		"gemma1-7b":         {8_537_680_896, 0, "hub: google/gemma-7b"},
		"gemma2-2b":         {2_614_341_888, 0, "hub: google/gemma-2-2b"},
		"gemma2-9b":         {9_241_705_984, 0, "hub: google/gemma-2-9b"},
		"gemma2-27b":        {27_227_128_320, 0, "hub: google/gemma-2-27b"},
		"gemma3-1b":         {999_885_952, 0, "hub: google/gemma-3-1b-pt"},
		"olmo2-7b":          {7_298_617_344, 0, "hub: allenai/OLMo-2-1124-7B"},
		"olmo2-13b":         {13_716_198_400, 0, "hub: allenai/OLMo-2-1124-13B"},
		"nanochat":          {560_988_160, 0, "nanochat prints it at depth 20"},
		"palm-8b in 1e7":    {863, 0, "table 1 of the paper: 8.63 billion"},
		"palm-62b in 1e7":   {6250, 0, "table 1 of the paper: 62.50 billion"},
		"palm-540b in 1e7":  {54035, -119 * 18432, "table 1 of the paper: 540.35 billion, without norms"},
		"lns in 1e5":        {1341, 0, "130M of the paper, 134.11M as GaLore counts it"},
		"hybridnorm in 1e8": {12, 0, "1.2B of the paper"},
	} {
		name, unit, rounded := strings.Cut(name, " in ")
		got := attested(t, presetModel(t, name)).Params + c.omitted
		if rounded {
			got = int(math.Round(float64(got) / map[string]float64{"1e5": 1e5, "1e7": 1e7, "1e8": 1e8}[unit]))
		}
		if got != c.total {
			t.Errorf("%s has %d parameters, published are %d (%s)", name, got, c.total, c.source)
		}
	}
}

// TestCacheOfPresets is the table of cache bytes per token at 16 bits, windows ignored.
func TestCacheOfPresets(t *testing.T) {
	for name, want := range map[string]int{
		"llama2-7b": 524_288, "llama2-70b": 327_680, "llama3-8b": 131_072, "mistral-7b": 131_072,
		"gemma1-7b": 458_752, "gemma1-2b": 18_432, "gemma2-9b": 344_064, "palm-540b": 120_832,
	} {
		if got := 2 * attested(t, presetModel(t, name)).KVCachePerToken; got != want {
			t.Errorf("%s caches %d bytes a token, want %d", name, got, want)
		}
	}
	c := presetModel(t, "llama2-70b")
	c.KVHeads = nn.AutoInt(c.Heads)
	if got := 2 * attested(t, c).KVCachePerToken; got != 2_621_440 {
		t.Errorf("llama2-70b with all heads would cache %d bytes a token", got)
	}
}

// TestPlacementsOfPresets holds the formulas that are read back from the graphs
// against those of the papers.
func TestPlacementsOfPresets(t *testing.T) {
	const pre, post = "x + F(N1(x))", "N1(x + F(x))"
	for name, want := range map[string][]string{
		"vaswani2017": {"0-5 " + post}, "gpt1": {"0-11 " + post}, "bert": {"0-11 " + post}, "gpt2": {"0-11 " + pre}, "nanogpt": {"0-11 " + pre},
		"t5": {"0-11 " + pre}, "t5.1.1": {"0-11 " + pre}, "palm": {"0-31 h = N1(x); x + A(h) + M(h)"},
		"llama1": {"0-31 " + pre}, "llama2-7b": {"0-31 " + pre}, "llama2-70b": {"0-79 " + pre}, "llama3-8b": {"0-31 " + pre}, "mistral-7b": {"0-31 " + pre},
		"qwen2.5": {"0-27 " + pre}, "qwen3": {"0-35 " + pre}, "gemma1": {"0-17 " + pre}, "gemma2": {"0-41 x + N2(F(N1(x)))"}, "gemma3": {"0-33 x + N2(F(N1(x)))"},
		"olmo2": {"0-31 x + N1(F(x))"}, "nanochat": {"0-19 " + pre}, "deepnorm": {"0-99 N1(3.7606*x + F(x))"}, "subln": {"0-23 " + pre},
		"mixln": {"0-2 " + post, "3-11 " + pre}, "hybridnorm": {"0-15 h = N2(x + A(x)); h + M(h)"}, "hybridnorm-star": {"0 " + pre, "1-15 h = N2(x + A(x)); h + M(h)"}, "dyt": {"0-31 " + pre},
		"lns-tiny": {"0 " + pre, "1 x + F(0.707107*N1(x))", "2 x + F(0.57735*N1(x))", "3 x + F(0.5*N1(x))"},
	} {
		a := attested(t, presetModel(t, name))
		if got := a.Placements(); !slices.Equal(got, want) {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
		final := map[string]string{"vaswani2017": "", "gpt1": "", "bert": "", "deepnorm": "", "dyt": "dyt", "gemma1": "rmsnorm 1+w", "gemma2": "rmsnorm 1+w",
			"gemma3": "rmsnorm 1+w", "gpt2": "layernorm", "nanogpt": "layernorm", "palm": "layernorm", "subln": "layernorm", "nanochat": "rmsnorm plain"}
		norm, ok := final[name]
		if !ok {
			norm = "rmsnorm"
		}
		if a.FinalNorm != norm {
			t.Errorf("%s ends in norm %q, want %q", name, a.FinalNorm, norm)
		}
	}
}

// TestScalesOfPresets: numbers that follow from the width are the width's.
func TestScalesOfPresets(t *testing.T) {
	for _, name := range presets.Names() {
		c := presetModel(t, name)
		d, word := float64(c.DModel), strings.SplitN(name, "-", 2)[0]
		if scaled := slices.Contains([]string{"vaswani2017", "gemma1", "gemma2", "gemma3", "deepnorm", "dyt"}, word); scaled != (c.Embedding.Scale != 1) {
			t.Errorf("%s multiplies the embedding by %v", name, c.Embedding.Scale)
		}
		if learned := word == "dyt"; learned != (attested(t, c).EmbeddingScale == "learned") {
			t.Errorf("%s has a learned scale: %v", name, !learned)
		}
		if scaled := slices.Contains([]string{"t5", "palm"}, word); scaled != (c.Logits.Scale != 1) {
			t.Errorf("%s multiplies the logits by %v", name, c.Logits.Scale)
		}
		if s := c.Embedding.Scale; s != 1 && math.Abs(float64(s)/math.Sqrt(d)-1) > 1e-15 {
			t.Errorf("%s multiplies the embedding by %v, sqrt(d) is %v", name, s, math.Sqrt(d))
		}
		if s := c.Logits.Scale; s != 1 && math.Abs(float64(s)*math.Sqrt(d)-1) > 1e-15 {
			t.Errorf("%s multiplies the logits by %v, 1/sqrt(d) is %v", name, s, 1/math.Sqrt(d))
		}
	}
}
