package data

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// counting returns a corpus whose training tokens are their own positions.
func counting(size, context int) *Corpus {
	var raw []byte
	for i := range size {
		raw = append(raw, byte(i), byte(i>>8))
	}
	return &Corpus{Train: Uint16Tokens(raw), Context: context, Vocab: size}
}

func draw(s *Sampler, rows, step, micro int) (tokens, targets []int32) {
	tokens, targets = make([]int32, rows*s.context), make([]int32, rows*s.context)
	s.Batch(tokens, targets, step, micro)
	return tokens, targets
}

func TestBatchTargetsAreTheNextTokens(t *testing.T) {
	for _, context := range []int{1, 3, 64} {
		s := counting(1000, context).Sampler(1, "")
		tokens, targets := draw(s, 8, 5, 0)
		for i := range tokens {
			if targets[i] != tokens[i]+1 {
				t.Fatalf("context %d: position %d holds token %d and target %d", context, i, tokens[i], targets[i])
			}
			if i%context != 0 && tokens[i] != tokens[i-1]+1 {
				t.Fatalf("context %d: the row is not contiguous at %d", context, i)
			}
		}
	}
}

func TestBatchIsPure(t *testing.T) {
	corpus := counting(60000, 8)
	base, _ := draw(corpus.Sampler(1, ""), 4, 10, 0)

	s := corpus.Sampler(1, "")
	draw(s, 4, 11, 0) // what was drawn before must not matter
	if again, _ := draw(s, 4, 10, 0); !slices.Equal(base, again) {
		t.Error("the same arguments give another batch")
	}
	for name, other := range map[string]func() ([]int32, []int32){
		"step":  func() ([]int32, []int32) { return draw(s, 4, 11, 0) },
		"micro": func() ([]int32, []int32) { return draw(s, 4, 10, 1) },
		"seed":  func() ([]int32, []int32) { return draw(corpus.Sampler(2, ""), 4, 10, 0) },
		"salt":  func() ([]int32, []int32) { return draw(corpus.Sampler(1, "a"), 4, 10, 0) },
	} {
		if tokens, _ := other(); slices.Equal(base, tokens) {
			t.Errorf("another %s gives the same batch", name)
		}
	}
}

// One micro-batch of 8 rows, two of 4 and eight of 1 are the same step.
func TestBatchAccumulation(t *testing.T) {
	s := counting(60000, 16).Sampler(7, "x")
	for step := range 5 {
		wantTokens, wantTargets := draw(s, 8, step, 0)
		for _, rows := range []int{4, 2, 1} {
			var tokens, targets []int32
			for micro := range 8 / rows {
				a, b := draw(s, rows, step, micro)
				tokens, targets = append(tokens, a...), append(targets, b...)
			}
			if !slices.Equal(tokens, wantTokens) || !slices.Equal(targets, wantTargets) {
				t.Errorf("step %d: %d micro-batches of %d rows differ from one of 8", step, 8/rows, rows)
			}
		}
	}
}

// The stream is part of a run's identity: if these numbers change, results of older runs can no longer be reproduced. They were
// computed apart from this code, with Python's hashlib:
//
//	key = sha256(seed as 8 bytes, len(salt) as 8 bytes, salt, b"data.offset"); word = sha256(key, step as 8 bytes, row as 8 bytes)[:8]
//	offset = word·n >> 64, all little-endian, n = 1000000 (no word is rejected here)
func TestOffsetStreamIsFixed(t *testing.T) {
	tests := []struct {
		seed      uint64
		salt      string
		step, row int
		want      int
	}{
		{0, "", 0, 0, 250405},
		{1, "", 0, 0, 938791},
		{1, "", 0, 1, 131233},
		{1, "", 1, 0, 221234},
		{1, "a/a", 299, 7, 245899},
		{math.MaxUint64, "é", 1 << 30, 1000, 368587},
	}
	corpus := &Corpus{Train: ByteTokens(make([]byte, 1000064)), Context: 64}
	for _, test := range tests {
		if got := corpus.Sampler(test.seed, test.salt).Offset(test.step, test.row); got != test.want {
			t.Errorf("seed %d, salt %q, step %d, row %d: offset %d, want %d", test.seed, test.salt, test.step, test.row, got, test.want)
		}
	}
}

