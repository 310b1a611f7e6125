package sweep

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ablate/experiments"
	"ablate/experiments/config"
)

// satisfies checks a value against a JSON Schema, as far as ours use the language; a
// word that it does not know is an error, so that none is passed over.
func satisfies(s map[string]any, v any) error {
	for _, word := range slices.Sorted(mapKeys(s)) {
		if err := satisfiesWord(s, word, s[word], v); err != nil {
			return err
		}
	}
	return nil
}

func mapKeys(m map[string]any) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func satisfiesWord(s map[string]any, word string, arg, v any) error {
	object, isObject := v.(map[string]any)
	list, isList := v.([]any)
	x, isNumber := v.(float64)
	fails := func(bad bool) error {
		if bad {
			return fmt.Errorf("%v: %s %v", v, word, arg)
		}
		return nil
	}
	each := func(values []any, sub map[string]any) error {
		for i, e := range values {
			if err := satisfies(sub, e); err != nil {
				return fmt.Errorf("%d: %w", i, err)
			}
		}
		return nil
	}
	switch word {
	case "$schema", "title", "description", "default":
		return nil
	case "type":
		is := map[string]bool{"object": isObject, "array": isList, "number": isNumber, "integer": isNumber && x == math.Trunc(x),
			"string": reflect.TypeOf(v) == reflect.TypeFor[string](), "boolean": reflect.TypeOf(v) == reflect.TypeFor[bool](), "null": v == nil}
		return fails(!is[arg.(string)])
	case "enum":
		return fails(!slices.ContainsFunc(arg.([]any), func(e any) bool { return reflect.DeepEqual(e, v) }))
	case "const":
		return fails(!reflect.DeepEqual(arg, v))
	case "minimum":
		return fails(isNumber && x < arg.(float64))
	case "maximum":
		return fails(isNumber && x > arg.(float64))
	case "exclusiveMinimum":
		return fails(isNumber && x <= arg.(float64))
	case "exclusiveMaximum":
		return fails(isNumber && x >= arg.(float64))
	case "minItems":
		return fails(isList && len(list) < int(arg.(float64)))
	case "maxItems":
		return fails(isList && len(list) > int(arg.(float64)))
	case "items":
		return each(list, arg.(map[string]any))
	case "required":
		for _, k := range arg.([]any) {
			if _, has := object[k.(string)]; isObject && !has {
				return fails(true)
			}
		}
		return nil
	case "properties":
		for _, k := range slices.Sorted(mapKeys(object)) {
			if sub, known := arg.(map[string]any)[k]; known {
				if err := satisfies(sub.(map[string]any), object[k]); err != nil {
					return fmt.Errorf("%s: %w", k, err)
				}
			}
		}
		return nil
	case "additionalProperties":
		known, _ := s["properties"].(map[string]any)
		for _, k := range slices.Sorted(mapKeys(object)) {
			if _, ok := known[k]; ok {
				continue
			}
			if sub, allowed := arg.(map[string]any); !allowed {
				return fmt.Errorf("unknown key %s", k)
			} else if err := satisfies(sub, object[k]); err != nil {
				return fmt.Errorf("%s: %w", k, err)
			}
		}
		return nil
	case "propertyNames":
		for k := range object {
			if !regexp.MustCompile(arg.(map[string]any)["pattern"].(string)).MatchString(k) {
				return fmt.Errorf("key %s", k)
			}
		}
		return nil
	case "anyOf", "oneOf":
		var errs []string
		for _, sub := range arg.([]any) {
			err := satisfies(sub.(map[string]any), v)
			if err == nil {
				return nil
			}
			errs = append(errs, err.Error())
		}
		return fmt.Errorf("no form fits: %s", strings.Join(errs, "; or "))
	}
	return fmt.Errorf("the schema has the unknown word %s", word)
}

// schemaChecks parses a YAML and checks it against the schema.
func schemaChecks(t *testing.T, name string, text []byte) error {
	t.Helper()
	tree, err := config.ParseFile(name, text)
	if err != nil {
		t.Fatal(err)
	}
	var s map[string]any
	if err := json.Unmarshal(Schema(), &s); err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(config.Canonical(tree), &v); err != nil {
		t.Fatal(err)
	}
	return satisfies(s, v)
}

// yamlBlock is an example in a document.
var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// TestSchemaHoldsForEverythingShipped: experiments, checks, and the examples of the
// documents that are whole files.
func TestSchemaHoldsForEverythingShipped(t *testing.T) {
	files := map[string][]byte{}
	for _, name := range experiments.Names() {
		text, err := experiments.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = text
	}
	root := filepath.Join("..", "..")
	for _, pattern := range []string{"docs/*/*.yaml", "README.md", "docs/*.md"} {
		paths, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %v, %v", pattern, paths, err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if filepath.Ext(path) == ".yaml" {
				files[path] = text
				continue
			}
			for i, block := range yamlBlock.FindAllSubmatch(text, -1) {
				if !strings.Contains(string(block[1]), "…") {
					files[fmt.Sprintf("%s, example %d", path, i+1)] = block[1]
				}
			}
		}
	}
	if len(files) < 5 {
		t.Errorf("only %d files", len(files))
	}
	for name, text := range files {
		if err := schemaChecks(t, name, text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	resolved := config.Encode(single(t, "train.clip=none", "seed={init: 1, data: 2}").Cells[0].Config).YAML()
	if err := schemaChecks(t, "config.yaml", resolved); err != nil {
		t.Errorf("the configuration that a run leaves: %v\n%s", err, resolved)
	}
}

func TestSchemaRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"modle: {layers: 2}":                            "unknown key modle",
		"model: {layer: 2}":                             "unknown key layer",
		"model: {layers: 0}":                            "layers",
		"model: {layers: 1.5}":                          "layers",
		"train: {optimizer: adamm}":                     "optimizer",
		"base: {model: {layer: 2}}":                     "unknown key layer",
		"base: {seed: 1}":                               "unknown key seed",
		"axes: {model.layers: 2}":                       "model.layers",
		"axes: {seeds: [1, 2]}":                         "key seeds",
		"seeds: [one]":                                  "seeds",
		"name: x\nmodel: {layers: 2}\nseeds: [1]":       "unknown key",
		"model: {preset: no-such-model}":                "preset",
		"model: {position: rotary}":                     "position",
		"model: {attention: {window: -1}}":              "window",
		"model: {attention: {window: {repeat: 3}}}":     "window",
		"model: {attention: {window: {repat: [1, 2]}}}": "window",
	} {
		if err := schemaChecks(t, "bad.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
