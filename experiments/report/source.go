package report

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"ablate/experiments/results"
	"ablate/train/metrics"
)

// A source is an experiment as its figures see it: arms in groups that differ
// in depth alone.
type source struct {
	*results.Experiment
	groups []group
	depths []float64 // distinct values of the depth axis, ascending; nil without that axis
	along  []string  // other axes whose values change with the depth and with nothing else
}

// A group is the arms that share everything but their depth; without a depth
// axis, one arm.
type group struct {
	label string
	arms  []member
	key   []any // values that its arms share
}

// A member is an arm and its place among the depths.
type member struct {
	*results.Arm
	depth float64
	label string // "24 layers", or the arm's name
}

func newSource(e *results.Experiment) *source {
	s := &source{Experiment: e}
	axis := depthAxis(e)
	with := alongDepth(e, axis)
	for i, key := range e.Axes {
		if with[i] {
			s.along = append(s.along, key)
		}
	}
	for _, a := range e.Arms {
		label, m, key := a.Name(), member{Arm: a, label: a.Name()}, a.Values
		if axis >= 0 {
			m.depth, _ = depth(a.Values[axis])
			var along, shared []string
			key = nil
			for i, name := range a.Names {
				if i == axis || with[i] {
					along = append(along, name)
				} else {
					shared, key = append(shared, name), append(key, a.Values[i])
				}
			}
			m.label, label = strings.Join(along, ", "), strings.Join(shared, " · ")
			if !slices.Contains(s.depths, m.depth) {
				s.depths = append(s.depths, m.depth)
			}
		}
		s.add(label, key, m)
	}
	slices.Sort(s.depths)
	return s
}

// alongDepth says of every axis whether its values change with the depth and with nothing else, as those of a learning rate
// do that is zipped with it. They tell no groups apart.
func alongDepth(e *results.Experiment, axis int) []bool {
	with := make([]bool, len(e.Axes))
	if axis < 0 {
		return with
	}
	for i := range e.Axes {
		of := map[string]string{} // label, by depth
		distinct := map[string]bool{}
		with[i] = i != axis
		for _, a := range e.Arms {
			d, label := a.Labels[axis], a.Labels[i]
			if before, seen := of[d]; seen && before != label {
				with[i] = false
			}
			of[d], distinct[label] = label, true
		}
		with[i] = with[i] && len(distinct) > 1
	}
	return with
}

// depthAxis is the axis to draw along, or -1: its values must be numbers.
func depthAxis(e *results.Experiment) int {
	axis := slices.Index(e.Axes, results.DepthAxis)
	for _, a := range e.Arms {
		if axis < 0 {
			break
		}
		if _, ok := depth(a.Values[axis]); !ok {
			return -1
		}
	}
	return axis
}

// depth is a value of the depth axis as a positive number.
func depth(v any) (float64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	d, err := n.Float64()
	return d, err == nil && d > 0
}

// add puts an arm into the group of the values that it shares.
func (s *source) add(label string, key []any, m member) {
	if label == "" {
		label = s.Name
	}
	if m.label == "" {
		m.label = label
	}
	i := slices.IndexFunc(s.groups, func(g group) bool { return reflect.DeepEqual(g.key, key) })
	if i < 0 {
		i = len(s.groups)
		s.groups = append(s.groups, group{label: label, key: key})
	}
	s.groups[i].arms = append(s.groups[i].arms, m)
}

// colour is that of an arm: by depth where there is one, else by its number.
func (s *source) colour(m member, number int) ink {
	if s.depths == nil {
		return category(number)
	}
	return ordered(slices.Index(s.depths, m.depth), len(s.depths))
}

// stroke is the dashes of an arm's line: by number, where colours may run out.
func (s *source) stroke(number int) []vg.Length {
	if s.depths == nil {
		return stroke(number)
	}
	return nil
}

// depthKeys is the legend of figures that colour by depth, or by arm.
func (s *source) depthKeys() (keys []key) {
	if s.depths == nil {
		if len(s.groups) == 1 {
			return nil // there is nothing to tell apart
		}
		for i, g := range s.groups {
			keys = append(keys, key{text: g.label, colour: category(i), dashes: stroke(i)})
		}
		return keys
	}
	for i, d := range s.depths {
		text := fmt.Sprintf("%g", d)
		switch {
		case s.along != nil:
			text = s.atDepthLabel(d)
		case i == 0:
			text = results.Layers(text)
		}
		keys = append(keys, key{text: text, colour: ordered(i, len(s.depths))})
	}
	return keys
}

// atDepthLabel is the depth with what changes along with it.
func (s *source) atDepthLabel(d float64) string {
	for _, g := range s.groups {
		for _, m := range g.arms {
			if m.depth == d {
				return m.label
			}
		}
	}
	return layers(d)
}

// alongWords says in a caption what changes with the depth.
func (s *source) alongWords() string {
	if s.along == nil {
		return ""
	}
	return " With the number of layers changes " + strings.Join(s.along, ", ") + "."
}

// ppl is the number that the leading figure compares.
func ppl(s *metrics.Summary) metrics.Value { return s.ValPPL }

// loss is the number that differences are taken of.
func loss(s *metrics.Summary) metrics.Value { return s.ValLoss }
