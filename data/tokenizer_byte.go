package data

import "fmt"

// byteTokenizer makes each byte a token: V = 256, no vocabulary file, nothing lost, whatever the encoding of the text.
type byteTokenizer struct{}

func (byteTokenizer) Name() string { return "byte" }
func (byteTokenizer) Vocab() int   { return 256 }

func (byteTokenizer) Encode(text []byte) (Tokens, error) { return ByteTokens(text), nil }

func (byteTokenizer) Decode(tokens []int32) ([]byte, error) {
	text := make([]byte, len(tokens))
	for i, token := range tokens {
		if token < 0 || token > 255 {
			return nil, fmt.Errorf("token %d at position %d is no byte: 0 to 255 are", token, i)
		}
		text[i] = byte(token)
	}
	return text, nil
}
