// Package config reads configurations strictly: YAML files and key=value
// arguments, over tagged structs that other packages own.
//
// The way of a configuration is
//
//	ParseFile, ParseArgs, FromMap → Tree ─ Merge → Tree ─ Decode → struct ─ Encode, Canonical
//
// A Tree is what was written, with the position of every key and value; merging
// keeps the positions, so an error in a merged configuration still points at the
// line, or at the argument, that caused it. Decode reports everything that is
// wrong at once, sorted by position, as an *Error.
//
// # What is strict
//
// An error each: an unknown key (with "did you mean"), a duplicate key, a value
// of the wrong type, a number in quotes, 8.5 or 1e3 for an integer, numbers that
// readers disagree about (010, 0x10, 1_000, .5, +1), .nan and .inf, yes/no/on/off
// for a boolean, null or a key without a value, anchors, aliases, merge keys,
// tags, several documents, a key that the chosen variant does not read. Numbers
// have JSON's grammar wherever they stand, so 1e-4 is a number in lists and in
// untyped values too. Files are limited to 4 MiB and 64 levels.
//
// # Structs
//
// A field takes part if it has a key tag:
//
//	Heads int `key:"heads" default:"4" range:"[1,1024]" doc:"attention heads"`
//
//	key      the name in the file
//	default  the value of an absent key, in YAML flow syntax (text of a string field as it is);
//	         without it the value that the struct holds before decoding stays
//	range    of a number, or of each number in a list: ">=1", ">0", "<=1", "<1", joined by
//	         commas, or an interval "[0,1)", where an empty end is infinite: "(0,]"
//	enum     allowed texts, separated by commas
//	per      of a list: the key, of the same struct or of one around it and before the field,
//	         whose integer says how many elements it has; it may then be written as a cycle
//	doc      one sentence for people
//
// Fields are booleans, integers, floats, strings, any, *Tree (kept unread, with
// positions), structs, and arrays and slices of those. A type may instead read
// itself (Value), describe itself (Schemer) or have an open set of names (Enumer).
// A struct may check itself (Validator) and name the keys that its variant does
// not read (Unreader). Mistakes in tags are mistakes of the programmer and panic.
//
// An absent key whose present value is outside its range or enum is reported as required.
//
// # Variants
//
// A struct with a field keyed "kind" is a variant, and a scalar s given for it
// means {kind: s}. Naming a kind states a whole variant: in a later layer it
// replaces everything that earlier layers said about it, so that no field of the
// older kind lingers. A mapping without kind, or a dotted key such as
// model.norm.eps=1e-6, changes single fields.
//
// # Cycles
//
// {repeat: [a, b]} stands for a list with a tag per: a, b, a, b, … with as many elements
// as the other key says, the last round cut. It is a way of writing: the struct is
// given the list, and Encode gives the list back. In a later layer a cycle replaces, as
// a list does, what earlier layers said.
package config

// Value is a type that reads its own configuration.
//
// FromConfig is given bool, int64, float64, string, []any or map[string]any, or
// nil where the key is absent and has no default. Its error says what is allowed;
// a text that starts with keys of the value ("max: not positive", "[1]: scaling: factor: not
// positive") is reported there.
//
// ConfigValue gives the same back in canonical form; nil leaves the key out.
type Value interface {
	FromConfig(v any) error
	ConfigValue() any
}

// Validator is a struct that checks itself once its fields hold decoded values and
// defaults; inner structs are checked first. The error, or each part of an
// errors.Join, starts with a key path relative to the struct:
// "heads: 6 does not divide d_model 128".
type Validator interface{ Validate() error }

// Unreader is a struct that names the keys, relative to it, that the variant it
// holds does not read. Setting one is an error; Encode and Canonical leave them out.
type Unreader interface{ Unread() []string }

// Explainer is an Unreader that says why it does not read a key, where the kind
// around the key is not the reason; "" where it is.
type Explainer interface{ WhyUnread(key string) string }

// Enumer is a string type whose allowed texts are known only at run time, such as
// the names of a table that others may extend. It stands in for the enum tag.
type Enumer interface{ ConfigEnum() []string }

// Schemer is a type that gives its own fragment of JSON Schema.
type Schemer interface{ ConfigSchema() map[string]any }
