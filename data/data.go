// Package data turns a source of text or tokens into what a training step and an evaluation read: batches of token rows.
//
// The way of the data, each arrow one function:
//
//	Config ─ Source.Load → Material ─ split by position, then Tokenizer.Encode → Corpus ─ Corpus.Sampler → training batches
//	                                                                                    └ Tokens.Windows → evaluation batches
//
// Everything here is a pure function of its arguments and of the bytes of the source: a batch depends on (seed, salt, step, row) alone,
// an evaluation on the tokens and the context alone. There is no state to save in a checkpoint.
//
// Letters of shapes: B batch (rows), T time (the context), V vocabulary. A batch is (B,T), row-major, in one flat slice.
package data

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
)

// Ignore is the target of a position that has none: it adds nothing to a loss and is not counted.
const Ignore int32 = -100

// Corpus is a source, split and tokenised. It is read-only and safe for concurrent use.
type Corpus struct {
	Train      Tokens
	Validation Tokens

	Vocab     int       // V; every token is in [0, V)
	Tokenizer Tokenizer // nil where the source delivers tokens
	Context   int       // T: length of a training row, and width of the gap between the two parts

	Source   string // name of the source, a key of the table Sources
	Describe string // one line for people: what was read, of which version and size

	// SHA-256 in hexadecimal. Hash is that of the whole source as it is stored (what sha256sum prints for a file). The other two are
	// those of the parts after the split and before tokenising: bytes of text, or little-endian uint16 tokens without any header.
	Hash           string
	TrainHash      string
	ValidationHash string

	// ValidationBytes is the number of bytes of text that the validation part stands for, to turn nats per token into bits per byte;
	// 0 where the source delivers tokens, since nobody can tell.
	ValidationBytes int
}

// Open reads the source that cfg names, splits it for rows of context tokens, and tokenises the two parts.
//
// The split is by position and comes before tokenising: the last cfg.Validation share is the validation part, and one context of tokens
// (bytes, for a text) before it belongs to neither, so that no training row touches or borders what is evaluated.
//
// A configuration that does not validate gives Config.Validate's error. Every other error is an *Error: a source that cannot be read
// or is malformed, or a part with fewer than context+1 tokens, the shortest that holds one row and its targets.
func Open(cfg Config, context int) (*Corpus, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	source := lookupSource(cfg.Source)
	if context < 1 {
		return nil, &Error{Source: cfg.Source, Path: cfg.Path, Reason: fmt.Sprintf("a row needs at least 1 token, context is %d", context)}
	}
	material, err := source.Load(cfg)
	if err != nil {
		return nil, err
	}
	c := &Corpus{
		Vocab: material.Vocab, Context: context,
		Source: cfg.Source, Describe: material.Describe, Hash: material.Hash,
	}
	if material.Vocab == 0 {
		if c.Tokenizer, err = LookupTokenizer(cfg.Tokenizer); err != nil {
			return nil, err
		}
		c.Vocab = c.Tokenizer.Vocab()
	}

	n := material.len()
	trainEnd, validationStart := split(n, cfg.Validation, context)
	if c.Train, c.TrainHash, err = material.part(0, trainEnd, c.Tokenizer); err != nil {
		return nil, &Error{Source: cfg.Source, Path: cfg.Path, Reason: "the training part cannot be tokenised", Err: err}
	}
	if c.Validation, c.ValidationHash, err = material.part(validationStart, n, c.Tokenizer); err != nil {
		return nil, &Error{Source: cfg.Source, Path: cfg.Path, Reason: "the validation part cannot be tokenised", Err: err}
	}
	if c.Tokenizer != nil {
		c.ValidationBytes = n - validationStart
	}
	if reason := c.tooShort(n, cfg.Validation); reason != "" {
		return nil, &Error{Source: cfg.Source, Path: cfg.Path, Reason: reason}
	}
	return c, nil
}

// split returns where the training part [0, trainEnd) ends and where the validation part [validationStart, n) starts. The share is
// rounded to the nearest position, and the gap of one context is taken from the training part.
func split(n int, validation float64, context int) (trainEnd, validationStart int) {
	validationStart = n - int(math.Round(validation*float64(n)))
	return max(0, validationStart-context), validationStart
}

// tooShort says which part cannot fill one row and its targets, with the numbers; "" where both can. n is the size of the whole source.
func (c *Corpus) tooShort(n int, validation float64) string {
	need := uint64(c.Context) + 1 // the row, and the token that its last position predicts; unsigned: context may be the largest int
	short := func(have int) bool { return uint64(have) < need }
	switch where := fmt.Sprintf("context %d, validation %g of %d, gap of one context", c.Context, validation, n); {
	case short(n):
		return fmt.Sprintf("needs at least %d tokens, has %d (%s)", need, n, where)
	case short(c.Train.Len()) && short(c.Validation.Len()):
		return fmt.Sprintf("each part needs at least %d tokens, training has %d and validation has %d (%s): use a longer source or a smaller context",
			need, c.Train.Len(), c.Validation.Len(), where)
	case short(c.Train.Len()):
		return fmt.Sprintf("the training part needs at least %d tokens, has %d (%s): use a longer source, a smaller context or a smaller validation share",
			need, c.Train.Len(), where)
	case short(c.Validation.Len()):
		return fmt.Sprintf("the validation part needs at least %d tokens, has %d (%s): use a longer source, a smaller context or a larger validation share",
			need, c.Validation.Len(), where)
	}
	return ""
}

func hash(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}
