package data

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Config says which corpus to read and how to split it. The tags are read by the configuration reader.
type Config struct {
	Source     string  `key:"source" default:"gosrc" enum:"gosrc,text,tokens" doc:"where the data comes from: the source tree of Go, a text file, or a file of tokens"`
	Path       string  `key:"path" default:"" doc:"the file that source text or tokens reads"`
	Tokenizer  string  `key:"tokenizer" default:"byte" enum:"byte" doc:"how a text becomes tokens"`
	Validation float64 `key:"validation" default:"0.1" range:">0,<1" doc:"share of the source, taken from its end, that is held out for validation"`
	Limit      int64   `key:"limit" default:"33554432" range:">=1" doc:"bytes of the Go source tree to use at most"`
	Vocab      int     `key:"vocab" default:"0" range:">=0,<=65536" doc:"vocabulary of a file of tokens; 0: the largest token it holds, plus one"`
}

// optionalKeys are the keys that some sources read and others do not, in the order of Config.
var optionalKeys = []string{"path", "tokenizer", "limit", "vocab"}

// maxVocab is the number of values of a uint16, the widest token that is stored.
const maxVocab = 1 << 16

// Validate reports everything that is wrong with the values that the chosen source reads, all at once; each error starts with its key.
func (c Config) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }

	if !(c.Validation > 0 && c.Validation < 1) { // the negation catches NaN
		bad("validation: %g is not a share strictly between 0 and 1", c.Validation)
	}
	source := lookupSource(c.Source)
	if source == nil {
		bad("source: %q is unknown; known are %s", c.Source, strings.Join(sourceNames(), ", "))
		return errors.Join(errs...)
	}
	switch {
	case source.reads("path") && c.Path == "":
		bad("path: source %s reads a file, and none is named", c.Source)
	case !source.reads("path") && c.Path != "":
		bad("path: source %s reads no file, and %q is named", c.Source, c.Path)
	}
	if source.reads("tokenizer") {
		if _, err := LookupTokenizer(c.Tokenizer); err != nil {
			errs = append(errs, err)
		}
	}
	if source.reads("limit") && c.Limit < 1 {
		bad("limit: %d bytes is less than 1", c.Limit)
	}
	if source.reads("vocab") && (c.Vocab < 0 || c.Vocab > maxVocab) {
		bad("vocab: %d is not between 0 (from the file) and %d", c.Vocab, maxVocab)
	}
	return errors.Join(errs...)
}

// Unread returns the keys that the chosen source does not read: to set one of them would silently do nothing.
func (c Config) Unread() []string {
	source := lookupSource(c.Source)
	if source == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(optionalKeys), source.reads)
}
