package nn

import (
	"fmt"

	"ablate/graph"
	"ablate/ops"
)

// learned adds a learned vector for every position.
var learned = Position{
	Name: "learned", Source: "Gehring et al. 2017, arXiv:1705.03122; GPT-2",
	Reads: []string{"max"},
	Check: func(c PositionConfig, m *Config) error {
		if c.Max != 0 && int(c.Max) < m.Context {
			return fmt.Errorf("max: %d positions for a context of %d", c.Max, m.Context)
		}
		return nil
	},
	Embed: func(s Site, x *graph.Node, c PositionConfig) *graph.Node {
		if t := s.Span(x); t > int(c.Max) {
			panic(&graph.Error{Name: "position.max", Err: fmt.Errorf("a sequence of %d tokens for %d learned positions", t, c.Max)})
		}
		w := Weight{Module: "position", Layer: -1, In: int(c.Max), Out: width(x)}
		return ops.AddPositions(x, s.Rows(s.matrix("wpe", w, int(c.Max), width(x)), x))
	},
}
