package train

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// CorruptError is a checkpoint that cannot be read or does not agree with its
// own checksums.
type CorruptError struct {
	Path   string
	Reason string
	Err    error // cause; may be nil
}

func (e *CorruptError) Error() string {
	s := fmt.Sprintf("checkpoint %q: %s", e.Path, e.Reason)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *CorruptError) Unwrap() error { return e.Err }

// withheld reports whether the operating system would not give what may be a
// good checkpoint: a permission, a disk or a network is at fault, not the bytes.
func (e *CorruptError) withheld() bool {
	cause, ok := errors.AsType[*fs.PathError](e)
	return ok && !errors.Is(cause, fs.ErrNotExist)
}

// MismatchError is a sound checkpoint of another run: another model, other
// data, other mathematics.
type MismatchError struct {
	Path        string
	Differences []string // "model.layers: 4 in the checkpoint, 6 here"
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("checkpoint %q belongs to another run: %s", e.Path, strings.Join(e.Differences, "; "))
}

// SaveError is a checkpoint that could not be written. Those written before
// are as they were.
type SaveError struct {
	Path  string
	Bytes int64 // that the new checkpoint takes; 0 where it had not come to that
	Err   error
}

func (e *SaveError) Error() string {
	need := ""
	if e.Bytes > 0 {
		need = fmt.Sprintf(" (it needs %d bytes)", e.Bytes)
	}
	return fmt.Sprintf("checkpoint %q could not be saved%s: %v", e.Path, need, e.Err)
}

// Unwrap returns the cause.
func (e *SaveError) Unwrap() error { return e.Err }
