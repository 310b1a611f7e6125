package data

import "math"

// UnigramLoss returns the mean loss, in nats per token, of the model that has learned how often each token occurs and nothing else:
//
//	−1/M · Σ ln p(y) over the M validation targets y,   p(v) = (count of v in the training part + 1) / (training tokens + V)
//
// Adding one to each count (Laplace's rule of succession) keeps the loss finite where the validation part holds a token that the
// training part lacks. It costs at most ln(1 + V/N) nats, nothing to speak of where the N training tokens are many times V. A model that stays at or above this number learned nothing from context.
func (c *Corpus) UnigramLoss() float64 {
	train, validation := counts(c.Train, c.Vocab), counts(c.Validation.Slice(1, c.Validation.Len()), c.Vocab) // the first is no target
	total := float64(c.Train.Len() + c.Vocab)
	loss := 0.0
	for v, n := range validation {
		loss -= float64(n) * math.Log(float64(train[v]+1)/total)
	}
	return loss / float64(c.Validation.Len()-1)
}

// counts returns how often each token of the vocabulary occurs.
func counts(t Tokens, vocab int) []int {
	n := make([]int, vocab)
	for i := range t.Len() {
		n[t.At(i)]++
	}
	return n
}
