package nn

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The worked numbers of a widely used lesson on transformer blocks, and the constants
// of the placements, as they come out exactly.

// near compares within abs.
func near(t *testing.T, what string, got, want, abs float64) {
	t.Helper()
	if !(math.Abs(got-want) <= abs) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// TestCacheBytes: keys and values of 32 blocks and 1024 tokens at 16 bits, heads of
// 128; and the lesson's example of 4 heads of 64 in 8 blocks.
func TestCacheBytes(t *testing.T) {
	bytes := func(layers, heads, kv, hd, tokens int) int {
		c := Default()
		c.Layers, c.Heads, c.KVHeads, c.HeadDim, c.DModel, c.DFF, c.Vocab, c.Context = layers, heads, AutoInt(kv), AutoInt(hd), 8, 8, 8, 4
		_, _, a := attested(t, c)
		return 2 * a.KVCachePerToken * tokens
	}
	mha, gqa, mqa := bytes(32, 32, 32, 128, 1024), bytes(32, 32, 8, 128, 1024), bytes(32, 32, 1, 128, 1024)
	if mha != 536_870_912 || gqa != 134_217_728 || mqa != 16_777_216 { // 512, 128 and 16 MiB
		t.Errorf("32 blocks: %d, %d and %d bytes", mha, gqa, mqa)
	}
	near(t, "share that MQA saves", 1-float64(mqa)/float64(mha), .96875, 0)
	near(t, "share that GQA saves", 1-float64(gqa)/float64(mha), .75, 0)
	for _, c := range []struct{ layers, tokens, want int }{{1, 1, 1024}, {8, 1, 8192}, {8, 511, 4_186_112}, {8, 1023, 8_380_416}} {
		if got := bytes(c.layers, 4, 4, 64, c.tokens); got != c.want {
			t.Errorf("%d blocks, %d tokens: %d bytes, want %d", c.layers, c.tokens, got, c.want)
		}
	}
	near(t, "MiB of 511 tokens", float64(bytes(8, 4, 4, 64, 511))/(1<<20), 3.9921875, 0)
	near(t, "MiB of 1023 tokens", float64(bytes(8, 4, 4, 64, 1023))/(1<<20), 7.9921875, 0)
}

// TestWidthsOfFFN: auto brings a gated FFN's parameters to those of an ungated one of
// 4d; LLaMA's rounding up to a multiple of 256 overshoots, by half where d is tiny.
func TestWidthsOfFFN(t *testing.T) {
	for d, want := range map[int]int{64: 171, 128: 341, 512: 1365, 768: 2048, 1024: 2731, 4096: 10923, 5120: 13653, 8192: 21845} {
		if got := autoFFN(d, true, false); got != want {
			t.Errorf("d_ff of %d is %d, want %d", d, got, want)
		}
		if got := autoFFN(d, false, true); got != 4*d {
			t.Errorf("d_ff of %d, ungated, is %d", d, got)
		}
	}
	// 3dh against 8d², in percent, for the rounded widths that are printed.
	for d, c := range map[int]struct {
		h       int
		percent float64
	}{64: {256, 50}, 128: {512, 50}, 512: {1536, 12.5}, 768: {2048, 0}, 1024: {2816, 3.1}, 4096: {11008, .78}} {
		rounded := (8*d/3 + 255) / 256 * 256
		if rounded != c.h {
			t.Errorf("8/3 of %d to a multiple of 256 is %d, want %d", d, rounded, c.h)
		}
		near(t, "excess in percent", 100*(float64(3*d*c.h)/float64(8*d*d)-1), c.percent, .05)
	}
	for _, m := range []struct {
		preset string
		d, h   int
	}{{"llama 7B", 4096, 11008}, {"13B", 5120, 13824}, {"33B", 6656, 17920}, {"65B", 8192, 22016}} {
		if got := (8*m.d/3 + 255) / 256 * 256; got != m.h {
			t.Errorf("%s: %d", m.preset, got)
		}
	}
}

// TestPerplexitiesOfGatedFFN: Shazeer 2020, table 1, 524,288 steps. The table has
// log-perplexities; a perplexity is exp of the mean, and every gate is below every
// activation without one.
func TestPerplexitiesOfGatedFFN(t *testing.T) {
	table := map[string]struct{ log, ppl float64 }{
		"relu": {1.677, 5.3495}, "gelu": {1.679, 5.3602}, "silu": {1.683, 5.3817}, "glu": {1.663, 5.2751},
		"bilinear": {1.648, 5.1966}, "reglu": {1.645, 5.1810}, "geglu": {1.633, 5.1192}, "swiglu": {1.636, 5.1346},
	}
	gated, plain := 0.0, math.Inf(1)
	for name, row := range table {
		near(t, name, math.Exp(row.log), row.ppl, 5e-5)
		if Activations[name].Gated {
			gated = max(gated, row.log)
		} else {
			plain = min(plain, row.log)
		}
	}
	if gated >= plain {
		t.Errorf("the worst gate has %v, the best without %v", gated, plain)
	}
}

// TestConstantsOfDepth: DeepNorm's and SubLN's constants and nanoGPT's deviation of
// residual projections, as functions of the number of blocks.
func TestConstantsOfDepth(t *testing.T) {
	for layers, want := range map[int][4]float64{
		2: {1.414214, .500000, 1.177410, .01}, 4: {1.681793, .420448, 1.442027, .00707107}, 8: {2.000000, .353553, 1.665109, .005},
		12: {2.213364, .319472, 1.782710, .00408248}, 16: {2.378414, .297302, 1.861649, .00353553}, 24: {2.632148, .268642, 1.967537, .00288675},
		32: {2.828427, .250000, 2.039334, .0025}, 64: {3.363586, .210224, 2.202732, .00176777}, 1000: {6.687403, .105737, 2.756973, .000447214},
	} {
		near(t, "alpha", optionAlpha.Auto(layers), want[0], 5e-7)
		near(t, "beta", optionBeta.Auto(layers), want[1], 5e-7)
		near(t, "gamma", optionGamma.Auto(layers), want[2], 5e-7)
		c := Default()
		c.Layers = layers
		x := make([]float64, 1)
		nanoGPTInit(&c, Weight{Module: "ffn.down"})(rand.New(rand.NewPCG(1, 2)), x)
		near(t, "0.02/sqrt(2L)", x[0]/rand.New(rand.NewPCG(1, 2)).NormFloat64(), want[3], 5e-9)
	}
}

// TestHalvesOfDepth: the lesson's powers of a half, right as arithmetic.
func TestHalvesOfDepth(t *testing.T) {
	for n, want := range map[int]float64{1: .5, 4: .0625, 12: 2.44140625e-4, 24: 5.960464477539063e-8, 32: 2.3283064365386963e-10} {
		// The identity path of post, where branch and stream are of equal variance:
		// each of 2n sub-layers divides by sqrt(1 + 1).
		near(t, "identity path", math.Pow(1/math.Sqrt2, 2*float64(n)), want, 1e-12*want)
	}
}
