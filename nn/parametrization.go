package nn

import (
	"math"
)

// The parametrizations: how a model changes when it becomes wider.
const (
	Standard = "standard" // as the other keys say
	MuP      = "mup"      // maximal update parametrization, see ParametrizationConfig
)

// ParametrizationConfig chooses the parametrization. Under mup (Yang et al. 2022,
// arXiv:2203.03466, table 8, in the form of nanoGPT-mup) a model of width d_model =
// m·base_width differs from that of base_width so that activations and their change
// in a step stay of one size, and the best learning rate stays where it is:
//
//	matrices of blocks    initial deviation std/√m, learning rate lr/m (that of Adam)
//	logits                times 1/m
//	scores of attention   times 1/head_dim, where attention.scale is auto
//	all else              as it is: embeddings, positions, head, gains, biases
//
// Weight decay, which the learning rate multiplies, shrinks with it, as it does in
// nanoGPT-mup. Heads should keep their width, and d_ff its ratio to d_model.
type ParametrizationConfig struct {
	Kind      string `key:"kind" default:"standard" enum:"standard,mup" doc:"standard, or mup: the learning rate that is best at base_width is best at every width"`
	BaseWidth int    `key:"base_width" default:"64" range:">=1" doc:"mup: the d_model at which init.std and train.lr mean what they say"`
}

// width is m, how much wider than its base the model is; 1 in the standard
// parametrization.
func (c *Config) width() float64 { return c.Parametrization.width(c.DModel) }

func (p ParametrizationConfig) width(d int) float64 {
	if p.Kind != MuP {
		return 1
	}
	return float64(d) / float64(p.BaseWidth)
}

// hidden gives the factors of initial deviation and learning rate of the matrices of
// blocks in a model of width d.
func (p ParametrizationConfig) hidden(d int) (std, lr float64) {
	m := p.width(d)
	return 1 / math.Sqrt(m), 1 / m
}

// attentionScale is the factor of the scores: 1/√head_dim (Vaswani et al. 2017), or
// 1/head_dim under mup, where q and k come to be correlated.
func (p ParametrizationConfig) attentionScale(headDim int) float64 {
	if p.Kind == MuP {
		return 1 / float64(headDim)
	}
	return 1 / math.Sqrt(float64(headDim))
}

// validateParam refuses what would not be the parametrization that it is called:
// distributions that follow the width by a law of their own.
func (c *Config) validateParam(p *problems) {
	if c.Parametrization.Kind != MuP {
		return
	}
	if c.Parametrization.BaseWidth < 1 || c.Parametrization.BaseWidth > maxSize {
		p.add("parametrization.base_width: %d is not an integer from 1 to %d", c.Parametrization.BaseWidth, maxSize)
	}
	if !Inits[string(c.Init.Kind)].Std {
		p.add("parametrization.kind: mup says how the deviation follows the width, and so does init.kind %s; take one with a std, such as nanogpt", c.Init.Kind)
	}
}
