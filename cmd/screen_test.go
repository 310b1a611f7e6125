package cmd

import (
	"strings"
	"testing"
)

// TestScreen: whatever the pieces, characters stay whole and nothing reaches the
// terminal that could change it.
func TestScreen(t *testing.T) {
	const text = "tab\tline\nπ … 語 \x1b[31mred\x07 \xff\xc3( \u200bend\xe8"
	const want = "tab\tline\nπ … 語 \\u001b[31mred\\u0007 \\xff\\xc3( \\u200bend\\xe8\n"
	for _, size := range []int{1, 2, 3, 100} {
		var b strings.Builder
		s := &screen{to: &b}
		for rest := []byte(text); len(rest) > 0; rest = rest[min(size, len(rest)):] {
			s.write(rest[:min(size, len(rest))])
		}
		s.end()
		if b.String() != want {
			t.Errorf("pieces of %d: %q, want %q", size, b.String(), want)
		}
	}
	var b strings.Builder
	s := &screen{to: &b}
	s.write([]byte("ends\n"))
	s.end()
	if b.String() != "ends\n" {
		t.Errorf("%q", b.String())
	}
}
