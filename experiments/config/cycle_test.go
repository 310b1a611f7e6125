package config_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"ablate/experiments/config"
)

// Deep has lists that Layers measures, one of them in a struct of its own.
type Deep struct {
	Layers int    `key:"layers" default:"3" range:">=1"`
	Plain  []int  `key:"plain" default:"[1]" range:">=0" per:"layers"`
	Names  Names  `key:"names" default:"a" per:"layers"`
	Free   []int  `key:"free" default:"[]"`
	Inner  Inside `key:"inner"`
}

type Inside struct {
	Marks Names `key:"marks" default:"x" per:"layers"`
}

// Validate complains about what stands at a place of a list.
func (d *Deep) Validate() error {
	for i, name := range d.Names {
		if name == "bad" {
			return fmt.Errorf("names[%d]: bad", i)
		}
	}
	return nil
}

// Names is one word or several.
type Names []string

func (n *Names) FromConfig(v any) error {
	items, ok := v.([]any)
	if !ok {
		items = []any{v}
	}
	var errs []error
	*n = nil
	for i, item := range items {
		s, ok := item.(string)
		if !ok {
			errs = append(errs, fmt.Errorf("[%d]: not a word", i))
		}
		*n = append(*n, s)
	}
	return errors.Join(errs...)
}

func (n Names) ConfigValue() any { return []string(n) }

func (Names) ConfigSchema() map[string]any { return map[string]any{"type": "string"} }

func deep(args ...string) (Deep, error) {
	file, err := config.ParseFile("a.yaml", []byte("names: {repeat: [p, q]}\ninner: {marks: [r]}\n"))
	if err != nil {
		return Deep{}, err
	}
	given, err := config.ParseArgs(args)
	if err != nil {
		return Deep{}, err
	}
	var d Deep
	err = config.Decode(config.Merge(file, given), &d)
	return d, err
}

func TestCycles(t *testing.T) {
	for _, c := range []struct {
		args string
		want Deep
	}{
		{"layers=3", Deep{Names: Names{"p", "q", "p"}}},
		{"layers=1", Deep{Layers: 1, Names: Names{"p"}}},
		{"layers=4 plain={repeat: [5, 6, 7]}", Deep{Layers: 4, Names: Names{"p", "q", "p", "q"}, Plain: []int{5, 6, 7, 5}}},
		{"inner.marks={repeat: [s, t]}", Deep{Names: Names{"p", "q", "p"}, Inner: Inside{Names{"s", "t", "s"}}}},
		{"inner.marks.repeat=[s]", Deep{Names: Names{"p", "q", "p"}, Inner: Inside{Names{"s", "s", "s"}}}},
		// A later layer replaces a cycle, and a cycle what it lies over.
		{"names=z", Deep{Names: Names{"z"}}},
		{"names=[y, z]", Deep{Names: Names{"y", "z"}}},
		{"names={repeat: [y, z]}", Deep{Names: Names{"y", "z", "y"}}},
	} {
		if c.want.Layers == 0 {
			c.want.Layers = 3
		}
		if c.want.Plain == nil {
			c.want.Plain = []int{1}
		}
		if c.want.Inner.Marks == nil {
			c.want.Inner.Marks = Names{"r"}
		}
		c.want.Free = []int{}
		got, err := deep(splitKeys(c.args)...)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %v; want %+v", c.args, got, err, c.want)
		}
		if text := string(config.Encode(got).YAML()); strings.Contains(text, "repeat") {
			t.Errorf("%s is written as\n%s", c.args, text)
		}
	}
}

// splitKeys splits at spaces before an argument.
func splitKeys(s string) []string {
	for _, key := range []string{"names", "plain", "inner", "free"} {
		s = strings.ReplaceAll(s, " "+key, "\n"+key)
	}
	return strings.Split(s, "\n")
}

func TestWrongCycles(t *testing.T) {
	for args, want := range map[string]string{
		"plain={repeat: []}":                   "plain={repeat: []}: plain.repeat: []: not a list of what is repeated; write {repeat: [a, b]}",
		"plain={repeat: 3}":                    "plain={repeat: 3}: plain.repeat: 3: not a list of what is repeated; write {repeat: [a, b]}",
		"plain={repeat: [1, x, -1]}":           "plain={repeat: [1, x, -1]}: plain.repeat[1]: x: not an integer; allowed: >= 0\nplain={repeat: [1, x, -1]}: plain.repeat[2]: -1: out of range; allowed: >= 0",
		"plain={repeat: [1], more: 2}":         "plain={repeat: [1], more: 2}: plain.more: cannot stand beside repeat; a cycle is {repeat: [a, b]} and nothing else",
		"names.more=3":                         "names.more=3: cannot stand beside repeat; a cycle is {repeat: [a, b]} and nothing else",
		"names={repeat: [p, 1]}":               "names={repeat: [p, 1]}: names.repeat[1]: not a word",
		"names={repeat: [p, bad]}":             "names={repeat: [p, bad]}: names[1]: bad",
		"names={repeat: [010]}":                "names={repeat: [010]}: names.repeat[0]: 010: not a number as in JSON",
		"layers=70000":                         "a.yaml:1:8: names: {repeat: [p, q]}: cannot be repeated to 70000 elements; at most 65536",
		"layers=0 plain={repeat: [1]}":         "layers=0: out of range; allowed: >= 1",
		"free={repeat: [1]}":                   "free={repeat: [1]}: not a list",
		"layers={repeat: [1]}":                 "layers={repeat: [1]}: not an integer",
		"inner={marks: {repeat: {repeat: a}}}": "inner={marks: {repeat: {repeat: a}}}: inner.marks.repeat: {repeat: a}: not a list of what is repeated",
	} {
		_, err := deep(splitKeys(args)...)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s:\n got %v\nwant %s", args, err, want)
		}
	}
}

// TestCyclesAreDescribed: to people where a type says what it takes, and to editors.
func TestCyclesAreDescribed(t *testing.T) {
	types := map[string]string{}
	for _, k := range config.Keys(Deep{}) {
		types[k.Path] = k.Type
	}
	if types["plain"] != "list of integer or mapping" || types["inner.marks"] != "string or mapping" || types["free"] != "list of integer" {
		t.Errorf("%v", types)
	}
	if s := string(config.Schema(Deep{}, "x")); strings.Count(s, `"repeat": {`) != 3 {
		t.Error(s)
	}
}

// TestPerNeedsItsKey: a mistake in the tag is the programmer's.
func TestPerNeedsItsKey(t *testing.T) {
	defer func() {
		if got := fmt.Sprint(recover()); got != "config: key list: no key depth around it" {
			t.Error(got)
		}
	}()
	tree, err := config.ParseFile("a.yaml", []byte("list: {repeat: [1]}"))
	if err != nil {
		t.Fatal(err)
	}
	_ = config.Decode(tree, &struct {
		List []int `key:"list" per:"depth"`
	}{})
}
