package nn

import (
	"ablate/graph"
	"ablate/ops"
)

// Position is a position encoding, by name. It acts at the places that it sets
// a hook for. Tables of positions have Site.Span rows, of which Site.Rows are those
// of the tokens at hand.
type Position struct {
	Name   string
	Source string
	Reads  []string // the keys of PositionConfig that it reads
	// Check says what is wrong with a configuration; the text starts with the key.
	// Autos of m may be left.
	Check func(c PositionConfig, m *Config) error
	// Embed adds to the embedding x (B,T,D).
	Embed func(s Site, x *graph.Node, c PositionConfig) *graph.Node
	// Rotate changes queries (B,T,H·K) or keys (B,T,G·K).
	Rotate func(s Site, x *graph.Node, heads int, c PositionConfig) *graph.Node
	// Scores adds to the attention's scores.
	Scores func(s Site, o *ops.AttentionOptions, c PositionConfig)
}

// Positions is the table of position encodings by name.
var Positions = map[string]*Position{}

func init() {
	for _, p := range []Position{noPosition, learned, sinusoidal, rope, alibi, t5} {
		RegisterPosition(p)
	}
}

// RegisterPosition adds p to the table. It panics if the name is taken or no name.
func RegisterPosition(p Position) {
	mustBeFree("position encoding", p.Name, Positions[p.Name] != nil)
	Positions[p.Name] = &p
}

// noPosition leaves order to the causal mask.
var noPosition = Position{Name: "none", Source: "Kazemnejad et al. 2023, arXiv:2305.19466"}
