//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd && !windows

package sweep

import (
	"errors"
	"os"
)

// lockHandle refuses: without a lock two processes could write one directory.
func lockHandle(*os.File) error { return errors.ErrUnsupported }
