package data

import (
	"encoding/binary"
	"fmt"
)

// tokenFile delivers a file of uint16 tokens, little-endian, in one of two formats:
//
//	nanoGPT   tokens from the first byte to the last, without a header (data/*/prepare.py writes them with numpy's tofile)
//	llm.c     256 int32 of header: magic 20240520, version 1, number of tokens, zeros; then the tokens (dev/data/data_common.py)
//
// The magic tells them apart. As two uint16 it reads 55432, 308, and GPT-2's vocabulary, for which nanoGPT writes its files, ends at
// 50256: no such file starts like that.
var tokenFile = Source{
	Name: "tokens",
	Keys: []string{"path", "vocab"},
	Load: loadTokens,
}

const (
	llmcHeader  = 256 * 4  // bytes
	llmcMagic   = 20240520 // GPT-2: uint16
	llmcVersion = 1
	llmcWide    = 20240801 // Llama 3: uint32, which is recognised only to be refused
)

func loadTokens(cfg Config) (*Material, error) {
	raw, err := readNamed(cfg.Path)
	if err != nil {
		return nil, &Error{Source: cfg.Source, Path: cfg.Path, Reason: "cannot be read", Err: err}
	}
	tokens, format, err := parseTokens(raw)
	if err != nil {
		return nil, &Error{Source: cfg.Source, Path: cfg.Path, Reason: "is not a file of tokens", Err: err}
	}
	largest, at := largestToken(tokens)
	vocab := max(cfg.Vocab, largest+1)
	if cfg.Vocab != 0 && vocab > cfg.Vocab {
		return nil, &Error{Source: cfg.Source, Path: cfg.Path,
			Reason: fmt.Sprintf("token %d at position %d is outside the vocabulary of %d that data.vocab names", largest, at, cfg.Vocab)}
	}
	return &Material{
		Tokens:   tokens,
		Vocab:    vocab,
		Hash:     hash(raw),
		Describe: fmt.Sprintf("tokens %q, %s, %d tokens, vocabulary %d", cfg.Path, format, tokens.Len(), vocab),
	}, nil
}

// parseTokens finds the tokens in the bytes of a file and names its format. The tokens share the memory of raw.
func parseTokens(raw []byte) (tokens Tokens, format string, err error) {
	magic := uint32(0)
	if len(raw) >= 4 {
		magic = binary.LittleEndian.Uint32(raw)
	}
	switch magic {
	case llmcMagic:
		tokens, err = parseLLMC(raw)
		return tokens, "llm.c's format", err
	case llmcWide:
		return Tokens{}, "", fmt.Errorf("magic %d says uint32 tokens; only uint16 is read: llm.c's magic %d, or no header", llmcWide, llmcMagic)
	}
	if len(raw)%2 != 0 {
		return Tokens{}, "", fmt.Errorf("%d bytes are not a whole number of uint16 tokens", len(raw))
	}
	return Uint16Tokens(raw), "nanoGPT's format", nil
}

func parseLLMC(raw []byte) (Tokens, error) {
	if len(raw) < llmcHeader {
		return Tokens{}, fmt.Errorf("llm.c's header takes %d bytes, the file has %d", llmcHeader, len(raw))
	}
	version := int32(binary.LittleEndian.Uint32(raw[4:]))
	if version != llmcVersion {
		return Tokens{}, fmt.Errorf("llm.c's version is %d; only %d is read", version, llmcVersion)
	}
	count := int32(binary.LittleEndian.Uint32(raw[8:]))
	body := raw[llmcHeader:]
	if int64(len(body)) != 2*int64(count) {
		return Tokens{}, fmt.Errorf("llm.c's header counts %d tokens of 2 bytes, %d bytes follow it", count, len(body))
	}
	return Uint16Tokens(body), nil
}

// largestToken returns the largest token and its first position; 0, 0 where there is none.
func largestToken(t Tokens) (largest, at int) {
	for i := range t.Len() {
		if token := int(t.At(i)); token > largest {
			largest, at = token, i
		}
	}
	return largest, at
}
