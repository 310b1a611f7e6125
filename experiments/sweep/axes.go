package sweep

import (
	"bytes"
	"slices"
	"strings"

	"ablate/experiments/config"
	"ablate/experiments/results"
)

// readAxes reads the axes in their order. Those in groups that advance together may have a value twice: cells that are
// the same are found later.
func readAxes(tree *config.Tree, zip [][]string, all *problems) (axes []Axis) {
	t := tree.Get("axes")
	if t == nil {
		return nil
	}
	if t.Entries() == nil && !bytes.Equal(config.Canonical(t), []byte("{}")) {
		all.at(tree, "axes", "not a mapping from dotted keys to lists of values")
	}
	for _, entry := range t.Entries() {
		path := "axes." + entry.Key
		values, isList := entry.Value.Items()
		switch {
		case !isList || len(values) == 0:
			all.at(tree, path, "not a list of values; write [a, b]")
			continue
		case reserved(entry.Key) != "":
			all.at(tree, path, "%s", reserved(entry.Key))
			continue
		}
		if !zipped(zip, entry.Key) {
			checkDistinct(tree, path, values, all)
		}
		axes = append(axes, Axis{Key: entry.Key, Pos: entry.Pos, Values: values})
	}
	for i, a := range axes {
		for _, b := range axes[i+1:] {
			if strings.HasPrefix(a.Key, b.Key+".") || strings.HasPrefix(b.Key, a.Key+".") {
				all.at(tree, "axes."+b.Key, "overlaps the axis %s", a.Key)
			}
		}
	}
	return axes
}

// reserved says why a key of the configuration is none of an experiment's base or axes.
func reserved(key string) string {
	switch {
	case key == "seed" || strings.HasPrefix(key, "seed."):
		return "an experiment has seeds: [1, 2]; they belong to every arm"
	case key == "name":
		return "the runs of an experiment bear its name"
	}
	return ""
}

// indexOf finds a value that means the same.
func indexOf(values []*config.Tree, v *config.Tree) int {
	want := config.Canonical(v)
	return slices.IndexFunc(values, func(o *config.Tree) bool { return bytes.Equal(config.Canonical(o), want) })
}

// readZip reads groups of axes: a list of lists of keys, or the keys of the only group.
func readZip(tree *config.Tree, all *problems) (groups [][]string) {
	t := tree.Get("zip")
	if t == nil {
		return nil
	}
	const want = "not a list of lists of axes; write [[model.layers, train.lr]]"
	items, isList := t.Items()
	if !isList {
		all.at(tree, "zip", want)
		return nil
	}
	if len(items) > 0 {
		if _, nested := items[0].Items(); !nested {
			items = []*config.Tree{t}
		}
	}
	for _, item := range items {
		keys, _ := item.Items()
		var group []string
		for _, k := range keys {
			if key, ok := k.Value().(string); ok {
				group = append(group, key)
			}
		}
		if len(group) != len(keys) || len(group) < 2 {
			all.list = append(all.list, config.Problem{Pos: item.Pos(), Path: "zip", Msg: want})
			continue
		}
		groups = append(groups, group)
	}
	return groups
}

// readExcept reads the exceptions: a list of mappings from axes to a value or a list of values.
func readExcept(tree *config.Tree, all *problems) (out []Exception) {
	t := tree.Get("except")
	if t == nil {
		return nil
	}
	items, isList := t.Items()
	if !isList {
		all.at(tree, "except", "not a list of mappings; write [{model.placement: post, model.layers: [24, 48]}]")
		return nil
	}
	for _, item := range items {
		entries := item.Entries()
		if len(entries) == 0 {
			all.list = append(all.list, config.Problem{Pos: item.Pos(), Path: "except", Msg: "not a mapping from axes to values"})
			continue
		}
		x := Exception{Pos: item.Pos()}
		for _, entry := range entries {
			values, isList := entry.Value.Items()
			if !isList {
				values = []*config.Tree{entry.Value}
			}
			x.Keys = append(x.Keys, Axis{Key: entry.Key, Pos: entry.Pos, Values: values})
		}
		out = append(out, x)
	}
	return out
}

// check holds zip, except, match and seeds against the axes.
func (e *Experiment) check(tree *config.Tree, all *problems) {
	zipped := map[string]bool{}
	for _, group := range e.Zip {
		for _, key := range group {
			a := e.axis(key)
			switch first := e.axis(group[0]); {
			case a == nil:
				all.at(tree, "zip", "%s is no axis", key)
			case zipped[key]:
				all.at(tree, "zip", "%s stands twice", key)
			case first != nil && len(a.Values) != len(first.Values):
				all.at(tree, "zip", "%s has %d values and %s has %d", first.Key, len(first.Values), key, len(a.Values))
			}
			zipped[key] = true
		}
	}
	for _, x := range e.Except {
		for _, k := range x.Keys {
			e.checkException(k, all)
		}
	}
	for i, key := range e.Match.Across {
		switch {
		case e.axis(key) == nil:
			all.at(tree, "match.across", "%s is no axis", key)
		case slices.Contains(e.Match.Across[:i], key):
			all.at(tree, "match.across", "%s stands twice", key)
		}
	}
	if e.axis(e.Match.Solve) != nil {
		all.at(tree, "match.solve", "%s is an axis; what is solved for cannot be one", e.Match.Solve)
	}
	for _, key := range []string{"seed", "name"} {
		if tree.Get("base."+key) != nil {
			all.at(tree, "base."+key, "%s", reserved(key))
		}
	}
	e.checkSeeds(tree, all)
}

func (e *Experiment) checkException(k Axis, all *problems) {
	a := e.axis(k.Key)
	if a == nil {
		all.list = append(all.list, config.Problem{Pos: k.Pos, Path: "except." + k.Key, Msg: "no axis of this experiment"})
		return
	}
	for _, v := range k.Values {
		if indexOf(a.Values, v) < 0 {
			all.list = append(all.list, config.Problem{Pos: v.Pos(), Path: "except." + k.Key, Value: inline(v), Msg: "no value of the axis"})
		}
	}
}

// zipped says whether an axis is in a group of those that advance together.
func zipped(zip [][]string, key string) bool {
	return slices.ContainsFunc(zip, func(group []string) bool { return slices.Contains(group, key) })
}

// checkDistinct reports values of an axis, which stand at a path of a tree, that are
// the same.
func checkDistinct(tree *config.Tree, path string, values []*config.Tree, all *problems) {
	for i, v := range values {
		if j := indexOf(values[:i], v); j >= 0 {
			all.at(tree, path, "values %d and %d are the same", j+1, i+1)
		}
	}
}

// inline is a value on one line.
func inline(v *config.Tree) string { return results.Label(v.Value()) }

func (e *Experiment) checkSeeds(tree *config.Tree, all *problems) {
	if given := tree.Get("seeds"); given != nil {
		if items, list := given.Items(); list && len(items) == 0 {
			all.at(tree, "seeds", "no seed; write [1, 2]")
		}
	}
	for i, s := range e.Seeds {
		if slices.Contains(e.Seeds[:i], s) {
			all.at(tree, "seeds", "%d stands twice", s)
		}
	}
}
