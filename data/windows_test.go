package data

import (
	"fmt"
	"math"
	"testing"
)

// Whatever the batch size, every token but the first is a target exactly once, predicted from the token before it, in order.
func TestWindowsCoverEachTargetOnce(t *testing.T) {
	for _, size := range []int{0, 1, 2, 7, 8, 9, 16, 17, 100} {
		for _, context := range []int{1, 2, 7, 8, 16, 99, 100, 1000} {
			for _, limit := range []int{0, 1, 8, 13, 1 << 30} {
				for _, rows := range []int{1, 3, 8} {
					t.Run(fmt.Sprintf("size=%d,context=%d,limit=%d,rows=%d", size, context, limit, rows), func(t *testing.T) {
						checkWindows(t, size, context, limit, rows)
					})
				}
			}
		}
	}
}

func checkWindows(t *testing.T, size, context, limit, rows int) {
	w := counting(size, context).Train.Windows(context, limit)
	want := max(0, size-1)
	if limit > 0 {
		want = min(want, limit)
	}
	if w.Targets() != want {
		t.Fatalf("%d targets, want %d", w.Targets(), want)
	}
	tokens, targets := make([]int32, rows*context), make([]int32, rows*context)
	next, total := int32(1), 0 // a token is its own position, so the targets must be 1, 2, 3, …
	for first := 0; first < w.Len(); first += rows {
		for i := range tokens { // what an earlier batch left must not shine through
			tokens[i], targets[i] = -7, -7
		}
		total += w.Batch(tokens, targets, first)
		for i, target := range targets {
			if target == Ignore {
				if tokens[i] != 0 {
					t.Fatalf("batch %d: position %d is padding with token %d", first, i, tokens[i])
				}
				continue
			}
			if target != next || tokens[i] != next-1 {
				t.Fatalf("batch %d: position %d predicts %d from %d, want %d", first, i, target, tokens[i], next)
			}
			if column := i % context; column != int(next-1)%context {
				t.Fatalf("target %d stands in column %d", target, column)
			}
			next++
		}
	}
	if int(next)-1 != want || total != want {
		t.Errorf("%d targets seen and %d counted, want %d", next-1, total, want)
	}
}

func TestWindowsLen(t *testing.T) {
	for _, test := range []struct{ size, context, want int }{
		{0, 8, 0}, {1, 8, 0}, {2, 8, 1}, {8, 8, 1}, {9, 8, 1}, {10, 8, 2}, {17, 8, 2}, {18, 8, 3}, {100, math.MaxInt, 1},
	} {
		if got := ByteTokens(make([]byte, test.size)).Windows(test.context, 0).Len(); got != test.want {
			t.Errorf("%d tokens, context %d: %d rows, want %d", test.size, test.context, got, test.want)
		}
	}
}

// TestWholeWindows: none has a position without a token of the text.
func TestWholeWindows(t *testing.T) {
	for _, test := range []struct{ size, context, limit, want int }{
		{0, 8, 0, 0}, {1, 8, 0, 0}, {8, 8, 0, 0}, {9, 8, 0, 8}, {16, 8, 0, 8}, {17, 8, 0, 16}, {18, 8, 0, 16},
		{100, 8, 5, 8}, {100, 8, 8, 8}, {100, 8, 15, 8}, {100, 8, 16, 16}, {100, 8, 1 << 30, 96}, {9, 8, 3, 8}, {8, 8, 3, 0}, {3, 1, 0, 2},
	} {
		w := ByteTokens(make([]byte, test.size)).Windows(test.context, test.limit).Whole()
		if w.Targets() != test.want || w.Len() != test.want/test.context {
			t.Errorf("%+v: %d targets in %d rows", test, w.Targets(), w.Len())
		}
		tokens, targets := make([]int32, test.context), make([]int32, test.context)
		for i := range w.Len() {
			if n := w.Batch(tokens, targets, i); n != test.context {
				t.Errorf("%+v: row %d has %d targets", test, i, n)
			}
		}
	}
}

func TestWindowsRefuseBadSizes(t *testing.T) {
	for _, bad := range [][2]int{{0, 0}, {-1, 0}, {8, -1}} {
		if !panics(func() { ByteTokens(nil).Windows(bad[0], bad[1]) }) {
			t.Errorf("context %d and limit %d are allowed", bad[0], bad[1])
		}
	}
}

func TestUnigramLoss(t *testing.T) {
	tests := []struct {
		name              string
		train, validation string
		vocab             int
		want              float64
	}{
		// Counts 3 and 1 of 4, plus one each, over 4+256; the first validation token is no target.
		{"by hand", "aaab", "bab", 256, -(math.Log(4.0/260) + math.Log(2.0/260)) / 2},
		{"unseen token", "aaab", "az", 256, math.Log(260)},
		{"nothing but smoothing", "", "xyz", 256, math.Log(256)},
		{"one token only", "\x00\x00\x00", "\x00\x00", 1, 0},
	}
	for _, test := range tests {
		c := &Corpus{Train: ByteTokens([]byte(test.train)), Validation: ByteTokens([]byte(test.validation)), Vocab: test.vocab}
		if got := c.UnigramLoss(); math.Abs(got-test.want) > 1e-12 {
			t.Errorf("%s: got %.15g, want %.15g", test.name, got, test.want)
		}
	}
}
