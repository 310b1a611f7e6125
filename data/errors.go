package data

import (
	"errors"
	"io/fs"
	"strconv"
	"strings"
)

// Error is a source that cannot be used: missing, unreadable, malformed, too short, or changed while it was being read. A command that
// gets one has a data problem, not a configuration problem.
type Error struct {
	Source string // name of the source
	Path   string // the file or tree concerned; "" where there is none
	Reason string // what is wrong, with the numbers and with what would do instead
	Err    error  // cause; may be nil
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("data source ")
	b.WriteString(e.Source)
	if e.Path != "" {
		b.WriteByte(' ')
		b.WriteString(strconv.Quote(e.Path)) // a name may hold control characters
	}
	b.WriteString(": ")
	b.WriteString(e.Reason)
	if e.Err != nil {
		b.WriteString(": ")
		b.WriteString(e.Err.Error())
	}
	return b.String()
}

// Unwrap returns the cause, so that errors.Is(err, fs.ErrNotExist) works.
func (e *Error) Unwrap() error { return e.Err }

// withoutPath strips the path that the os package puts into its errors: Error has named it already.
func withoutPath(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
