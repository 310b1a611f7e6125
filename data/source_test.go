package data

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestReadExactly(t *testing.T) {
	tests := []struct {
		name    string
		reader  io.Reader
		size    int
		changed bool
		says    string // "": no error
	}{
		{name: "as long as it said", reader: strings.NewReader("hello"), size: 5},
		{name: "a byte at a time", reader: iotest.OneByteReader(strings.NewReader("hello")), size: 5},
		{name: "empty", reader: strings.NewReader(""), size: 0},
		{name: "truncated", reader: strings.NewReader("hel"), size: 5, changed: true, says: "had 5 bytes, and ended after 3"},
		{name: "emptied", reader: strings.NewReader(""), size: 5, changed: true, says: "had 5 bytes, and ended after 0"},
		{name: "grown", reader: strings.NewReader("hello!"), size: 5, changed: true, says: "had 5 bytes, and has more"},
		{name: "grown from nothing", reader: strings.NewReader("h"), size: 0, changed: true, says: "had 0 bytes, and has more"},
		{name: "broken", reader: iotest.ErrReader(io.ErrNoProgress), size: 5, says: io.ErrNoProgress.Error()},
		{name: "broken at the end", reader: io.MultiReader(strings.NewReader("hello"), iotest.ErrReader(io.ErrNoProgress)), size: 5, says: io.ErrNoProgress.Error()},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			raw, err := readExactly(test.reader, test.size)
			if test.says == "" {
				if err != nil || len(raw) != test.size {
					t.Fatalf("got %q, %v", raw, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.says) || errors.Is(err, errChanged) != test.changed {
				t.Errorf("got %v, want %q (changed: %t)", err, test.says, test.changed)
			}
		})
	}
}

func TestByteTokenizerRejectsOtherTokens(t *testing.T) {
	for _, token := range []int32{-1, 256, Ignore} {
		if _, err := (byteTokenizer{}).Decode([]int32{0, token}); err == nil || !strings.Contains(err.Error(), "position 1") {
			t.Errorf("token %d: got error %v", token, err)
		}
	}
}

// A token out of a part's range must panic, although the memory behind it belongs to the rest of the source.
func TestTokensEndWhereTheirPartEnds(t *testing.T) {
	raw := []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	for name, whole := range map[string]Tokens{"byte": ByteTokens(raw[:8]), "uint16": Uint16Tokens(raw[:8])} {
		part := whole.Slice(1, 3)
		if part.Len() != 2 || part.At(0) != whole.At(1) || part.At(1) != whole.At(2) {
			t.Errorf("%s: the slice holds other tokens", name)
		}
		for call, f := range map[string]func(){
			"Copy past the part":    func() { part.Copy(make([]int32, 2), 1) },
			"Copy past the whole":   func() { whole.Copy(make([]int32, 1), whole.Len()) },
			"Copy before the start": func() { part.Copy(make([]int32, 1), -1) },
			"At past the part":      func() { part.At(2) },
			"Slice past the part":   func() { part.Slice(0, 3) },
			"Slice past the whole":  func() { whole.Slice(0, whole.Len()+1) },
		} {
			if !panics(f) {
				t.Errorf("%s: %s is allowed", name, call)
			}
		}
	}
	//lint:ignore SA5012 that it panics is what is tested
	if !panics(func() { Uint16Tokens(raw[:3]) }) {
		t.Error("Uint16Tokens takes an odd number of bytes")
	}
	if (Tokens{}).Len() != 0 {
		t.Error("the zero Tokens is not empty")
	}
}

func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}

func FuzzByteTokenizer(f *testing.F) {
	for _, seed := range []string{"", "a", "\xef\xbb\xbfa\r\nb\x00", "\xff\xfe\xed\xa0\x80", "日本語"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		tokens, err := byteTokenizer{}.Encode(text)
		if err != nil {
			t.Fatal(err)
		}
		ids := make([]int32, tokens.Len())
		tokens.Copy(ids, 0)
		back, err := byteTokenizer{}.Decode(ids)
		if err != nil || !bytes.Equal(back, text) {
			t.Fatalf("%q came back as %q, %v", text, back, err)
		}
	})
}
