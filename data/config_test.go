package data

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestValidate(t *testing.T) {
	valid := map[string]Config{
		"gosrc":  {Source: "gosrc", Tokenizer: "byte", Validation: 0.1, Limit: 1},
		"text":   {Source: "text", Path: "a.txt", Tokenizer: "byte", Validation: 0.5},
		"tokens": {Source: "tokens", Path: "a.bin", Validation: 0.9, Vocab: 65536},
	}
	for name, cfg := range valid {
		if err := cfg.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}

	tests := []struct {
		name   string
		from   string
		change func(*Config)
		want   []string // one per line of the error, each with its key in front
	}{
		{"unknown source", "text", func(c *Config) { c.Source = "web" }, []string{`source: "web" is unknown; known are gosrc, text, tokens`}},
		{"no source", "text", func(c *Config) { c.Source = "" }, []string{`source: "" is unknown`}},
		{"path missing, text", "text", func(c *Config) { c.Path = "" }, []string{"path: source text reads a file"}},
		{"path missing, tokens", "tokens", func(c *Config) { c.Path = "" }, []string{"path: source tokens reads a file"}},
		{"path with gosrc", "gosrc", func(c *Config) { c.Path = "x" }, []string{`path: source gosrc reads no file, and "x" is named`}},
		{"unknown tokenizer", "text", func(c *Config) { c.Tokenizer = "bpe" }, []string{`tokenizer: "bpe" is unknown; known are byte`}},
		{"validation 0", "text", func(c *Config) { c.Validation = 0 }, []string{"validation: 0 "}},
		{"validation 1", "text", func(c *Config) { c.Validation = 1 }, []string{"validation: 1 "}},
		{"validation negative", "text", func(c *Config) { c.Validation = -0.1 }, []string{"validation: -0.1 "}},
		{"validation NaN", "text", func(c *Config) { c.Validation = math.NaN() }, []string{"validation: NaN "}},
		{"limit 0", "gosrc", func(c *Config) { c.Limit = 0 }, []string{"limit: 0 bytes"}},
		{"limit negative", "gosrc", func(c *Config) { c.Limit = math.MinInt64 }, []string{"limit: -9223372036854775808 bytes"}},
		{"vocab negative", "tokens", func(c *Config) { c.Vocab = -1 }, []string{"vocab: -1 "}},
		{"vocab too large", "tokens", func(c *Config) { c.Vocab = 65537 }, []string{"vocab: 65537 "}},
		{"all at once", "text", func(c *Config) { c.Validation, c.Path, c.Tokenizer = 2, "", "" }, []string{"validation: 2 ", "path: ", "tokenizer: "}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cfg := valid[test.from]
			test.change(&cfg)
			err := cfg.Validate()
			if err == nil {
				t.Fatal("no error")
			}
			lines := strings.Split(err.Error(), "\n")
			if !slices.EqualFunc(lines, test.want, strings.HasPrefix) {
				t.Errorf("got %q, want %q", lines, test.want)
			}
		})
	}
}

func TestUnread(t *testing.T) {
	for source, want := range map[string][]string{
		"gosrc":   {"path", "vocab"},
		"text":    {"limit", "vocab"},
		"tokens":  {"tokenizer", "limit"},
		"unknown": nil,
	} {
		if got := (Config{Source: source}).Unread(); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", source, got, want)
		}
	}
}

// The tags are text and cannot be made from the tables, so this test holds them together.
func TestTagsMatchTables(t *testing.T) {
	var tokenizers, keys []string
	for _, tokenizer := range Tokenizers {
		tokenizers = append(tokenizers, tokenizer.Name())
	}
	fields := reflect.VisibleFields(reflect.TypeFor[Config]())
	for _, field := range fields {
		keys = append(keys, field.Tag.Get("key"))
		if field.Tag.Get("doc") == "" {
			t.Errorf("%s has no doc tag", field.Name)
		}
		switch field.Name {
		case "Source":
			wantEnum(t, field, sourceNames())
		case "Tokenizer":
			wantEnum(t, field, tokenizers)
		}
	}
	for _, key := range optionalKeys {
		if !slices.Contains(keys, key) {
			t.Errorf("optional key %q is no key of Config", key)
		}
	}
	for _, source := range Sources {
		for _, key := range source.Keys {
			if !slices.Contains(optionalKeys, key) {
				t.Errorf("source %s reads %q, which is no optional key", source.Name, key)
			}
		}
	}
}

func wantEnum(t *testing.T, field reflect.StructField, names []string) {
	t.Helper()
	if got, want := field.Tag.Get("enum"), strings.Join(names, ","); got != want {
		t.Errorf("%s: enum tag %q, table %q", field.Name, got, want)
	}
	if value := field.Tag.Get("default"); !slices.Contains(names, value) {
		t.Errorf("%s: default %q is not in the table %q", field.Name, value, names)
	}
}
