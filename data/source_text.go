package data

import "fmt"

// textFile delivers the bytes of a file as they are: byte order mark, CRLF, NUL and invalid UTF-8 included. What to make of them is the
// tokenizer's business.
var textFile = Source{
	Name: "text",
	Keys: []string{"path", "tokenizer"},
	Load: loadText,
}

func loadText(cfg Config) (*Material, error) {
	raw, err := readNamed(cfg.Path)
	if err != nil {
		return nil, &Error{Source: cfg.Source, Path: cfg.Path, Reason: "cannot be read", Err: err}
	}
	return &Material{
		Text:     raw,
		Hash:     hash(raw),
		Describe: fmt.Sprintf("text %q, %d bytes", cfg.Path, len(raw)),
	}, nil
}
