package config_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ablate/experiments/config"
)

// The structs of these tests have every kind of field that a configuration may hold.

type Root struct {
	Name  string       `key:"name" doc:"what the run is called"`
	Salt  string       `key:"salt" default:""`
	Seed  Seed         `key:"seed" default:"1"`
	Model Model        `key:"model"`
	Train Train        `key:"train"`
	Axes  *config.Tree `key:"axes"`
	Note  any          `key:"note"`
	Stray int          // without a key: not part of the configuration
}

type Model struct {
	Layers   int      `key:"layers" default:"4" range:"[1,512]" doc:"number of blocks"`
	DModel   int      `key:"d_model" default:"128" range:">=1"`
	Heads    int      `key:"heads" default:"4" range:">=1"`
	DFF      Auto     `key:"d_ff" default:"auto" range:">=1"`
	Dropout  float64  `key:"dropout" default:"0" range:"[0,1)"`
	Act      string   `key:"activation" default:"gelu" enum:"relu, gelu, swiglu"`
	Norm     Norm     `key:"norm" default:"layernorm"`
	Position Position `key:"position" default:"{kind: rope, base: 500}"`
	Blocks   []Norm   `key:"blocks"`
	Tied     bool     `key:"tied" default:"true"`
}

func (m *Model) Validate() error {
	var errs []error
	if m.DModel%m.Heads != 0 {
		errs = append(errs, fmt.Errorf("heads: %d does not divide d_model %d", m.Heads, m.DModel))
	}
	if m.Norm.Kind == "none" && m.Layers > 100 {
		errs = append(errs, errors.New("norm.kind: none does not train this deep"))
	}
	return errors.Join(errs...)
}

type Norm struct {
	Kind string  `key:"kind" default:"layernorm" enum:"layernorm,rmsnorm,none"`
	Eps  float64 `key:"eps" default:"1e-5" range:">0"`
	Bias bool    `key:"bias" default:"false"`
}

func (n Norm) Unread() []string {
	switch n.Kind {
	case "rmsnorm":
		return []string{"bias"}
	case "none":
		return []string{"eps", "bias"}
	}
	return nil
}

type Train struct {
	Steps  int        `key:"steps" range:">=1"` // required
	LR     float64    `key:"lr" default:"1e-3"`
	Betas  [2]float64 `key:"betas" default:"[0.9, 0.95]" range:"[0,1)"`
	Batch  uint64     `key:"batch" default:"8"`
	Tokens int64      `key:"tokens" default:"65536" range:">=1"`
	Marks  []int      `key:"marks"`
	Rates  []float64  `key:"rates" default:"[]"`
	Show   []string   `key:"show" default:"[loss]" enum:"loss,grads"`
}

// Auto is an integer or the word auto.
type Auto struct{ N int64 }

func (a *Auto) FromConfig(v any) error {
	switch v := v.(type) {
	case int64:
		a.N = v
		return nil
	case string:
		if v == "auto" {
			a.N = 0
			return nil
		}
	}
	return errors.New("allowed: auto or an integer")
}

func (a Auto) ConfigValue() any {
	if a.N == 0 {
		return "auto"
	}
	return a.N
}

func (Auto) ConfigSchema() map[string]any {
	return map[string]any{"anyOf": []any{map[string]any{"const": "auto"}, map[string]any{"type": "integer"}}}
}

// Seed is one number or two.
type Seed struct{ Init, Data int64 }

func (s *Seed) FromConfig(v any) error {
	switch v := v.(type) {
	case int64:
		s.Init, s.Data = v, v
		return nil
	case map[string]any:
		for _, key := range slices.Sorted(keysOf(v)) {
			n, ok := v[key].(int64)
			switch {
			case !ok:
				return fmt.Errorf("%s: not an integer", key)
			case key == "init":
				s.Init = n
			case key == "data":
				s.Data = n
			default:
				return fmt.Errorf("%s: unknown key; allowed: init, data", key)
			}
		}
		return nil
	}
	return errors.New("not a seed; allowed: an integer or {init, data}")
}

func keysOf(m map[string]any) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func (s Seed) ConfigValue() any { return map[string]any{"init": s.Init, "data": s.Data} }

// Position is a variant with a name that others may add to.
type Position struct {
	Kind PositionName `key:"kind" default:"none"`
	Base float64      `key:"base" default:"10000" range:">0"`
	Max  int          `key:"max" default:"128" range:">=1"`
}

type PositionName string

var positionNames = []string{"none", "rope", "learned"}

func (PositionName) ConfigEnum() []string { return positionNames }

func (p *Position) Unread() []string {
	switch p.Kind {
	case "rope":
		return []string{"max"}
	case "learned":
		return []string{"base"}
	}
	return []string{"base", "max"}
}

// parse reads one file and arguments over it.
func parse(t *testing.T, yaml string, args ...string) *config.Tree {
	t.Helper()
	file, err := config.ParseFile("tiny.yaml", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	given, err := config.ParseArgs(args)
	if err != nil {
		t.Fatal(err)
	}
	return config.Merge(file, given)
}

// decode reads a file and arguments that are right.
func decode(t *testing.T, yaml string, args ...string) Root {
	t.Helper()
	var r Root
	if err := config.Decode(parse(t, yaml, args...), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// failure gives the message about a file and arguments that are wrong.
func failure(t *testing.T, yaml string, args ...string) string {
	t.Helper()
	tree, err := config.ParseFile("tiny.yaml", []byte(yaml))
	if err == nil {
		var given *config.Tree
		given, err = config.ParseArgs(args)
		if err == nil {
			err = config.Decode(config.Merge(tree, given), &Root{})
		}
	}
	var e *config.Error
	if !errors.As(err, &e) {
		t.Fatalf("want a *config.Error, got %v", err)
	}
	return err.Error()
}

// under puts lines under a section of a file that is right otherwise: from line 4, column 3.
func under(section, lines string) string {
	return "train:\n  steps: 1\n" + section + ":\n  " + strings.ReplaceAll(lines, "\n", "\n  ") + "\n"
}
