package ops_test

import "testing"

// BenchmarkModel is forward and backward of the shapes of `ablate bench`, with
// GFLOP/s by its formula: 6 a weight and token, 6·T·D a layer for attention.
func BenchmarkModel(b *testing.B) {
	for _, c := range []struct {
		name string
		size
	}{
		{"ci-tiny", size{layers: 2, d: 64, heads: 4, kv: 4, ff: 256, vocab: 256, time: 64, batch: 8}},
		{"nano", size{layers: 4, d: 128, heads: 4, kv: 4, ff: 512, vocab: 256, time: 128, batch: 8}},
		{"small", size{layers: 6, d: 384, heads: 6, kv: 6, ff: 1536, vocab: 256, time: 256, batch: 8}},
		{"llama-small", size{layers: 8, d: 512, heads: 8, kv: 2, ff: 1408, vocab: 8192, time: 256, batch: 4, llama: true}},
		{"deep-narrow-pre", size{layers: 48, d: 64, heads: 4, kv: 4, ff: 256, vocab: 256, time: 64, batch: 4}},
		{"deep-narrow-post", size{layers: 48, d: 64, heads: 4, kv: 4, ff: 256, vocab: 256, time: 64, batch: 4, post: true}},
	} {
		for _, workers := range []int{1, 2} {
			b.Run(c.name+"/"+string(rune('0'+workers)), func(b *testing.B) {
				p, prog := compileModel[float32](b, c.size, workers)
				weights := 0
				for _, s := range p.Specs() {
					if len(s.Shape) == 2 && s.Name != "wpe" && !(c.llama && s.Name == "wte") {
						weights += s.Size()
					}
				}
				prog.Run()
				b.ResetTimer()
				for b.Loop() {
					prog.Run()
				}
				tokens := float64(c.batch * c.time)
				flops := tokens * 6 * float64(weights+c.layers*c.time*c.d)
				b.ReportMetric(flops*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
				b.ReportMetric(tokens*float64(b.N)/b.Elapsed().Seconds(), "tokens/s")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
