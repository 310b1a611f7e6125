package nn

import (
	"fmt"
	"slices"

	"ablate/graph"
	"ablate/ops"
)

// t5 adds a learned number to a score for every head and bucket of distances;
// all layers share one table.
var t5 = Position{
	Name: "t5", Source: "Raffel et al. 2019, arXiv:1910.10683",
	Reads: []string{"buckets", "max_distance"},
	Check: func(c PositionConfig, m *Config) error {
		nb := c.Buckets
		if !m.Attention.Causal {
			nb /= 2
		}
		exact := nb / 2
		switch {
		case exact < 1:
			return fmt.Errorf("buckets: %d are too few; 2 are needed, or 4 without a causal mask", c.Buckets)
		case c.MaxDistance <= exact:
			return fmt.Errorf("max_distance: %d is not above the %d distances that have a bucket each", c.MaxDistance, exact)
		case slices.ContainsFunc(m.Position, func(o PositionConfig) bool {
			return o.Kind == c.Kind && (o.Buckets != c.Buckets || o.MaxDistance != c.MaxDistance)
		}):
			return fmt.Errorf("buckets: all layers share one table, so they must agree")
		}
		return nil
	},
	Scores: func(s Site, o *ops.AttentionOptions, c PositionConfig) {
		o.RelBias = s.Shared("rel_bias", func(s Site, name string) *graph.Node {
			s.role, s.module = "position_bias", "position"
			return s.matrix(name, Weight{Module: "rel_bias", Layer: -1, In: c.Buckets, Out: o.Heads}, c.Buckets, o.Heads)
		})
		o.MaxDistance = c.MaxDistance
	},
}