// With 10 possible offsets and 20000 draws, Pearson's statistic has 9 degrees of freedom: above 27.9 it would be by chance once in a
// thousand streams, and the streams are fixed.
func TestOffsetsAreUniform(t *testing.T) {
	const choices, draws = 10, 20000
	for _, test := range []struct {
		name   string
		offset func(s *Sampler, i int) int
	}{
		{"over steps", func(s *Sampler, i int) int { return s.Offset(i, 0) }},
		{"over rows", func(s *Sampler, i int) int { return s.Offset(0, i) }},
	} {
		for _, context := range []int{1, 5} {
			s := counting(choices+context, context).Sampler(3, "")
			var count [choices]int
			for i := range draws {
				count[test.offset(s, i)]++ // out of range panics
			}
			statistic := 0.0
			for _, n := range count {
				d := float64(n) - draws/choices
				statistic += d * d / (draws / choices)
			}
			if statistic > 27.9 {
				t.Errorf("%s, context %d: counts %v, chi-square %.1f", test.name, context, count, statistic)
			}
		}
	}
}

// Offsets of neighbouring steps and rows must not be related: their correlation over n pairs stays within four standard errors.
func TestOffsetsOfNeighboursAreUnrelated(t *testing.T) {
	const n = 20000
	s := counting(60000, 1).Sampler(3, "")
	x := func(step, row int) float64 { return float64(s.Offset(step, row))/59999 - 0.5 }
	for name, pair := range map[string]func(i int) (float64, float64){
		"next step":        func(i int) (float64, float64) { return x(i, 0), x(i+1, 0) },
		"next row":         func(i int) (float64, float64) { return x(0, i), x(0, i+1) },
		"step against row": func(i int) (float64, float64) { return x(i, i+1), x(i+1, i) },
	} {
		sum := 0.0
		for i := range n {
			a, b := pair(i)
			sum += a * b
		}
		if correlation := 12 * sum / n; math.Abs(correlation) > 4/math.Sqrt(n) { // 1/12 is the variance of a uniform number
			t.Errorf("%s: correlation %.4f", name, correlation)
		}
	}
}

func TestUniform(t *testing.T) {
	key := streamKey(1, "", "test")
	for _, n := range []uint64{1, 2, 3, 1 << 32, 1<<63 + 1, math.MaxUint64} { // the last but one rejects every second word
		mean := 0.0
		for i := range uint64(4000) {
			value := uniform(&key, i, 0, n)
			if value >= n {
				t.Fatalf("n = %d: got %d", n, value)
			}
			mean += float64(value) / float64(n) / 4000
		}
		// The mean of n equal steps from 0 is (n−1)/2n; 4000 draws of variance at most 1/4 vary by less than 0.008.
		if want := float64(n-1) / float64(n) / 2; math.Abs(mean-want) > 0.032 {
			t.Errorf("n = %d: mean %.4f, want %.4f", n, mean, want)
		}
	}
}

func TestStreamKeysDiffer(t *testing.T) {
	seen := map[[32]byte]string{}
	for _, seed := range []uint64{0, 1, 256, math.MaxUint64} {
		for _, pair := range [][2]string{{"", ""}, {"", "ab"}, {"a", "b"}, {"ab", ""}, {"a", ""}, {"", "a"}} {
			key, name := streamKey(seed, pair[0], pair[1]), fmt.Sprintf("seed %d, salt %q, name %q", seed, pair[0], pair[1])
			if other, ok := seen[key]; ok {
				t.Errorf("%s and %s share a key", name, other)
			}
			seen[key] = name
		}
	}
}

func TestBatchAllocatesNothing(t *testing.T) {
	corpus := counting(1000, 16)
	s, w := corpus.Sampler(1, ""), corpus.Train.Windows(16, 0)
	tokens, targets := make([]int32, 8*16), make([]int32, 8*16)
	step := 0
	if n := testing.AllocsPerRun(100, func() { s.Batch(tokens, targets, step, 0); step++ }); n != 0 {
		t.Errorf("Sampler.Batch allocates %g times", n)
	}
	if n := testing.AllocsPerRun(100, func() { w.Batch(tokens, targets, 60) }); n != 0 {
		t.Errorf("Windows.Batch allocates %g times", n)
	}
}

func TestBatchRefusesOddShapes(t *testing.T) {
	corpus := counting(1000, 16)
	for _, lengths := range [][2]int{{15, 15}, {17, 17}, {32, 16}, {16, 32}} {
		tokens, targets := make([]int32, lengths[0]), make([]int32, lengths[1])
		if !panics(func() { corpus.Sampler(1, "").Batch(tokens, targets, 0, 0) }) {
			t.Errorf("Sampler.Batch takes %d tokens and %d targets for rows of 16", lengths[0], lengths[1])
		}
		if !panics(func() { corpus.Train.Windows(16, 0).Batch(tokens, targets, 0) }) {
			t.Errorf("Windows.Batch takes %d tokens and %d targets for rows of 16", lengths[0], lengths[1])
		}
	}
}

func BenchmarkBatch(b *testing.B) {
	s := counting(60000, 128).Sampler(1, "")
	tokens, targets := make([]int32, 8*128), make([]int32, 8*128)
	for step := 0; b.Loop(); step++ {
		s.Batch(tokens, targets, step, 0)
	}
}
