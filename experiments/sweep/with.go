package sweep

import (
	"fmt"
	"slices"
	"strings"

	"ablate/experiments/config"
)

// Profiles are the sizes in which an experiment can be run: quick lays the
// experiment's own overrides over it, full takes it as it is written.
var Profiles = []string{"quick", "full"}

// With returns the experiment as it is to be run: the profile's overrides, then
// those of the command line (nil for none), laid over it. A key that is an axis
// replaces the axis, by one value or by a list of them; a mapping without kind, or a
// key below an axis, changes every value of it; seeds replaces the seeds and name
// the name; every other key changes the base.
func (e *Experiment) With(profile string, args *config.Tree) (*Experiment, error) {
	if !slices.Contains(Profiles, profile) {
		return nil, fmt.Errorf("profile %q is unknown; there are %s", profile, strings.Join(Profiles, " and "))
	}
	out := *e
	out.Axes, out.Quick = slices.Clone(e.Axes), nil
	if out.Base == nil {
		out.Base = &config.Tree{}
	}
	var all problems
	if e.Quick != nil {
		if out.Profile = profile; profile == "quick" {
			out.overlay(config.Overrides(e.Quick), &all)
		}
	}
	if args != nil {
		out.overlay(config.Merge(args), &all)
	}
	if e.Quick != nil && len(out.Seeds) == 0 && config.Merge(args).Get("seeds") == nil { // of the arguments, check speaks
		all.at(e.Quick, "seeds", "no seed; write [1, 2]")
	}
	out.prune()
	out.check(config.Merge(args), &all)
	if err := all.err(); err != nil {
		return nil, err
	}
	return &out, nil
}

// overlay lays one layer over the experiment; the layer is used up.
func (e *Experiment) overlay(layer *config.Tree, all *problems) {
	all.add(layer.Err())
	e.override(layer, all)
	if layer.Get("seed") != nil {
		all.at(layer, "seed", "%s", reserved("seed"))
	}
	for i := range e.Axes {
		a := &e.Axes[i]
		v := layer.Get(a.Key)
		if v == nil {
			continue
		}
		if items, isList := v.Items(); isList {
			a.Values = items
		} else if len(v.Entries()) > 0 && v.Get("kind") == nil {
			a.Values = slices.Clone(a.Values)
			for j, old := range a.Values {
				a.Values[j] = config.Merge(old, v)
			}
		} else {
			a.Values = []*config.Tree{v}
		}
		if len(a.Values) == 0 {
			all.at(layer, a.Key, "no value for the axis")
		}
		if !zipped(e.Zip, a.Key) {
			checkDistinct(layer, a.Key, a.Values, all)
		}
		layer.Delete(a.Key)
	}
	e.Base = config.Merge(e.Base, layer)
}

// override takes the keys of the experiment itself out of a layer.
func (e *Experiment) override(layer *config.Tree, all *problems) {
	if s := layer.Get("seeds"); s != nil {
		if _, isList := s.Items(); !isList {
			layer.Set("seeds", []*config.Tree{s})
		}
	}
	own := &config.Tree{}
	for _, key := range []string{"seeds", "name"} {
		if v := layer.Get(key); v != nil {
			own.Set(key, v)
			layer.Delete(key)
		}
	}
	var d document
	d.Seeds = e.Seeds
	if err := config.Decode(own, &d); err != nil {
		all.add(err)
		return
	}
	if own.Get("seeds") != nil {
		e.Seeds = d.Seeds
	}
	if own.Get("name") != nil {
		e.Name = d.Name
	}
}

// prune drops what no longer has an object: exceptions for values that an axis has
// lost, and groups of axes of which one was given a single value.
func (e *Experiment) prune() {
	var except []Exception
	for _, x := range e.Except {
		kept := Exception{Pos: x.Pos}
		for _, k := range x.Keys {
			a := e.axis(k.Key)
			k.Values = slices.DeleteFunc(slices.Clone(k.Values), func(v *config.Tree) bool { return indexOf(a.Values, v) < 0 })
			if len(k.Values) > 0 {
				kept.Keys = append(kept.Keys, k)
			}
		}
		if len(kept.Keys) == len(x.Keys) { // all keys must agree, so a lost one never does
			except = append(except, kept)
		}
	}
	e.Except = except
	var zip [][]string
	for _, group := range e.Zip {
		group = slices.DeleteFunc(slices.Clone(group), func(key string) bool { return len(e.axis(key).Values) == 1 })
		if len(group) > 1 {
			zip = append(zip, group)
		}
	}
	e.Zip = zip
}

// YAML writes an experiment to which a profile was applied: to run it again, under
// any profile, gives the same cells.
func (e *Experiment) YAML() []byte {
	d := document{Name: e.Name, Question: e.Question, Paper: e.Paper, Expect: e.Expect, Base: e.Base, Match: e.Match, Seeds: e.Seeds, Show: e.Show, Profile: e.Profile}
	head := config.Encode(d)
	if !e.Match.matching() {
		head.Delete("match")
	}
	if !slices.Contains(Profiles, e.Profile) {
		head.Delete("profile")
	}
	out := head.YAML()
	if len(e.Axes) > 0 {
		out = append(out, "axes:\n"...)
		for _, a := range e.Axes {
			out = fmt.Appendf(out, "  %s: %s", a.Key, config.Encode(a.Values).YAML())
		}
	}
	if len(e.Zip) > 0 {
		out = fmt.Appendf(out, "zip: %s", config.Encode(e.Zip).YAML())
	}
	if len(e.Except) > 0 {
		out = fmt.Appendf(out, "except: %s", config.Encode(e.exceptions()).YAML())
	}
	return out
}

func (e *Experiment) exceptions() (out []map[string]any) {
	for _, x := range e.Except {
		m := map[string]any{}
		for _, k := range x.Keys {
			m[k.Key] = k.Values
		}
		out = append(out, m)
	}
	return out
}
