package data

import (
	"fmt"
	"strings"
)

// Tokenizer turns text into tokens and back. It is read-only and safe for concurrent use.
type Tokenizer interface {
	Name() string
	Vocab() int // V; every token is in [0, V)

	// Encode may share the memory of text, which must not be written any more.
	Encode(text []byte) (Tokens, error)
	// Decode is the inverse of Encode; a token outside [0, V) is an error.
	Decode(tokens []int32) ([]byte, error)
}

// Tokenizers is the table of tokenizers, in the order in which they are listed to people.
var Tokenizers = []Tokenizer{byteTokenizer{}}

// LookupTokenizer returns the tokenizer of that name, or an error that lists those that exist.
func LookupTokenizer(name string) (Tokenizer, error) {
	names := make([]string, len(Tokenizers))
	for i, t := range Tokenizers {
		if names[i] = t.Name(); names[i] == name {
			return t, nil
		}
	}
	return nil, fmt.Errorf("tokenizer: %q is unknown; known are %s", name, strings.Join(names, ", "))
}
