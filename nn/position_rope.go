package nn

import (
	"fmt"
	"math"
	"sync"

	"ablate/graph"
	"ablate/ops"
)

// rope rotates pairs of entries of queries and keys by angles proportional to
// the position.
var rope = Position{
	Name: "rope", Source: "Su et al. 2021, arXiv:2104.09864",
	Reads: []string{"base", "layout", "fraction", "scaling"},
	Check: checkRoPE,
	Rotate: func(s Site, x *graph.Node, heads int, c PositionConfig) *graph.Node {
		n, r := s.Span(x), rotatedDims(c.Fraction, width(x)/heads)
		data := sync.OnceValues(func() (cos, sin []float64) {
			freq, factor := ops.RoPEFrequencies(r, c.Base, c.Scaling.Op())
			return ops.RoPETables(freq, factor, 0, n)
		})
		table := func(name string, pick func(cos, sin []float64) []float64) *graph.Node { // made once for all layers that rotate alike
			return s.Shared(fmt.Sprintf("rope.%s %d %g %v", name, r, c.Base, c.Scaling), func(s Site, name string) *graph.Node {
				return s.Rows(s.scope.Table(name, pick(data()), n, r/2), x)
			})
		}
		cos := table("cos", func(cos, _ []float64) []float64 { return cos })
		sin := table("sin", func(_, sin []float64) []float64 { return sin })
		return ops.RoPE(x, cos, sin, heads, c.Layout == "interleaved")
	},
}

func checkRoPE(c PositionConfig, m *Config) error {
	hd := int(m.HeadDim)
	if hd == 0 {
		hd = m.DModel / m.Heads
	}
	r := rotatedDims(c.Fraction, hd)
	if r < 2 || r%2 != 0 {
		return fmt.Errorf("fraction: %g of a head of %d entries is %d; an even number from 2 is needed", c.Fraction, hd, r)
	}
	if c.Scaling.Kind == "ntk" && r < 4 {
		return fmt.Errorf("scaling: ntk needs 4 rotated entries, a head has %d", r)
	}
	return nil
}

// rotatedDims is the number of entries of a head that rotate.
func rotatedDims(fraction float64, headDim int) int {
	return int(math.Floor(fraction * float64(headDim)))
}

// Op is the scaling as package ops has it; nil for none.
func (s RoPEScaling) Op() ops.RoPEScaling {
	switch s.Kind {
	case "linear":
		return ops.LinearScaling{Factor: s.Factor}
	case "ntk":
		return ops.NTKScaling{Factor: s.Factor}
	case "yarn":
		return ops.YaRNScaling{Factor: s.Factor, Original: s.Original, BetaFast: s.BetaFast, BetaSlow: s.BetaSlow}
	case "llama3":
		return ops.Llama3Scaling{Factor: s.Factor, LowFreq: s.LowFreqFactor, HighFreq: s.HighFreqFactor, Original: s.Original}
	}
	return nil
}
