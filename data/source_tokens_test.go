package data

import (
	"encoding/binary"
	"strings"
	"testing"
)

// llmc returns a file in llm.c's format with such a header and body.
func llmc(magic, version, count uint32, body ...byte) []byte {
	raw := make([]byte, llmcHeader, llmcHeader+len(body))
	binary.LittleEndian.PutUint32(raw, magic)
	binary.LittleEndian.PutUint32(raw[4:], version)
	binary.LittleEndian.PutUint32(raw[8:], count)
	return append(raw, body...)
}

var tokenFiles = []struct {
	name string
	raw  []byte
	want []int32
	says string // "": no error
}{
	{name: "empty", raw: nil, want: []int32{}},
	{name: "one byte", raw: []byte{1}, says: "1 bytes are not a whole number of uint16"},
	{name: "one token", raw: []byte{1, 2}, want: []int32{0x0201}},
	{name: "three bytes", raw: []byte{1, 2, 3}, says: "3 bytes are not a whole number"},
	{name: "little-endian, full range", raw: []byte{0, 0, 255, 255, 0, 1, 1, 0}, want: []int32{0, 65535, 256, 1}},
	{name: "llm.c", raw: llmc(20240520, 1, 2, 1, 0, 0x50, 0xc4), want: []int32{1, 50256}},
	{name: "llm.c, empty", raw: llmc(20240520, 1, 0), want: []int32{}},
	{name: "llm.c, header only begun", raw: llmc(20240520, 1, 0)[:4], says: "header takes 1024 bytes, the file has 4"},
	{name: "llm.c, header cut", raw: llmc(20240520, 1, 0)[:1023], says: "header takes 1024 bytes, the file has 1023"},
	{name: "llm.c, version", raw: llmc(20240520, 2, 0), says: "version is 2; only 1"},
	{name: "llm.c, body cut", raw: llmc(20240520, 1, 3, 1, 0, 2, 0), says: "counts 3 tokens of 2 bytes, 4 bytes follow"},
	{name: "llm.c, odd body", raw: llmc(20240520, 1, 2, 1, 0, 2), says: "counts 2 tokens of 2 bytes, 3 bytes follow"},
	{name: "llm.c, more than it counts", raw: llmc(20240520, 1, 1, 1, 0, 2, 0), says: "counts 1 tokens of 2 bytes, 4 bytes follow"},
	{name: "llm.c, negative count", raw: llmc(20240520, 1, 0xffffffff), says: "counts -1 tokens"},
	{name: "llm.c, count beyond the file", raw: llmc(20240520, 1, 0x7fffffff), says: "counts 2147483647 tokens"},
	{name: "llm.c, Llama 3", raw: llmc(20240801, 7, 1, 1, 0, 0, 0), says: "magic 20240801 says uint32"},
	{name: "half a magic", raw: []byte{0x88, 0xd8}, want: []int32{55432}},
}

func TestParseTokens(t *testing.T) {
	for _, test := range tokenFiles {
		t.Run(test.name, func(t *testing.T) {
			tokens, _, err := parseTokens(test.raw)
			if test.says != "" {
				if err == nil || !strings.Contains(err.Error(), test.says) {
					t.Errorf("got %v, want %q", err, test.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if tokens.Len() != len(test.want) {
				t.Fatalf("got %d tokens, want %d", tokens.Len(), len(test.want))
			}
			for i, want := range test.want {
				if tokens.At(i) != want {
					t.Errorf("token %d is %d, want %d", i, tokens.At(i), want)
				}
			}
		})
	}
}

func FuzzParseTokens(f *testing.F) {
	for _, test := range tokenFiles {
		f.Add(test.raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		tokens, format, err := parseTokens(raw)
		if err != nil {
			return
		}
		header := 0
		if strings.HasPrefix(format, "llm.c") {
			header = llmcHeader
		}
		if header+2*tokens.Len() != len(raw) {
			t.Fatalf("%d tokens in %d bytes of %s", tokens.Len(), len(raw), format)
		}
		ids := make([]int32, tokens.Len())
		tokens.Copy(ids, 0)
		largest, at := largestToken(tokens)
		for i, id := range ids {
			if id != tokens.At(i) || id < 0 || int(id) > largest {
				t.Fatalf("token %d is %d by Copy and %d by At; the largest is %d", i, id, tokens.At(i), largest)
			}
		}
		if len(ids) > 0 && int(ids[at]) != largest {
			t.Fatalf("the largest token is %d, at position %d there is %d", largest, at, ids[at])
		}
	})
}
