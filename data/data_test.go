package data_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ablate/data"
)

// writeFile puts raw into a new file and returns its path.
func writeFile(t testing.TB, name string, raw []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func textConfig(t testing.TB, text []byte) data.Config {
	return data.Config{Source: "text", Path: writeFile(t, "corpus.txt", text), Tokenizer: "byte", Validation: 0.1}
}

// countingTokens returns a file of n tokens 0, 1, 2, …: each token is its own position.
func countingTokens(n int) []byte {
	var raw []byte
	for i := range n {
		raw = binary.LittleEndian.AppendUint16(raw, uint16(i))
	}
	return raw
}

func sha(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

func all(tokens data.Tokens) []int32 {
	ids := make([]int32, tokens.Len())
	tokens.Copy(ids, 0)
	return ids
}

func TestOpenSizes(t *testing.T) {
	tests := []struct {
		size, context int
		validation    float64
		train, held   int      // sizes of the parts
		err           []string // or what the error must say
	}{
		{size: 0, context: 64, validation: 0.1, err: []string{"needs at least 65 tokens, has 0"}},
		{size: 1, context: 64, validation: 0.1, err: []string{"needs at least 65 tokens, has 1"}},
		{size: 40, context: 64, validation: 0.1, err: []string{"needs at least 65 tokens, has 40"}},
		{size: 64, context: 64, validation: 0.1, err: []string{"needs at least 65 tokens, has 64"}},
		{size: 65, context: 64, validation: 0.1, err: []string{"each part needs at least 65 tokens, training has 0 and validation has 7", "of 65"}},
		{size: 400, context: 64, validation: 0.1, err: []string{"validation part needs at least 65 tokens, has 40", "0.1 of 400"}},
		{size: 640, context: 64, validation: 0.1, err: []string{"validation part needs at least 65 tokens, has 64"}},
		{size: 650, context: 64, validation: 0.1, train: 650 - 65 - 64, held: 65},
		{size: 256, context: 64, validation: 0.5, err: []string{"training part needs at least 65 tokens, has 64"}},
		{size: 258, context: 64, validation: 0.5, train: 65, held: 129},
		{size: 1000, context: 1, validation: 0.25, train: 749, held: 250},
		{size: 5, context: 1, validation: 0.4, train: 2, held: 2}, // the smallest corpus there is
		{size: 4, context: 1, validation: 0.5, err: []string{"training part needs at least 2 tokens, has 1"}},
		{size: 100, context: math.MaxInt, validation: 0.1, err: []string{fmt.Sprintf("needs at least %d tokens, has 100", uint64(math.MaxInt)+1)}},
		{size: 100, context: 0, validation: 0.1, err: []string{"context is 0"}},
		{size: 100, context: -5, validation: 0.1, err: []string{"context is -5"}},
	}
	for _, test := range tests {
		for _, source := range []string{"text", "tokens"} {
			t.Run(fmt.Sprintf("%s/size=%d,context=%d,validation=%g", source, test.size, test.context, test.validation), func(t *testing.T) {
				raw := countingTokens(test.size)
				if source == "text" {
					raw = raw[:test.size]
				}
				cfg := data.Config{Source: source, Path: writeFile(t, "corpus", raw), Tokenizer: "byte", Validation: test.validation}
				corpus, err := data.Open(cfg, test.context)
				if len(test.err) > 0 {
					var typed *data.Error
					if !errors.As(err, &typed) {
						t.Fatalf("got %v, want a *data.Error", err)
					}
					for _, want := range test.err {
						if !strings.Contains(err.Error(), want) {
							t.Errorf("got %q, want it to say %q", err, want)
						}
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if corpus.Train.Len() != test.train || corpus.Validation.Len() != test.held {
					t.Errorf("got parts of %d and %d, want %d and %d", corpus.Train.Len(), corpus.Validation.Len(), test.train, test.held)
				}
			})
		}
	}
}

// The parts are the start and the end of the source, and at least one context lies between the last token that a training row can hold
// and the first that an evaluation reads.
func TestOpenSplitLeavesGap(t *testing.T) {
	for _, context := range []int{1, 7, 64} {
		for _, validation := range []float64{0.1, 0.37, 0.5} {
			for _, size := range []int{1000, 1001, 4099} {
				path := writeFile(t, "train.bin", countingTokens(size))
				corpus, err := data.Open(data.Config{Source: "tokens", Path: path, Validation: validation}, context)
				if err != nil {
					t.Fatal(err)
				}
				train, held := all(corpus.Train), all(corpus.Validation)
				for i, token := range train {
					if int(token) != i {
						t.Fatalf("training token %d is from position %d", i, token)
					}
				}
				for i, token := range held {
					if int(token) != size-len(held)+i {
						t.Fatalf("validation token %d is from position %d of %d", i, token, size)
					}
				}
				if gap := int(held[0]-train[len(train)-1]) - 1; gap != context {
					t.Errorf("context %d: %d tokens between the parts", context, gap)
				}
				if share := float64(len(held)) / float64(size); math.Abs(share-validation) > 0.5/float64(size)+1e-12 {
					t.Errorf("validation share %g, want %g of %d", share, validation, size)
				}
			}
		}
	}
}

func TestOpenTextIsLossless(t *testing.T) {
	everyByte := make([]byte, 256)
	for i := range everyByte {
		everyByte[i] = byte(i)
	}
	for name, piece := range map[string][]byte{
		"byte order mark": []byte("\xef\xbb\xbfabc"),
		"CRLF":            []byte("a\r\nb\rc\n\n"),
		"NUL":             []byte("a\x00b\x00\x00"),
		"invalid UTF-8":   []byte("\xff\xfe\xc3(\xed\xa0\x80"),
		"every byte":      everyByte,
		"one long line":   bytes.Repeat([]byte("x"), 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			text := bytes.Repeat(piece, max(1, 2000/len(piece)))
			corpus, err := data.Open(textConfig(t, text), 8)
			if err != nil {
				t.Fatal(err)
			}
			train, err := corpus.Tokenizer.Decode(all(corpus.Train))
			if err != nil {
				t.Fatal(err)
			}
			held, err := corpus.Tokenizer.Decode(all(corpus.Validation))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.HasPrefix(text, train) || !bytes.HasSuffix(text, held) || len(train)+8+len(held) != len(text) {
				t.Errorf("%d bytes became %d and %d tokens that decode to something else", len(text), len(train), len(held))
			}
			if corpus.Vocab != 256 || corpus.ValidationBytes != len(held) {
				t.Errorf("vocabulary %d, %d bytes of validation; want 256, %d", corpus.Vocab, corpus.ValidationBytes, len(held))
			}
			if corpus.Hash != sha(text) || corpus.TrainHash != sha(train) || corpus.ValidationHash != sha(held) {
				t.Error("a hash is not that of its bytes")
			}
		})
	}
}

func TestOpenTokensHashesAndVocabulary(t *testing.T) {
	body := countingTokens(1000)
	header := make([]byte, 1024)
	binary.LittleEndian.PutUint32(header, 20240520)
	binary.LittleEndian.PutUint32(header[4:], 1)
	binary.LittleEndian.PutUint32(header[8:], 1000)
	for name, raw := range map[string][]byte{"nanoGPT": body, "llm.c": append(header, body...)} {
		for configured, want := range map[int]int{0: 1000, 1000: 1000, 50257: 50257} {
			cfg := data.Config{Source: "tokens", Path: writeFile(t, "train.bin", raw), Validation: 0.1, Vocab: configured}
			corpus, err := data.Open(cfg, 10)
			if err != nil {
				t.Fatal(err)
			}
			if corpus.Vocab != want || corpus.Tokenizer != nil || corpus.ValidationBytes != 0 {
				t.Errorf("%s: vocabulary %d (want %d), tokenizer %v, %d bytes of validation", name, corpus.Vocab, want, corpus.Tokenizer, corpus.ValidationBytes)
			}
			if corpus.Hash != sha(raw) || corpus.TrainHash != sha(body[:2*890]) || corpus.ValidationHash != sha(body[2*900:]) {
				t.Errorf("%s: a hash is not that of its bytes", name)
			}
			if !strings.Contains(corpus.Describe, name) {
				t.Errorf("%q does not name the format %s", corpus.Describe, name)
			}
		}
	}

	cfg := data.Config{Source: "tokens", Path: writeFile(t, "train.bin", body), Validation: 0.1, Vocab: 999}
	_, err := data.Open(cfg, 10)
	wantDataError(t, err, "token 999 at position 999", "vocabulary of 999")
}

func TestOpenUnreadableFile(t *testing.T) {
	for _, source := range []string{"text", "tokens"} {
		cfg := data.Config{Source: source, Tokenizer: "byte", Validation: 0.1}
		cfg.Path = filepath.Join(t.TempDir(), "absent\n.txt")
		_, err := data.Open(cfg, 8)
		wantDataError(t, err, `absent\n.txt`, "no")
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v does not wrap fs.ErrNotExist", err)
		}
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("%q prints a control character of the path", err)
		}
		cfg.Path = t.TempDir()
		_, err = data.Open(cfg, 8)
		wantDataError(t, err, "directory")
	}
	if _, err := os.Stat("/dev/zero"); err == nil {
		_, err := data.Open(data.Config{Source: "text", Path: "/dev/zero", Tokenizer: "byte", Validation: 0.1}, 8)
		wantDataError(t, err, "not a regular file")
	}
}

// A configuration that does not validate is no data problem.
func TestOpenInvalidConfig(t *testing.T) {
	_, err := data.Open(data.Config{Source: "text", Tokenizer: "byte", Validation: 0.1}, 8)
	var typed *data.Error
	if err == nil || errors.As(err, &typed) {
		t.Errorf("got %v, want an error that is no *data.Error", err)
	}
}

func wantDataError(t *testing.T, err error, says ...string) {
	t.Helper()
	var typed *data.Error
	if !errors.As(err, &typed) {
		t.Fatalf("got %v, want a *data.Error", err)
	}
	for _, want := range says {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %q, want it to say %q", err, want)
		}
	}
}
