//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package sweep

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockHandle takes an exclusive lock on an open file, without waiting. It is
// flock's: it belongs to the open file, so that two cells of one process exclude
// each other too, and closing another handle of the same file does not drop it.
func lockHandle(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EWOULDBLOCK):
			return errBusy
		}
		return err
	}
}
