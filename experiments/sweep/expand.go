package sweep

import (
	"fmt"
	"slices"
	"strings"

	"ablate/data"
	"ablate/experiments/config"
	"ablate/experiments/results"
)

// maxCells bounds an experiment: more are a mistake, such as a list where a value was meant.
const maxCells = 10_000

// arm is one value of each axis: the cells that differ in nothing but the seed.
type arm struct {
	at     []int          // which value of each axis
	values []*config.Tree // the values
	label  string         // "model.placement=post, model.layers=24", for errors
	tree   *config.Tree   // the configuration, without seed
	config Config

	corpus  *data.Corpus
	size    Size
	matched *Matched
}

// arms lists the arms of the experiment: axes in the order of the file, the first
// one changing slowest; axes that are zipped advance with the first of their group;
// exceptions are left out.
func (e *Experiment) arms() ([]*arm, error) {
	groups := e.groups()
	total := 1
	for _, g := range groups {
		if total *= len(e.Axes[g[0]].Values); total*max(1, len(e.Seeds)) > maxCells {
			return nil, fmt.Errorf("experiment %s has more than %d cells", e.Name, maxCells)
		}
	}
	var out []*arm
	for n := range total {
		a := &arm{at: make([]int, len(e.Axes))}
		for i := len(groups) - 1; i >= 0; i-- {
			k := len(e.Axes[groups[i][0]].Values)
			for _, axis := range groups[i] {
				a.at[axis] = n % k
			}
			n /= k
		}
		for i, axis := range e.Axes {
			a.values = append(a.values, axis.Values[a.at[i]])
		}
		if !e.excepted(a) {
			a.label = e.label(a)
			a.tree = e.assemble(a)
			out = append(out, a)
		}
	}
	if len(out) == 0 {
		return nil, &config.Error{Problems: []config.Problem{{Pos: e.Except[0].Pos, Path: "except", Msg: fmt.Sprintf("experiment %s has no cell: its exceptions drop all of them", e.Name)}}}
	}
	return out, nil
}

// groups lists the axes that advance together, each group at the place of its first axis.
func (e *Experiment) groups() (out [][]int) {
	for i, a := range e.Axes {
		group := []int{i}
		for _, keys := range e.Zip {
			if !slices.Contains(keys, a.Key) {
				continue
			}
			group = group[:0]
			for j, b := range e.Axes {
				if slices.Contains(keys, b.Key) {
					group = append(group, j)
				}
			}
		}
		if group[0] == i {
			out = append(out, group)
		}
	}
	return out
}

// excepted reports whether some exception names the arm.
func (e *Experiment) excepted(a *arm) bool {
	return slices.ContainsFunc(e.Except, func(x Exception) bool {
		return !slices.ContainsFunc(x.Keys, func(k Axis) bool {
			i := slices.IndexFunc(e.Axes, func(b Axis) bool { return b.Key == k.Key })
			return indexOf(k.Values, a.values[i]) < 0
		})
	})
}

func (e *Experiment) label(a *arm) string {
	var parts []string
	for i, axis := range e.Axes {
		parts = append(parts, axis.Key+"="+results.Label(a.values[i].Value()))
	}
	return strings.Join(parts, ", ")
}

// assemble lays the values of an arm over the base.
func (e *Experiment) assemble(a *arm) *config.Tree {
	layers := []*config.Tree{e.Base}
	for i, axis := range e.Axes {
		layer := &config.Tree{}
		layer.Set(axis.Key, a.values[i])
		layers = append(layers, layer)
	}
	tree := config.Merge(layers...)
	if e.Name != "" {
		tree.Set("name", e.Name)
	}
	return tree
}

// decode reads every arm and reports everything that is wrong in any, each once;
// what only some arms suffer from names the first of them.
func decode(arms []*arm) error {
	type finding struct {
		problem config.Problem
		arms    int
		first   string
	}
	var found []*finding
	for _, a := range arms {
		var here problems
		var err error
		a.config, err = Decode(a.tree)
		here.add(err)
		for _, p := range here.list {
			i := slices.IndexFunc(found, func(f *finding) bool { return f.problem == p })
			if i < 0 {
				i = len(found)
				found = append(found, &finding{problem: p, first: a.label})
			}
			found[i].arms++
		}
	}
	var all problems
	for _, f := range found {
		if f.arms < len(arms) {
			f.problem.Msg += fmt.Sprintf(" (with %s)", f.first)
		}
		all.list = append(all.list, f.problem)
	}
	return all.err()
}

// Size is the number of cells, of which a profile may leave some out; 0 for an
// experiment without any.
func (e *Experiment) Size() int {
	arms, err := e.arms()
	if err != nil {
		return 0
	}
	return len(arms) * len(e.Seeds)
}
