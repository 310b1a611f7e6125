package nn

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"ablate/graph"
)

// Sampling says how a token is chosen from the logits z of all tokens, in this
// order, which is that of the transformers library and of nanoGPT:
//
//  1. z becomes z / Temperature (Ackley, Hinton and Sejnowski 1985)
//  2. the TopK tokens with the largest z stay (Fan, Lewis and Dauphin 2018, arXiv:1805.04833)
//  3. of these the most probable stay, as few as have TopP of their probability
//     together (Holtzman et al. 2019, arXiv:1904.09751)
//
// and one of them is drawn with probability softmax(z). Of tokens with equal z
// the one with the smaller number comes first.
type Sampling struct {
	Temperature float64 // 0 takes the largest z and draws nothing: greedy
	TopK        int     // 0: all
	TopP        float64 // 0 or 1: all
}

// Validate reports everything that is wrong with the values.
func (s Sampling) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !(s.Temperature >= 0) || math.IsInf(s.Temperature, 1) {
		bad("temperature: %g is not a number from 0", s.Temperature)
	}
	if s.TopK < 0 {
		bad("top-k: %d is negative; 0 is all", s.TopK)
	}
	if !(s.TopP >= 0 && s.TopP <= 1) {
		bad("top-p: %g is not a share from 0 to 1", s.TopP)
	}
	if s.Temperature == 0 && (s.TopK > 0 || s.TopP > 0 && s.TopP < 1) {
		bad("temperature: 0 takes the most probable token and reads neither top-k nor top-p")
	}
	return errors.Join(errs...)
}

// Sampler draws tokens. It is a function of its seed and of the logits.
type Sampler struct {
	Sampling
	random  *rand.Rand
	order   []int32
	weights []float64
}

// NewSampler is a sampler whose draws come from the stream (seed, "sample").
func NewSampler(s Sampling, seed uint64) (*Sampler, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	return &Sampler{Sampling: s, random: graph.Stream(seed, "", "sample")}, nil
}

// Next chooses a token. It is an error if the logits are no distribution.
func (s *Sampler) Next(logits []float64) (int32, error) {
	best, err := largest(logits)
	if err != nil || s.Temperature == 0 {
		return best, err
	}
	s.order = s.order[:0]
	for i := range logits {
		s.order = append(s.order, int32(i))
	}
	if s.TopK > 0 || s.TopP > 0 && s.TopP < 1 {
		slices.SortFunc(s.order, func(a, b int32) int {
			return cmp.Or(cmp.Compare(logits[b], logits[a]), cmp.Compare(a, b))
		})
	}
	if s.TopK > 0 {
		s.order = s.order[:min(s.TopK, len(s.order))]
	}
	total := s.weigh(logits, logits[best])
	if s.TopP > 0 && s.TopP < 1 {
		total = s.nucleus(total)
	}
	return s.draw(total), nil
}

// weigh computes exp((z - most)/Temperature) of the tokens in order, and their sum.
func (s *Sampler) weigh(logits []float64, most float64) (total float64) {
	s.weights = s.weights[:0]
	for _, i := range s.order {
		w := math.Exp((logits[i] - most) / s.Temperature)
		s.weights = append(s.weights, w)
		total += w
	}
	return total
}

// nucleus keeps the first tokens that have TopP of the total together, and gives
// their sum.
func (s *Sampler) nucleus(total float64) float64 {
	sum := 0.0
	for i, w := range s.weights {
		if sum += w; sum >= s.TopP*total {
			s.order, s.weights = s.order[:i+1], s.weights[:i+1]
			break
		}
	}
	return sum
}

// draw takes a token with a probability in proportion to its weight.
func (s *Sampler) draw(total float64) int32 {
	u := s.random.Float64() * total
	last := s.order[0] // that has a weight: the one for a u that rounding put past the end
	for i, w := range s.weights {
		if w > 0 {
			last = s.order[i]
		}
		if u -= w; u < 0 {
			break
		}
	}
	return last
}

// largest is the token with the largest logit, the first of several.
func largest(logits []float64) (int32, error) {
	best := 0
	for i, z := range logits {
		if math.IsNaN(z) {
			return 0, fmt.Errorf("the logit of token %d is no number", i)
		}
		if z > logits[best] {
			best = i
		}
	}
	if len(logits) == 0 || math.IsInf(logits[best], 0) {
		return 0, errors.New("the logits have no finite maximum")
	}
	return int32(best), nil
}
