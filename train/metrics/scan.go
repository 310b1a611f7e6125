package metrics

import (
	"bytes"
	"math"
	"strconv"
)

// A scanner reads rows of layers.jsonl that have the very form AppendJSON gives
// them, ten times as fast as encoding/json, which is asked for every other
// form. Files of layers are by far the largest of a run.
type scanner struct {
	rest  []byte
	bad   bool
	words map[string]string // names repeat: one copy of each
}

// maxWords bounds the copies that a scanner keeps.
const maxWords = 1 << 14

// layer decodes a line into l, and reports whether it had that form.
func (s *scanner) layer(line []byte, l *Layer) bool {
	s.rest, s.bad = line, false
	s.literal(`{"step":`)
	l.Step = s.integer()
	s.literal(`,"layer":`)
	if rest, null := bytes.CutPrefix(s.rest, []byte("null")); null {
		s.rest, l.Layer = rest, NoLayer
	} else {
		l.Layer = int(s.integer())
	}
	s.literal(`,"module":`)
	l.Module = s.word()
	s.literal(`,"param":`)
	l.Param = s.word()
	s.literal(`,"quantity":`)
	l.Quantity = s.word()
	s.literal(`,"value":`)
	l.Value = s.value()
	s.literal(`,"numel":`)
	l.Numel = s.integer()
	s.literal("}")
	return !s.bad && len(s.rest) == 0
}

func (s *scanner) literal(want string) {
	rest, ok := bytes.CutPrefix(s.rest, []byte(want))
	s.rest, s.bad = rest, s.bad || !ok
}

// integer reads digits without a sign; 18 of them cannot overflow.
func (s *scanner) integer() (n int64) {
	i := 0
	for i < len(s.rest) && s.rest[i] >= '0' && s.rest[i] <= '9' {
		n = 10*n + int64(s.rest[i]-'0')
		i++
	}
	s.bad = s.bad || i == 0 || i > 18 || i > 1 && s.rest[0] == '0'
	s.rest = s.rest[i:]
	return n
}

// word reads a string without escapes, of printable ASCII.
func (s *scanner) word() string {
	if len(s.rest) == 0 || s.rest[0] != '"' {
		s.bad = true
		return ""
	}
	for i, c := range s.rest[1:] {
		switch {
		case c == '"':
			w := s.rest[1 : i+1]
			s.rest = s.rest[i+2:]
			return s.copyOf(w)
		case c < ' ' || c > '~' || c == '\\':
			s.bad = true
			return ""
		}
	}
	s.bad = true
	return ""
}

func (s *scanner) copyOf(w []byte) string {
	if known, ok := s.words[string(w)]; ok {
		return known
	}
	word := string(w)
	if len(s.words) < maxWords {
		if s.words == nil {
			s.words = map[string]string{}
		}
		s.words[word] = word
	}
	return word
}

// value reads a number of JSON's grammar, null, or one of the words for what is
// not finite. A number that only JSON refuses, as 01 or .5, is left to it.
func (s *scanner) value() Value {
	end := bytes.IndexByte(s.rest, ',')
	if end <= 0 {
		s.bad = true
		return Value{}
	}
	token := s.rest[:end]
	s.rest = s.rest[end:]
	switch string(token) {
	case "null":
		return Value{}
	case `"NaN"`:
		return Known(math.NaN())
	case `"+Inf"`:
		return Known(math.Inf(1))
	case `"-Inf"`:
		return Known(math.Inf(-1))
	}
	digits := bytes.TrimPrefix(token, []byte("-"))
	plain := len(digits) > 0 && digits[0] >= '1' && digits[0] <= '9' || string(digits) == "0" || bytes.HasPrefix(digits, []byte("0."))
	for _, c := range digits {
		plain = plain && (c >= '0' && c <= '9' || c == '.' || c == 'e' || c == '+' || c == '-')
	}
	x, err := strconv.ParseFloat(string(token), 64)
	s.bad = s.bad || !plain || err != nil || digits[len(digits)-1] == '.' || bytes.Contains(digits, []byte(".e"))
	return Known(x)
}
