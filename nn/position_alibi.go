package nn

import "ablate/ops"

// alibi lowers a score in proportion to the distance of query and key.
var alibi = Position{
	Name: "alibi", Source: "Press, Smith and Lewis 2021, arXiv:2108.12409",
	Scores: func(_ Site, o *ops.AttentionOptions, _ PositionConfig) { o.Slopes = ops.ALiBiSlopes(o.Heads) },
}
