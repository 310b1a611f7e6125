package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// A field is a struct field with a key, its tags parsed.
type field struct {
	index  int
	key    string
	typ    reflect.Type
	limits limits
	def    *node // implicit; nil without a default tag
	doc    string
	per    string // key of the integer that says how long a list is; "" if it may have any length
}

// limits are what tags say about a scalar, or about each scalar of a list.
type limits struct {
	rng  interval
	enum []string // nil: any text
}

var (
	treeType = reflect.TypeFor[*Tree]()
	anyType  = reflect.TypeFor[any]()
)

// as gives a new value of the type as interface I, and whether its pointer has I's methods.
func as[I any](t reflect.Type) (I, bool) {
	if t.Kind() == reflect.Interface {
		var none I
		return none, false
	}
	i, ok := reflect.New(t).Interface().(I)
	return i, ok
}

var parsed sync.Map // reflect.Type → []field

// fieldsOf gives the fields of a struct type. Mistakes in tags panic with the name of
// the field: they are the programmer's and show in the first test that decodes the struct.
func fieldsOf(t reflect.Type) []field {
	if fields, ok := parsed.Load(t); ok {
		return fields.([]field)
	}
	fields := parseFields(t)
	parsed.Store(t, fields)
	return fields
}

func parseFields(t reflect.Type) []field {
	var fields []field
	for i := range t.NumField() {
		sf := t.Field(i)
		key, ok := sf.Tag.Lookup("key")
		if !ok {
			continue
		}
		f, err := parseField(sf, key)
		if err == nil && slices.ContainsFunc(fields, func(g field) bool { return g.key == key }) {
			err = fmt.Errorf("key %q stands twice", key)
		}
		if err != nil {
			panic(fmt.Sprintf("config: field %s.%s: %v", t, sf.Name, err))
		}
		f.index = i
		fields = append(fields, f)
	}
	return fields
}

func parseField(sf reflect.StructField, key string) (field, error) {
	f := field{key: key, typ: sf.Type, doc: sf.Tag.Get("doc"), per: sf.Tag.Get("per"), limits: limits{rng: everything}}
	if !sf.IsExported() || key == "" || strings.ContainsAny(key, ".[]= ") {
		return f, fmt.Errorf("key %q needs an exported field and a word without dots, brackets, equals signs and spaces", key)
	}
	if err := supported(sf.Type); err != nil {
		return f, err
	}
	if s, ok := sf.Tag.Lookup("range"); ok {
		r, err := parseInterval(s)
		if err != nil {
			return f, err
		}
		f.limits.rng = r
	}
	if s, ok := sf.Tag.Lookup("enum"); ok {
		for word := range strings.SplitSeq(s, ",") {
			f.limits.enum = append(f.limits.enum, strings.TrimSpace(word))
		}
	}
	if s, ok := sf.Tag.Lookup("default"); ok {
		def, err := parseDefault(sf.Type, s)
		if err != nil {
			return f, err
		}
		f.def = def
	}
	return f, nil
}

// parseDefault reads a default tag: the text itself for a string, else YAML.
func parseDefault(t reflect.Type, s string) (*node, error) {
	if _, own := as[Value](t); t.Kind() == reflect.String && !own {
		return &node{kind: text, text: s, quoted: true, implicit: true}, nil
	}
	n, problems := parseValue("default", s, Pos{})
	if len(problems) > 0 {
		return nil, fmt.Errorf("default %q: %w", s, ErrorOf(problems))
	}
	return n.asImplicit(), nil
}

// supported reports a type that no configuration can hold.
func supported(t reflect.Type) error {
	if _, own := as[Value](t); own || t == treeType || t == anyType {
		return nil
	}
	switch t.Kind() {
	case reflect.Bool, reflect.String, reflect.Struct, reflect.Float32, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return nil
	case reflect.Slice, reflect.Array:
		return supported(t.Elem())
	}
	return fmt.Errorf("type %s is not one that can be read; see the package comment", t)
}

// words gives the allowed texts of a type, or of a list's elements; nil if any is.
func (l limits) words(t reflect.Type) []string {
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Array {
		t = t.Elem()
	}
	if e, ok := as[Enumer](t); ok {
		return e.ConfigEnum()
	}
	return l.enum
}

// keysOf lists the keys of a struct type.
func keysOf(fields []field) []string {
	keys := make([]string, len(fields))
	for i, f := range fields {
		keys[i] = f.key
	}
	return keys
}
