package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Decode fills the struct that into points to: defaults, then what the tree states,
// then Validate of every struct, inner ones first, then Unread. The error is an
// *Error with everything that is wrong, the tree's own problems included; into is
// unchanged then. A field without default keeps the value that it has in into
// if its key is absent.
func Decode(t *Tree, into any) error {
	target := reflect.ValueOf(into)
	if target.Kind() != reflect.Pointer || target.IsNil() || target.Elem().Kind() != reflect.Struct {
		panic(fmt.Sprintf("config: Decode into %T, want a pointer to a struct", into))
	}
	result := reflect.New(target.Type().Elem()).Elem()
	result.Set(target.Elem())
	d := &decoder{tree: t, root: result.Type(), problems: slices.Clone(t.problems)}
	d.structure(t.root, "", result)
	for _, check := range d.last {
		check()
	}
	if err := ErrorOf(d.problems); err != nil {
		return err
	}
	target.Elem().Set(result)
	return nil
}

type decoder struct {
	tree     *Tree
	root     reflect.Type
	problems []Problem
	all      []Key           // of root, once they are needed
	last     []func()        // checks that run when everything is decoded and validated
	around   []reflect.Value // the structs being decoded, the innermost last
}

func (d *decoder) problem(n *node, path, format string, args ...any) bool {
	d.problems = append(d.problems, Problem{Pos: n.pos, Path: path, Value: n.show(), Msg: fmt.Sprintf(format, args...)})
	return false
}

// trouble is what went wrong in a struct, so that its own checks do not complain
// about consequences.
type trouble struct {
	keys     []string // keys whose values are not what the user meant
	choice   bool     // one of them is no mere number: it may have chosen another variant
	unusable bool     // a field holds nothing valid, not even a default
}

func (a *trouble) add(b trouble) {
	a.keys = append(a.keys, b.keys...)
	a.choice = a.choice || b.choice
	a.unusable = a.unusable || b.unusable
}

// structure decodes n (nil: absent) over the defaults of a struct.
func (d *decoder) structure(n *node, path string, v reflect.Value) trouble {
	fields := fieldsOf(v.Type())
	if n != nil && n.kind == invalid {
		return trouble{keys: []string{lastKey(path)}, choice: true, unusable: true}
	}
	var bad trouble
	if n != nil {
		variant := indexOfKey(fields, "kind") >= 0 // a scalar may stand for it
		if variant {
			n = n.asVariant()
		}
		if n.kind != mapping || n.scalar() != nil && !variant {
			d.notMapping(n, path, fields)
			return trouble{keys: []string{lastKey(path)}, choice: true, unusable: true}
		}
		bad.add(d.unknown(n, path, fields))
	}
	d.around = append(d.around, v)
	for _, f := range fields {
		e, _ := n.find(f.key)
		bad.add(d.field(f, e, join(path, f.key), v.Field(f.index)))
	}
	d.around = d.around[:len(d.around)-1]
	d.check(n, path, v, bad)
	return bad
}

func (d *decoder) notMapping(n *node, path string, fields []field) {
	if s := n.scalar(); s != nil {
		n = s
	}
	d.problem(n, path, "not a mapping; allowed keys: %s", strings.Join(keysOf(fields), ", "))
}

// unknown reports keys that no field has.
func (d *decoder) unknown(n *node, path string, fields []field) trouble {
	known := keysOf(fields)
	var bad trouble
	for _, e := range n.entries {
		if indexOfKey(fields, e.key) >= 0 {
			continue
		}
		msg := "unknown key"
		if s := Suggest(e.key, known); s != "" {
			bad.keys = append(bad.keys, s)
			msg += "; did you mean " + s + "?"
		} else if s := d.elsewhere(e.key); s != "" {
			msg += "; did you mean " + s + "?"
		} else {
			msg += "; allowed: " + strings.Join(known, ", ")
		}
		d.problems = append(d.problems, Problem{Pos: e.pos, Path: join(path, e.key), Msg: msg})
	}
	return bad
}

func indexOfKey(fields []field, key string) int {
	return slices.IndexFunc(fields, func(f field) bool { return f.key == key })
}

// elsewhere finds the full path of a key that was written at the wrong level.
func (d *decoder) elsewhere(key string) string {
	if d.all == nil {
		d.all = keys(d.root, "")
	}
	for _, k := range d.all {
		if k.Path == key || strings.HasSuffix(k.Path, "."+key) {
			return k.Path
		}
	}
	return ""
}

// field decodes one key over its default; e is the zero entry if the key is absent.
func (d *decoder) field(f field, e entry, path string, v reflect.Value) trouble {
	_, own := as[Value](f.typ)
	if f.typ.Kind() == reflect.Struct && !own {
		return d.structure(merge(f.def, e.value), path, v)
	}
	if f.def != nil {
		quiet := &decoder{tree: &Tree{}, root: d.root}
		if quiet.value(f.def, path, f.limits, v); len(quiet.problems) > 0 {
			panic(fmt.Sprintf("config: default of %s: %v", path, ErrorOf(quiet.problems)))
		}
	}
	ok := true
	_, cyclic := e.value.find(repeatKey)
	switch {
	case cyclic && f.per != "":
		ok = d.cycle(f, e.value, path, v)
	case e.value != nil:
		ok = d.value(e.value, path, f.limits, v)
	case f.def == nil:
		ok = d.absent(f, path, v)
	}
	if ok {
		return trouble{}
	}
	return trouble{keys: []string{f.key}, choice: !numeric(f.typ), unusable: f.def == nil}
}

func numeric(t reflect.Type) bool {
	_, own := as[Value](t)
	return !own && t.Kind() >= reflect.Int && t.Kind() <= reflect.Float64
}

// absent checks the value that stays when a key without default is not given.
func (d *decoder) absent(f field, path string, v reflect.Value) bool {
	want := ""
	if own, ok := v.Addr().Interface().(Value); ok {
		if v.IsZero() {
			if err := own.FromConfig(nil); err != nil {
				want = err.Error()
			}
		}
	} else if n := build("", v.Interface()).root; n != nil && (n.kind == number || n.kind == text) {
		quiet := &decoder{tree: &Tree{}, root: d.root}
		if !quiet.value(n, path, f.limits, reflect.New(f.typ).Elem()) {
			_, want, _ = strings.Cut(quiet.problems[0].Msg, "; ")
		}
	}
	if want == "" {
		d.check(nil, path, v, trouble{})
		return true
	}
	d.problems = append(d.problems, d.tree.Problem(path, "required; %s", want))
	return false
}

func lastKey(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }
