package config

import (
	"encoding/json"
	"reflect"
)

// Schema gives the JSON Schema (draft 2020-12) of a struct type, for editors. It is
// a little weaker than Decode, which also knows what a variant reads and what the
// structs check themselves.
func Schema(of any, title string) []byte {
	s := structSchema(structType(of))
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = title
	out, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic("config: a fragment of ConfigSchema: " + err.Error())
	}
	return append(out, '\n')
}

func structSchema(t reflect.Type) map[string]any {
	properties := make(map[string]any)
	for _, f := range fieldsOf(t) {
		p := f.schema()
		if f.doc != "" {
			p["description"] = f.doc
		}
		if f.def != nil {
			p["default"] = f.def.value()
		}
		properties[f.key] = p
	}
	return map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
}

// schema is that of the field's type and, for a list that another key measures, of a cycle.
func (f field) schema() map[string]any {
	s := schemaOf(f.typ, f.limits)
	if f.per == "" || len(s) == 0 {
		return s
	}
	return map[string]any{"anyOf": []any{s, cycleSchema()}}
}

// schemaOf gives a new fragment for a type under its limits.
func schemaOf(t reflect.Type, l limits) map[string]any {
	if s, ok := as[Schemer](t); ok {
		out := make(map[string]any)
		for k, v := range s.ConfigSchema() {
			out[k] = v
		}
		return out
	}
	if _, own := as[Value](t); own || t == anyType || t == treeType {
		return map[string]any{}
	}
	s := make(map[string]any)
	switch k := t.Kind(); {
	case k == reflect.Bool:
		s["type"] = "boolean"
	case k == reflect.String:
		s["type"] = "string"
		if words := l.words(t); words != nil {
			s["enum"] = words
		}
	case k == reflect.Slice, k == reflect.Array:
		s["type"], s["items"] = "array", schemaOf(t.Elem(), l)
		if k == reflect.Array {
			s["minItems"], s["maxItems"] = t.Len(), t.Len()
		}
	case k == reflect.Struct:
		return variantSchema(t)
	case k == reflect.Float32, k == reflect.Float64:
		s["type"] = "number"
		l.rng.schema(s)
	default:
		s["type"] = "integer"
		if k >= reflect.Uint && l.rng.lo < 0 {
			l.rng.lo = 0
		}
		l.rng.schema(s)
	}
	return s
}

// variantSchema lets a scalar stand for a struct with a field keyed "kind".
func variantSchema(t reflect.Type) map[string]any {
	s := structSchema(t)
	fields := fieldsOf(t)
	i := indexOfKey(fields, "kind")
	if i < 0 {
		return s
	}
	return map[string]any{"anyOf": []any{schemaOf(fields[i].typ, fields[i].limits), s}}
}
