package data

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
)

// Source is a place that data comes from.
type Source struct {
	Name string
	Keys []string // which of Config's keys path, tokenizer, limit and vocab it reads

	// Load reads everything there is. cfg has been validated. An error is an *Error.
	Load func(cfg Config) (*Material, error)
}

// Sources is the table of sources, in the order in which they are listed to people.
var Sources = []Source{gosrc, textFile, tokenFile}

// Material is what a source delivers, before it is split: a text, or tokens.
type Material struct {
	Text     []byte // where Vocab is 0
	Tokens   Tokens // where Vocab is not 0
	Vocab    int    // vocabulary of Tokens; 0: Text is to be tokenised
	Hash     string // SHA-256 of the source as it is stored, hexadecimal
	Describe string // one line for people
}

// len returns the number of positions at which the material can be split: bytes of a text, or tokens.
func (m *Material) len() int {
	if m.Vocab == 0 {
		return len(m.Text)
	}
	return m.Tokens.Len()
}

// part tokenises positions [from, to) and hashes them as they were before.
func (m *Material) part(from, to int, t Tokenizer) (tokens Tokens, sum string, err error) {
	if m.Vocab != 0 {
		tokens = m.Tokens.Slice(from, to)
		return tokens, hash(tokens.raw), nil
	}
	text := m.Text[from:to]
	tokens, err = t.Encode(text)
	return tokens, hash(text), err
}

func (s *Source) reads(key string) bool { return slices.Contains(s.Keys, key) }

func lookupSource(name string) *Source {
	i := slices.IndexFunc(Sources, func(s Source) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &Sources[i]
}

func sourceNames() []string {
	names := make([]string, len(Sources))
	for i := range Sources {
		names[i] = Sources[i].Name
	}
	return names
}

// errChanged is a file that is not what it was when reading it began.
var errChanged = errors.New("the file changed while it was being read")

// readNamed returns the bytes of the file of that name.
func readNamed(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, withoutPath(err)
	}
	if err := readable(info); err != nil { // to open a pipe would wait for somebody to write
		return nil, err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, withoutPath(err)
	}
	defer f.Close()
	return readFile(f)
}

// readFile returns the bytes of a regular file. It is strict about the size, because a corpus has one hash: a pipe or a device is
// refused, and so is a file that grows or shrinks under the reader. Memory is bounded by the size of the file.
func readFile(f fs.File) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, withoutPath(err)
	}
	if err := readable(info); err != nil {
		return nil, err
	}
	return readExactly(f, int(info.Size()))
}

// readable says why a file is not read.
func readable(info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return errors.New("this is a directory, not a file")
	case !info.Mode().IsRegular():
		return errors.New("this is not a regular file: copy it to one first")
	case info.Size() > math.MaxInt-1:
		return fmt.Errorf("%d bytes are more than this machine can address", info.Size())
	}
	return nil
}

// readExactly reads size bytes, and expects the end there.
func readExactly(r io.Reader, size int) ([]byte, error) {
	raw := make([]byte, size)
	switch n, err := io.ReadFull(r, raw); {
	case err == io.EOF && size == 0: // nothing to read, nothing read
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return nil, fmt.Errorf("%w: it had %d bytes, and ended after %d", errChanged, size, n)
	case err != nil:
		return nil, withoutPath(err)
	}
	var beyond [1]byte
	switch n, err := io.ReadFull(r, beyond[:]); {
	case n > 0:
		return nil, fmt.Errorf("%w: it had %d bytes, and has more now", errChanged, size)
	case err != io.EOF:
		return nil, withoutPath(err)
	}
	return raw, nil
}
