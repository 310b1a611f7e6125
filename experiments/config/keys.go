package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// A Key describes one key for people.
type Key struct {
	Path    string   // dotted; elements of a list of structs as path[]
	Type    string   // such as "integer", "list of number", "string or mapping"
	Default string   // as it would be written; "" if there is none
	Range   string   // such as ">= 1"; "" if everything is allowed
	Enum    []string // allowed texts; nil if all are
	Doc     string
}

// Keys lists every key of a struct type in the order of its fields, keys of inner
// structs after their own.
func Keys(of any) []Key { return keys(structType(of), "") }

func structType(of any) reflect.Type {
	t := reflect.TypeOf(of)
	if t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct {
		panic(fmt.Sprintf("config: %T is no struct", of))
	}
	return t
}

func keys(t reflect.Type, prefix string) []Key {
	var out []Key
	for _, f := range fieldsOf(t) {
		out = append(out, f.describe(prefix))
		path := join(prefix, f.key)
		inner := f.typ
		for inner.Kind() == reflect.Slice || inner.Kind() == reflect.Array {
			path, inner = path+"[]", inner.Elem()
		}
		if inner.Kind() == reflect.Struct {
			out = append(out, keys(inner, path)...)
		}
	}
	return out
}

func (f field) describe(prefix string) Key {
	k := Key{Path: join(prefix, f.key), Type: typeText(f.schema()), Range: f.limits.rng.String(), Enum: f.limits.words(f.typ), Doc: f.doc}
	if f.def != nil {
		k.Default = flow(f.def)
	}
	return k
}

// typeText puts a fragment of JSON Schema in words.
func typeText(s map[string]any) string {
	for _, key := range []string{"anyOf", "oneOf"} {
		if list, ok := s[key].([]any); ok {
			var words []string
			for _, item := range list {
				m, _ := item.(map[string]any)
				for word := range strings.SplitSeq(typeText(m), " or ") {
					if !slices.Contains(words, word) {
						words = append(words, word)
					}
				}
			}
			return strings.Join(words, " or ")
		}
	}
	switch s["type"] {
	case "object":
		return "mapping"
	case "array":
		if items, ok := s["items"].(map[string]any); ok {
			return "list of " + typeText(items)
		}
		return "list"
	case nil:
		if s["enum"] != nil || s["const"] != nil {
			return "string"
		}
		return "any"
	}
	return fmt.Sprint(s["type"])
}
