package golden

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
)

// object is a JSON object whose fields are taken one by one, so that what
// nobody took is an error. It collects what is wrong.
type object struct {
	path   string
	fields map[string]json.RawMessage
	taken  map[string]bool
	errs   *[]error
}

// readObject reads an object and refuses fields that stand twice.
func readObject(path string, raw []byte) (*object, error) {
	o := &object{path: path, fields: map[string]json.RawMessage{}, taken: map[string]bool{}, errs: new([]error)}
	dec := json.NewDecoder(bytes.NewReader(raw))
	t, err := dec.Token()
	if err != nil {
		return nil, o.cause(err)
	}
	if t != json.Delim('{') {
		return nil, o.errorf("an object is wanted, found %v", t)
	}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, o.cause(err)
		}
		key := t.(string) // the decoder lets nothing else stand here
		if _, ok := o.fields[key]; ok {
			return nil, o.errorf("%q stands twice", key)
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, o.cause(err)
		}
		o.fields[key] = value
	}
	if _, err := dec.Token(); err != nil {
		return nil, o.cause(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, o.errorf("something follows the end")
	}
	return o, nil
}

func (o *object) errorf(format string, args ...any) error {
	if o.path == "" {
		return fmt.Errorf(format, args...)
	}
	return fmt.Errorf(o.path+": "+format, args...)
}

func (o *object) cause(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return o.errorf("%w", err)
}

func (o *object) bad(format string, args ...any) {
	*o.errs = append(*o.errs, o.errorf(format, args...))
}

func (o *object) has(key string) bool {
	_, ok := o.fields[key]
	return ok
}

// err is everything that went wrong, fields that nobody took included.
func (o *object) err() error {
	o.end()
	return errorsOf(*o.errs)
}

// optional reads a field into dst and says whether it is there.
func optional[T any](o *object, key string, dst *T) bool {
	raw, ok := o.fields[key]
	o.taken[key] = true
	if !ok {
		return false
	}
	if _, isText := any(dst).(*string); !isText && bytes.Contains(raw, []byte("null")) {
		o.bad("%s: null is no value", key)
		return false
	}
	if n, isInt := any(dst).(*int); isInt {
		var x float64 // other writers have 64.0 for 64
		if err := json.Unmarshal(raw, &x); err == nil && x == math.Trunc(x) && math.Abs(x) <= 1<<53 {
			*n = int(x)
			return true
		}
	}
	if err := json.Unmarshal(raw, dst); err != nil {
		o.bad("%s: %v", key, err)
		return false
	}
	return true
}

// required reads a field that must be there.
func required[T any](o *object, key string, dst *T) {
	if !o.has(key) {
		o.bad("%s: missing", key)
	}
	optional(o, key, dst)
}

// ignored takes fields whose content is prose or help.
func (o *object) ignored(keys ...string) {
	for _, key := range keys {
		o.taken[key] = true
	}
}

// sub reads a field that is an object; nil if it is absent or wrong.
func (o *object) sub(key string) *object {
	raw, ok := o.fields[key]
	o.taken[key] = true
	if !ok {
		return nil
	}
	s, err := readObject(within(o.path, key), raw)
	if err != nil {
		*o.errs = append(*o.errs, err)
		return nil
	}
	s.errs = o.errs
	return s
}

// end reports the fields that nobody took.
func (o *object) end() {
	for _, key := range o.keys() {
		if !o.taken[key] {
			o.bad("not known: %s", key)
		}
	}
}

// keys lists the fields, sorted.
func (o *object) keys() []string { return slices.Sorted(maps.Keys(o.fields)) }

// tensor is numbers with a shape, in row-major order.
type tensor struct {
	shape []int
	data  []float64
}

// tensor reads a field that is a tensor.
func (o *object) tensor(key string) tensor {
	var t tensor
	s := o.sub(key)
	if s == nil {
		if !o.has(key) {
			o.bad("%s: missing", key)
		}
		return t
	}
	required(s, "shape", &t.shape)
	required(s, "data", &t.data)
	s.end()
	n := 1
	for _, d := range t.shape {
		if d < 1 || n > len(t.data)/d {
			o.bad("%s: shape %v does not fit %d numbers", key, t.shape, len(t.data))
			return tensor{}
		}
		n *= d
	}
	if n != len(t.data) || len(t.shape) > 8 {
		o.bad("%s: shape %v does not fit %d numbers", key, t.shape, len(t.data))
		return tensor{}
	}
	return t
}

// integers reads a field of nested lists of one shape, which has no empty axis.
func (o *object) integers(key string) (data []int32, shape []int) {
	var root any
	required(o, key, &root)
	for at := root; ; {
		list, ok := at.([]any)
		if !ok {
			break
		}
		if len(list) == 0 {
			o.bad("%s: rows of one length are wanted", key)
			return nil, nil
		}
		shape, at = append(shape, len(list)), list[0]
	}
	var take func(at any, rest []int) bool
	take = func(at any, rest []int) bool {
		if len(rest) == 0 {
			x, ok := at.(float64)
			data = append(data, int32(x))
			return ok && float64(int32(x)) == x
		}
		list, _ := at.([]any)
		return len(list) == rest[0] && !slices.ContainsFunc(list, func(e any) bool { return !take(e, rest[1:]) })
	}
	if len(shape) == 0 || !take(root, shape) {
		o.bad("%s: rows of one length of whole numbers are wanted", key)
		return nil, nil
	}
	return data, shape
}

// tensors reads a field that maps names to tensors.
func (o *object) tensors(key string) map[string]tensor {
	all := map[string]tensor{}
	if s := o.sub(key); s != nil {
		for _, name := range s.keys() {
			all[name] = s.tensor(name)
		}
	} else if !o.has(key) {
		o.bad("%s: missing", key)
	}
	return all
}
