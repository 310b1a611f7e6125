package nn

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"ablate/graph"
	"ablate/ops"
)

// dynamicTanh is w ⊙ tanh(alpha x) + b with one learned slope alpha.
var dynamicTanh = Norm{
	Name: "dyt", Source: "Zhu et al. 2025, arXiv:2503.10622",
	Alpha: true, Bias: true,
	Build: func(s Site, x *graph.Node, c NormConfig) *graph.Node {
		d := width(x)
		return ops.DyT(x, s.Param("alpha", Constant(c.Alpha.at(s)), 1), s.Param("w", Constant(1), d), c.bias(s, d))
	},
}

// Slopes are where the slopes of DyT start: one number for all of them; or three,
// for norms of attention (those numbered 1), for those of FFN (the other ones of a
// block), and for those outside of blocks. Its authors start language models with
// larger slopes in attention.
type Slopes []float64

// dytAlpha is where slopes start that nobody chose, as in the authors' code.
const dytAlpha = 0.5

// FromConfig reads a number above 0, or a list of three.
func (a *Slopes) FromConfig(v any) error {
	list, err := listOf(v, func(v any) (float64, error) {
		if x, ok := number(v); ok && x > 0 && x <= maxSize {
			return x, nil
		}
		return 0, fmt.Errorf("%v is not a number above 0 and up to %d", v, maxSize)
	})
	if err == nil && len(list) != 1 && len(list) != 3 {
		err = errors.New("allowed: a number, or three: for attention, for FFN, and outside of blocks")
	}
	if err == nil {
		*a = list
	}
	return err
}

// ConfigValue gives the list back.
func (a Slopes) ConfigValue() any {
	if len(a) == 0 {
		return nil
	}
	return valueOf(a, func(x float64) any { return x })
}

// at is the slope of the norm at a site.
func (a Slopes) at(s Site) float64 {
	path := strings.Split(s.scope.Path(), ".")
	switch {
	case len(a) == 0:
		return dytAlpha
	case len(a) == 1:
		return a[0]
	case s.layer < 0:
		return a[2]
	case strings.HasPrefix(path[len(path)-1], "norm1") || slices.Contains(path, "attn"):
		return a[0]
	}
	return a[1]
}
