package sweep

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"ablate/experiments/config"
)

// Experiment is an experiment as it was written. Base and the values of the axes are
// kept as trees, with their positions: what is wrong with them shows when a cell is
// decoded, and is reported where it was written.
type Experiment struct {
	Name     string
	Question string
	Paper    string
	Expect   string // prediction, written before the first run
	Base     *config.Tree
	Axes     []Axis
	Zip      [][]string // groups of axes that advance together
	Except   []Exception
	Match    Match
	Seeds    []int64
	Show     []string     // figures of the report
	Quick    *config.Tree // overrides of the quick profile; nil once a profile was chosen
	Profile  string       // the profile that was chosen; "none" where the experiment has no overrides, and they are one
}

// Axis is a key of the configuration and the values that it takes.
type Axis struct {
	Key    string
	Pos    config.Pos
	Values []*config.Tree
}

// Exception drops the cells in which every key has one of its values.
type Exception struct {
	Pos  config.Pos
	Keys []Axis
}

// Match says which number the arms are made to agree in, by solving for one key.
type Match struct {
	On     string   `key:"on" default:"none" enum:"none,params,flops,kv_bytes" doc:"what the arms agree in: parameters, or FLOPs of a training step per token"`
	Solve  string   `key:"solve" default:"" doc:"the integer key that is solved for"`
	Across []string `key:"across" default:"[]" doc:"the axes over which the arms agree; the first values are the reference"`
}

// matching reports whether anything is to be matched.
func (m Match) matching() bool { return m.On != "none" && m.On != "" }

// Validate checks what can be known without the axes.
func (m Match) Validate() error {
	if !m.matching() {
		return nil
	}
	var errs []error
	if m.On == "kv_bytes" {
		errs = append(errs, errors.New("on: kv_bytes cannot be matched yet; allowed: params, flops"))
	}
	switch {
	case m.Solve == "":
		errs = append(errs, errors.New("solve: required; name an integer key, such as model.d_ff"))
	case !strings.HasPrefix(m.Solve, "model."):
		errs = append(errs, fmt.Errorf("solve: %s is no key of the model; name an integer key, such as model.d_ff", m.Solve))
	}
	if len(m.Across) == 0 {
		errs = append(errs, errors.New("across: required; name at least one axis"))
	}
	return errors.Join(errs...)
}

// Unread lists what is not read where nothing is matched.
func (m Match) Unread() []string {
	if m.matching() {
		return nil
	}
	return []string{"solve", "across"}
}

// document is an experiment as it stands in a file.
type document struct {
	Name     string       `key:"name" default:"" doc:"name of the experiment, and of its directory"`
	Question string       `key:"question" default:"" doc:"what the experiment asks, in one sentence"`
	Paper    string       `key:"paper" default:"" doc:"where the question comes from"`
	Expect   string       `key:"expect" default:"" doc:"prediction, written before the experiment is run"`
	Base     *config.Tree `key:"base" doc:"configuration that all cells share"`
	Axes     *config.Tree `key:"axes" doc:"dotted keys with the list of values that each takes"`
	Zip      *config.Tree `key:"zip" doc:"lists of axes that advance together instead of being crossed"`
	Except   *config.Tree `key:"except" doc:"cells to leave out: values, or lists of values, of some axes"`
	Match    Match        `key:"match" doc:"what the arms agree in"`
	Seeds    []int64      `key:"seeds" default:"[1]" range:">=0" doc:"seeds of every arm"`
	Show     []string     `key:"show" default:"[]" doc:"figures of the report; empty: all that apply"`
	Profile  string       `key:"profile" default:"none" enum:"none,quick,full" doc:"the profile that made this file of another, as in the directory of a run"`
	Quick    *config.Tree `key:"quick" doc:"dotted keys that the quick profile overrides; of an axis, its values; and seeds"`
}

// Keys describes the keys of an experiment for people.
func Keys() []config.Key { return config.Keys(document{}) }

// Parse reads an experiment strictly; name is what positions call the file. The
// error is a *config.Error with everything that is wrong, but for what only decoding
// a cell can find.
func Parse(name string, text []byte) (*Experiment, error) {
	tree, err := config.ParseFile(name, text)
	if err != nil {
		return nil, err
	}
	if tree.Get("base") == nil && tree.Get("axes") == nil {
		for _, key := range []string{"model", "data", "train"} {
			if tree.Get(key) != nil {
				return nil, tree.Errorf(key, "a key of one run, which ablate train takes; those of an experiment are below base")
			}
		}
	}
	var d document
	var all problems
	all.add(config.Decode(tree, &d)) // and on: everything is reported at once
	e := &Experiment{Name: d.Name, Question: d.Question, Paper: d.Paper, Expect: d.Expect, Base: d.Base, Match: d.Match,
		Seeds: d.Seeds, Show: d.Show, Profile: d.Profile, Quick: d.Quick}
	e.Zip = readZip(tree, &all)
	e.Axes = readAxes(tree, e.Zip, &all)
	e.Except = readExcept(tree, &all)
	e.check(tree, &all)
	if len(all.list) > 0 {
		all.add(e.faultsOfArms(tree.Get("base")))
	}
	return e, all.err()
}

// faultsOfArms is what is wrong with the arms of an experiment that will not be
// planned, so that base and axes are complained about along with the rest.
func (e *Experiment) faultsOfArms(base *config.Tree) error {
	crossed := Experiment{Name: e.Name, Base: base, Axes: e.Axes}
	if base == nil || slices.ContainsFunc(e.Axes, func(a Axis) bool { return len(a.Values) == 0 }) {
		return nil
	}
	arms, err := crossed.arms()
	if err != nil {
		return nil // too many cells: said elsewhere
	}
	return decode(arms)
}

// axis returns the axis of a key, or nil.
func (e *Experiment) axis(key string) *Axis {
	i := slices.IndexFunc(e.Axes, func(a Axis) bool { return a.Key == key })
	if i < 0 {
		return nil
	}
	return &e.Axes[i]
}
