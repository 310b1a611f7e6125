package sweep

import (
	"fmt"
	"slices"
	"strings"

	"ablate/experiments/config"
)

// Matched says how an arm was made to agree with the reference of its group.
type Matched struct {
	On        string  `json:"on"`        // params or flops
	Solve     string  `json:"solve"`     // the key that was solved for
	Solved    int64   `json:"solved"`    // its value; 0 for the reference, which keeps its own
	Reference string  `json:"reference"` // the arm that the group agrees with
	Target    float64 `json:"target"`    // the reference's number
	Value     float64 `json:"value"`     // this arm's number
	Mismatch  float64 `json:"mismatch"`  // value / target − 1
}

// tolerance is the largest mismatch with which the smallest value will do: what the
// protocol of an ablation allows.
const tolerance = 0.01

// maxSolved bounds what is solved for: no width is larger.
const maxSolved = 1 << 20

// match solves for one key of each arm, so that it agrees with the arm of its group
// that has the first value of every axis named in across. A group is the arms that
// agree in all other axes.
func (e *Experiment) match(arms []*arm) error {
	if !e.Match.matching() {
		return nil
	}
	var all problems
	for _, a := range arms {
		ref, err := e.reference(arms, a)
		if err == nil {
			err = a.matchTo(ref, e.Match)
		}
		if err != nil {
			all.add(err)
		}
	}
	return all.err()
}

// reference finds the arm that an arm is to agree with.
func (e *Experiment) reference(arms []*arm, a *arm) (*arm, error) {
	want := slices.Clone(a.at)
	for i, axis := range e.Axes {
		if slices.Contains(e.Match.Across, axis.Key) {
			want[i] = 0
		}
	}
	for _, b := range arms {
		if slices.Equal(b.at, want) {
			return b, nil
		}
	}
	first := e.axis(e.Match.Across[0])
	return nil, &config.Error{Problems: []config.Problem{{Pos: first.Pos, Path: "match",
		Msg: fmt.Sprintf("the reference of %s, with the first value of %s, is not among the cells", a.label, strings.Join(e.Match.Across, " and "))}}}
}

// matchTo solves for the integer with which the arm's number comes closest to the
// reference's; of two that are equally close the smaller one.
func (a *arm) matchTo(ref *arm, m Match) error {
	target, err := ref.number(m, 0)
	if err != nil {
		return ref.refuse(m, err)
	}
	a.matched = &Matched{On: m.On, Solve: m.Solve, Reference: ref.label, Target: target, Value: target}
	if a == ref {
		return nil
	}
	x, err := closest(target, func(x int64) (float64, error) { return a.number(m, x) })
	if err == nil {
		err = a.depends(m, x)
	}
	if err != nil {
		return a.refuse(m, err)
	}
	tree := config.Merge(a.tree)
	tree.Set(m.Solve, x)
	if a.config, err = a.with(tree); err != nil {
		return a.refuse(m, err)
	}
	a.tree, a.matched.Solved = tree, x
	if a.matched.Value, err = a.number(m, 0); err != nil {
		return a.refuse(m, err)
	}
	a.matched.Mismatch = a.matched.Value/target - 1
	return nil
}

// depends refuses a key whose other values would change nothing in what is matched. One with which there is no model
// says nothing.
func (a *arm) depends(m Match, x int64) error {
	here, err := a.number(m, x)
	if err != nil {
		return err
	}
	others := 0
	for _, other := range []int64{x + 1, 2 * x, 4 * x, x - 1} {
		if other < 1 || other == x {
			continue
		}
		if there, err := a.number(m, other); err == nil {
			if others++; there != here {
				return nil
			}
		}
	}
	if others > 0 {
		return fmt.Errorf("%s does not depend on it", m.On)
	}
	return nil
}

func (a *arm) refuse(m Match, err error) error {
	return a.tree.Errorf(m.Solve, "cannot be solved for (with %s): %v", a.label, err)
}

// number is what is matched, with the solved key at x, or as it is for 0.
func (a *arm) number(m Match, x int64) (float64, error) {
	cfg := a.config
	if x > 0 {
		tree := config.Merge(a.tree)
		tree.Set(m.Solve, x)
		var err error
		if cfg, err = a.with(tree); err != nil {
			return 0, err
		}
	}
	size, err := measure(cfg)
	if err != nil {
		return 0, err
	}
	if m.On == "flops" {
		return size.FLOPs, nil
	}
	return float64(size.Params), nil
}

// with decodes and resolves a variation of the arm.
func (a *arm) with(tree *config.Tree) (Config, error) {
	cfg, err := Decode(tree)
	if err != nil {
		return cfg, err
	}
	return cfg.Resolve(a.corpus)
}

// closest finds the integer x ≥ 1 whose f(x) is closest to the target, for an f that
// grows with x; of two that are equally close the smaller one. An x for which f fails
// is no model, and passed over: heads must divide a width. It fails where no x comes near.
func closest(target float64, f func(int64) (float64, error)) (int64, error) {
	low, below, err := least(f)
	if err != nil {
		return 0, err
	}
	if below >= target {
		if below > target*(1+tolerance) {
			return 0, fmt.Errorf("even %d gives %.6g, above %.6g", low, below, target)
		}
		return low, nil
	}
	high, above := low, below
	for above < target { // f(low) < target ≤ f(high) at its end
		low, below = high, above
		if high, above, err = legal(f, 2*low, 2*low+legalWithin); err != nil {
			return 0, fmt.Errorf("%d gives %.6g, and beyond: %w", low, below, err)
		}
		if above <= below || high > maxSolved {
			return 0, fmt.Errorf("%d gives %.6g, and %d gives %.6g: %.6g cannot be reached", low, below, high, above, target)
		}
	}
	for end := high; end-low > 1; { // between low and end there may be others, at end and up to high there are none
		mid := low + (end-low)/2
		switch x, y, err := legal(f, mid, end); {
		case err != nil:
			end = mid
		case y >= target:
			high, above, end = x, y, mid
		default:
			low, below = x, y
		}
	}
	if target-below <= above-target {
		return low, nil
	}
	return high, nil
}

// legalWithin is how far apart the integers may be with which there is a model.
const legalWithin = 64

// least is the first integer with which there is a model, or one not far behind it.
func least(f func(int64) (float64, error)) (x int64, y float64, err error) {
	var first error
	for from := int64(1); from <= maxSolved; from *= 2 {
		if x, y, err = legal(f, from, from+legalWithin); err == nil {
			return x, y, nil
		}
		if first == nil {
			first = err
		}
	}
	return 0, 0, first
}

// legal is the first integer in [from, to) with which there is a model; without one, the error is that of from.
func legal(f func(int64) (float64, error), from, to int64) (x int64, y float64, err error) {
	for x := from; x < to; x++ {
		y, e := f(x)
		if e == nil {
			return x, y, nil
		}
		if err == nil {
			err = e
		}
	}
	return 0, 0, err
}
