package nn

import "testing"

// TestKVCacheBytes: worked numbers, in 16 bits, and what a window saves.
func TestKVCacheBytes(t *testing.T) {
	const half, MiB = 2, 1 << 20
	for _, c := range []struct {
		name                                   string
		layers, heads, headDim, kvHeads, token int
		windows                                IntList
		want                                   int64
	}{
		{"multi-head", 32, 32, 128, 32, 1024, IntList{0}, 512 * MiB},
		{"8 groups", 32, 32, 128, 8, 1024, IntList{0}, 128 * MiB},
		{"multi-query", 32, 32, 128, 1, 1024, IntList{0}, 16 * MiB},
		{"4 heads of 64, 8 layers", 8, 4, 64, 4, 511, IntList{0}, 4186112},
		{"the same, 1023 tokens", 8, 4, 64, 4, 1023, IntList{0}, 8380416},
		{"Llama 2 7B", 32, 32, 128, 32, 1, IntList{0}, 524288},
		{"Llama 2 70B", 80, 64, 128, 8, 1, IntList{0}, 327680},
		{"Llama 3 8B, Mistral", 32, 32, 128, 8, 1, IntList{0}, 131072},
		{"Gemma 2B", 18, 8, 256, 1, 1, IntList{0}, 18432},
		{"a window of 100 in one of two layers", 2, 4, 64, 2, 1000, IntList{0, 100}, 2 * 2 * 64 * half * 1100},
		{"a window that is longer than the text", 2, 4, 64, 2, 50, IntList{100}, 2 * 2 * 64 * half * 100},
	} {
		cfg := Config{Layers: c.layers, Heads: c.heads, HeadDim: AutoInt(c.headDim), Attention: AttentionConfig{Window: c.windows}}
		if got := cfg.KVCacheBytes(c.kvHeads, c.token, half); got != c.want {
			t.Errorf("%s: %d bytes, want %d", c.name, got, c.want)
		}
	}
}
