package cmd

import (
	"fmt"
	"io"
	"unicode"
	"unicode/utf8"
)

// screen writes text that a model made up, piece by piece. Lines and tabs pass;
// control characters, which could change the terminal, and bytes that are no UTF-8
// are escaped. The beginning of a character waits for its end.
type screen struct {
	to      io.Writer
	waiting []byte
	last    rune
}

func (s *screen) write(text []byte) {
	s.waiting = append(s.waiting, text...)
	for utf8.FullRune(s.waiting) {
		s.next()
	}
}

// next writes the first character that waits.
func (s *screen) next() {
	r, size := utf8.DecodeRune(s.waiting)
	switch {
	case r == utf8.RuneError && size == 1:
		fmt.Fprintf(s.to, "\\x%02x", s.waiting[0])
	case r != '\n' && r != '\t' && unicode.Is(unicode.C, r):
		fmt.Fprintf(s.to, "\\u%04x", r)
	default:
		fmt.Fprintf(s.to, "%c", r)
	}
	s.last, s.waiting = r, s.waiting[size:]
}

// end writes what still waits, and ends the line.
func (s *screen) end() {
	for len(s.waiting) > 0 {
		s.next()
	}
	if s.last != '\n' {
		fmt.Fprintln(s.to)
	}
}
