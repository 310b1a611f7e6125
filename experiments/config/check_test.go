package config_test

import (
	"errors"
	"fmt"
	"testing"

	"ablate/experiments/config"
)

// Outer speaks for a value that reads itself, Choice, and checks after it.
type Outer struct {
	Choice Choice  `key:"choice" default:"plain"`
	Other  Choice  `key:"other"`
	List   []int64 `key:"list" default:"[1]"`
}

func (o *Outer) Validate() error {
	if len(o.List) == 0 {
		return fmt.Errorf("nothing to do: %w", errors.Join(errors.New("list: empty"), errors.New("too")))
	}
	if o.List[0] < 0 {
		return errors.Join(errors.New("list[0]: negative"), nil, errors.New("choice.size: bad with that"))
	}
	return nil
}

func (o *Outer) Unread() []string {
	if o.Choice.Kind == "plain" {
		return []string{"choice.size", "list"}
	}
	return nil
}

func (o *Outer) WhyUnread(key string) string {
	if key == "list" {
		return "nothing is listed"
	}
	return ""
}

type Choice struct {
	Kind string
	Size int64
}

func (c *Choice) FromConfig(v any) error {
	switch v := v.(type) {
	case nil:
		return errors.New("allowed: plain, sized")
	case string:
		c.Kind = v
	case []any:
		var errs []error
		for i, item := range v {
			m, _ := item.(map[string]any)
			var inner []error
			if size, _ := m["size"].(int64); size <= 0 {
				inner = append(inner, fmt.Errorf("size: %d is not positive", size))
			}
			if m["deep"] != nil {
				inner = append(inner, fmt.Errorf("deep: %w", errors.Join(errors.New("[0]: bad"), errors.New("[1]: bad"))))
			}
			errs = append(errs, fmt.Errorf("[%d]: %w", i, errors.Join(inner...)))
		}
		return errors.Join(errs...)
	case map[string]any:
		c.Kind, _ = v["kind"].(string)
		c.Size, _ = v["size"].(int64)
	}
	if c.Kind == "" {
		return errors.New("kind: missing")
	}
	return nil
}

func (c Choice) ConfigValue() any {
	if c.Size == 0 {
		return c.Kind
	}
	return map[string]any{"kind": c.Kind, "size": c.Size}
}

func (c *Choice) Validate() error {
	if c.Size < 0 {
		return errors.New("size: negative")
	}
	return nil
}

func TestChecks(t *testing.T) {
	for _, c := range []struct{ yaml, want string }{
		{"other: x", ""},
		{"list: [1]", "a.yaml:1:1: other: required; allowed: plain, sized"},
		{"other: x\nchoice: {kind: plain, size: 1}", "a.yaml:2:23: choice.size: not read by plain; remove it or choose a variant that reads it"},
		{"other: x\nchoice: {kind: sized, size: -1}", "a.yaml:2:29: choice.size: negative"},
		{"other: x\nchoice: {size: 1}", "a.yaml:2:1: choice: kind: missing"},
		{"other: x\nlist: [-1]", "a.yaml:1:1: choice.size: bad with that\na.yaml:2:1: list: not read: nothing is listed; remove it or choose a variant that reads it\na.yaml:2:8: list[0]: negative"},
		{"other: x\nchoice: {kind: plain, size: -1}", "a.yaml:2:29: choice.size: negative"},
		{"other: x\nlist: [x]", "a.yaml:2:8: list[0]: x: not an integer"},
		{"other: x\nchoice: sized\nlist: []", "a.yaml:1:1: nothing to do: list: empty\\ntoo"},
		{"other: x\nchoice: sized\nlist: [-1]", "a.yaml:2:9: choice.size: bad with that\na.yaml:3:8: list[0]: negative"},
		{"other: [x, 010]", "a.yaml:1:12: other[1]: 010: not a number as in JSON (decimal, no leading zero, plus, underscore or bare point); quote it if it is text"},
		{"other: [{size: 0}, {size: -1}]", "a.yaml:1:16: other[0].size: 0 is not positive\na.yaml:1:27: other[1].size: -1 is not positive"},
		{"other: [{size: -1, deep: [-5, -6]}]", "a.yaml:1:16: other[0].size: -1 is not positive\na.yaml:1:27: other[0].deep[0]: bad\na.yaml:1:31: other[0].deep[1]: bad"},
		{"other: [1e999]", "a.yaml:1:9: other[0]: 1e999: beyond a 64-bit float"},
	} {
		tree, err := config.ParseFile("a.yaml", []byte(c.yaml))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := config.Decode(tree, &Outer{}); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.yaml, got, c.want)
		}
	}
}

// TestPresetKeysMayIdle: what a preset says beyond the chosen variant is no error, and
// is not in the resolved configuration.
func TestPresetKeysMayIdle(t *testing.T) {
	preset := config.FromMap("preset", map[string]any{"list": []any{7}, "other": "x"})
	var o Outer
	if err := config.Decode(preset.Implicit(), &o); err != nil {
		t.Fatal(err)
	}
	if got := string(config.Encode(o).YAML()); got != "choice: plain\nother: x\n" {
		t.Error(got)
	}
	if err := config.Decode(preset, &o); err == nil {
		t.Error("a layer that is not implicit may set it too")
	}
}

func TestSmallTrees(t *testing.T) {
	var empty config.Tree
	if empty.Value() != nil || empty.Pos() != (config.Pos{}) || empty.Entries() != nil || empty.Get("a") != nil || empty.Delete("a") || string(empty.YAML()) != "{}\n" {
		t.Error("the zero tree is not empty")
	}
	if _, ok := empty.Items(); ok {
		t.Error("the zero tree is a list")
	}
	empty.Set("a.b", map[string]any{"c": nil})
	if err := empty.Err(); err == nil || err.Error() != "a.b.c: no value" {
		t.Errorf("%v", err)
	}
	if err := config.Overrides(config.FromMap("x", map[string]any{"l": []int{1}}).Get("l")).Err(); err == nil || err.Error() != "x: [1]: not a mapping from keys to values" {
		t.Errorf("%v", err)
	}
	if got := config.Overrides(&config.Tree{}); got.Value() != nil {
		t.Errorf("%v", got.Value())
	}
}
