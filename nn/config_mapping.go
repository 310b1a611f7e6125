package nn

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// mapping reads the keys of an untyped configuration value and collects all
// that is wrong with it. Its errors start with the key.
type mapping struct {
	values map[string]any
	known  []string
	errs   []error
}

func (m *mapping) bad(key, format string, args ...any) {
	m.errs = append(m.errs, fmt.Errorf(key+": "+format, args...))
}

func (m *mapping) take(key string) (any, bool) {
	m.known = append(m.known, key)
	v, ok := m.values[key]
	return v, ok
}

func (m *mapping) text(key string, dst *string, allowed ...string) {
	v, ok := m.take(key)
	if !ok {
		return
	}
	s, isText := v.(string)
	if !isText || len(allowed) > 0 && !slices.Contains(allowed, s) {
		m.bad(key, "%v is not allowed; allowed: %s", v, strings.Join(allowed, ", "))
		return
	}
	*dst = s
}

func (m *mapping) integer(key string, dst *int, least int) {
	v, ok := m.take(key)
	if !ok {
		return
	}
	i, isInt := v.(int64)
	if !isInt || i < int64(least) || i > maxSize {
		m.bad(key, "%v is not an integer from %d to %d", v, least, maxSize)
		return
	}
	*dst = int(i)
}

func (m *mapping) auto(key string, dst interface{ FromConfig(v any) error }) {
	if v, ok := m.take(key); ok {
		if err := dst.FromConfig(v); err != nil {
			m.bad(key, "%v: %w", v, err)
		}
	}
}

func (m *mapping) number(key string, dst *float64, what string, ok func(float64) bool) {
	v, given := m.take(key)
	if !given {
		return
	}
	x, isNumber := number(v)
	if !isNumber || !ok(x) {
		m.bad(key, "%v is not %s", v, what)
		return
	}
	*dst = x
}

func positive(x float64) bool { return x > 0 }

// done reports everything that went wrong, keys that nobody took included.
func (m *mapping) done() error {
	for _, key := range slices.Sorted(maps.Keys(m.values)) {
		if !slices.Contains(m.known, key) {
			m.bad(key, "not a key here; allowed: %s", strings.Join(m.known, ", "))
		}
	}
	return errors.Join(m.errs...)
}

// kindOf splits a value that is a kind alone or a mapping with a key kind.
func kindOf(v any) (kind string, values map[string]any, err error) {
	switch v := v.(type) {
	case string:
		return v, map[string]any{}, nil
	case map[string]any:
		kind, ok := v["kind"].(string)
		if !ok {
			return "", nil, errors.New("kind: a mapping needs a kind, which is a name, as in {kind: NAME, …}")
		}
		values := maps.Clone(v)
		delete(values, "kind")
		return kind, values, nil
	}
	return "", nil, fmt.Errorf("%v is neither a name nor a mapping with a kind", v)
}

// listOf reads one value, or a list with one for each layer.
func listOf[T any](v any, one func(any) (T, error)) ([]T, error) {
	items, ok := v.([]any)
	if !ok {
		x, err := one(v)
		return []T{x}, err
	}
	if len(items) == 0 {
		return nil, errors.New("an empty list; give one value, or one for each layer")
	}
	var errs []error
	out := make([]T, len(items))
	for i, item := range items {
		x, err := one(item)
		if err != nil {
			errs = append(errs, fmt.Errorf("[%d]: %w", i, err))
		}
		out[i] = x
	}
	return out, errors.Join(errs...)
}

// valueOf gives back what listOf reads: a single value alone, several as a list.
func valueOf[T any](list []T, one func(T) any) any {
	if len(list) == 1 {
		return one(list[0])
	}
	out := make([]any, len(list))
	for i, x := range list {
		out[i] = one(x)
	}
	return out
}

// listSchema describes what listOf reads as JSON Schema.
func listSchema(one map[string]any) map[string]any {
	return map[string]any{"anyOf": []any{one, map[string]any{"type": "array", "items": one, "minItems": 1}}}
}

// variantSchema describes what kindOf reads; a mapping that lies over another need
// not have a kind.
func variantSchema(kind map[string]any) map[string]any {
	return map[string]any{"anyOf": []any{kind, map[string]any{"type": "object", "properties": map[string]any{"kind": kind}}}}
}

// perLayer spreads one value, or one for each layer, over the layers.
func perLayer[T any](list []T, layer int) T {
	if len(list) == 1 {
		return list[0]
	}
	return list[layer]
}
