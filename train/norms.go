package train

import (
	"math"

	"ablate/graph"
	"ablate/train/metrics"
)

// norms holds the sums of squares of a step by parameter, and the groups of
// parameters that are reported together.
type norms struct {
	grad, value, delta []float64 // Σ g², Σ W², Σ (ΔW)² by parameter
	groups             []group
	total              group
}

// group is a set of parameters with one row per quantity.
type group struct {
	layer         int
	module, param string
	members       []int
	numel         int64
}

// newNorms lists the groups in the order of the records: for each block the
// block, then its modules; the modules outside of blocks; the total; and, if
// asked for, every parameter. Modules stand in the order of their first
// parameter.
func newNorms(specs []*graph.ParamSpec, layers int, params bool) *norms {
	n := &norms{grad: make([]float64, len(specs)), value: make([]float64, len(specs)), delta: make([]float64, len(specs))}
	for l := range layers {
		n.add(specs, group{layer: l, module: metrics.ModuleBlock}, func(s *graph.ParamSpec) bool { return s.Layer == l })
		n.modules(specs, l)
	}
	n.modules(specs, metrics.NoLayer)
	n.add(specs, group{layer: metrics.NoLayer, module: metrics.ModuleTotal}, func(*graph.ParamSpec) bool { return true })
	n.total = n.groups[len(n.groups)-1]
	if params {
		for _, p := range specs {
			n.add(specs, group{layer: p.Layer, module: p.Module, param: p.Name}, func(s *graph.ParamSpec) bool { return s == p })
		}
	}
	return n
}

func (n *norms) modules(specs []*graph.ParamSpec, layer int) {
	seen := map[string]bool{}
	for _, p := range specs {
		if p.Layer != layer || seen[p.Module] {
			continue
		}
		seen[p.Module] = true
		n.add(specs, group{layer: layer, module: p.Module}, func(s *graph.ParamSpec) bool { return s.Layer == layer && s.Module == p.Module })
	}
}

func (n *norms) add(specs []*graph.ParamSpec, g group, in func(*graph.ParamSpec) bool) {
	for i, s := range specs {
		if in(s) {
			g.members = append(g.members, i)
			g.numel += int64(s.Size())
		}
	}
	n.groups = append(n.groups, g)
}

// of is the L2 norm over a group, added in the order of the parameters.
func (g *group) of(squares []float64) float64 {
	s := 0.0
	for _, i := range g.members {
		s += squares[i]
	}
	return math.Sqrt(s)
}

// updateRatio is ‖ΔW‖/‖W‖, with W before the update; unknown where all weights
// are zero, as new biases are.
func updateRatio(delta, weight float64) metrics.Value {
	if weight == 0 {
		return metrics.Value{}
	}
	return metrics.Known(delta / weight)
}
