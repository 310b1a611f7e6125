package sweep

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockHandle takes an exclusive lock on an open file, without waiting. Windows locks
// ranges of bytes against reading too, so the range is one byte far beyond the
// text that says who holds it.
func lockHandle(f *os.File) error {
	const exclusiveNow = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), exclusiveNow, 0, 1, 0, &windows.Overlapped{OffsetHigh: 1})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return errBusy
	}
	return err
}
