package data

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
)

// Sampler draws training batches. A row starts at an offset that is uniform over all that leave room for T tokens and the one after
// them, with replacement: there are no epochs, and a run can start at any step without having seen the earlier ones.
//
// The offset of a row is a pure function of (seed, salt, step, row). It is read-only and safe for concurrent use.
type Sampler struct {
	key     [sha256.Size]byte
	train   Tokens
	context int
}

// Sampler returns the training batches of the stream (seed, salt). Two models with the same pair see the same sequences at every step.
func (c *Corpus) Sampler(seed uint64, salt string) *Sampler {
	return &Sampler{key: streamKey(seed, salt, "data.offset"), train: c.Train, context: c.Context}
}

// Batch fills micro-batch number micro (0-based) of a step: tokens (B,T), and targets (B,T), the token after each. B follows from the
// length of the slices. Rows are counted over the micro-batches of a step, so that one of 8 rows, two of 4 and eight of 1 hold the same
// sequences in the same order. It allocates nothing; slices that are no (B,T) panic.
func (s *Sampler) Batch(tokens, targets []int32, step, micro int) {
	rows := rowsOf(tokens, targets, s.context)
	for r := range rows {
		offset := s.Offset(step, micro*rows+r)
		lo, hi := r*s.context, (r+1)*s.context
		s.train.Copy(tokens[lo:hi], offset)
		s.train.Copy(targets[lo:hi], offset+1)
	}
}

// Offset returns where in the training part a row of a step starts; row counts over the whole step, accumulation included.
func (s *Sampler) Offset(step, row int) int {
	choices := s.train.Len() - s.context // the last one's last target is the last token
	return int(uniform(&s.key, uint64(step), uint64(row), uint64(choices)))
}

// streamKey returns the key of a random stream: SHA-256 (FIPS 180-4) of seed, salt and name. The length of the salt comes before it, so
// that no two triples give the same bytes.
func streamKey(seed uint64, salt, name string) [sha256.Size]byte {
	b := binary.LittleEndian.AppendUint64(nil, seed)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(salt)))
	b = append(b, salt...)
	b = append(b, name...)
	return sha256.Sum256(b)
}

// uniform returns an unbiased number in [0, n), a pure function of its arguments; n is at least 1.
//
// Its random words are the digest of key, step and row, four of them; where all are rejected, those of that digest's digest, and so on.
// A hash is slow for a generator, and still thousands of times faster than the step that the row is for; in return there is nothing to
// believe about streams of neighbouring steps. The reduction is Lemire's (2019, arXiv:1805.10941): the high half of word·n, rejecting
// the words that would favour some results.
func uniform(key *[sha256.Size]byte, step, row, n uint64) uint64 {
	var block [sha256.Size + 16]byte
	copy(block[:], key[:])
	binary.LittleEndian.PutUint64(block[sha256.Size:], step)
	binary.LittleEndian.PutUint64(block[sha256.Size+8:], row)
	threshold := -n % n // 2^64 mod n: as many words are too many
	for digest := sha256.Sum256(block[:]); ; digest = sha256.Sum256(digest[:]) {
		for i := 0; i < len(digest); i += 8 {
			if high, low := bits.Mul64(binary.LittleEndian.Uint64(digest[i:]), n); low >= threshold {
				return high
			}
		}
	}
}
