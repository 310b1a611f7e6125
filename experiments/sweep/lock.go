package sweep

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// lockFile lies in the directory of a run. It stays there when the run has ended:
// to remove it would let two processes lock two files of the same name.
const lockFile = "lock"

// Locked is the error of a run directory that another process writes.
type Locked struct {
	Dir  string
	PID  int    // 0 if it has not said yet
	Host string // "" if it has not said yet
	// Elsewhere says that the lock itself is free, but a process on another host
	// has not said that it is done: either it died, or this file system does not
	// show its lock to other hosts. Waiting would not tell; --force takes the
	// directory over.
	Elsewhere bool
}

func (e *Locked) Error() string {
	owner := "another process"
	if e.PID != 0 {
		owner = fmt.Sprintf("process %d on %s", e.PID, e.Host)
	}
	if e.Elsewhere {
		return fmt.Sprintf("%s seems to be written by %s, or was when that died there; --force takes it over", e.Dir, owner)
	}
	return fmt.Sprintf("%s is being written by %s", e.Dir, owner)
}

// errBusy is what the system's lock says when somebody else holds it.
var errBusy = errors.New("locked")

// owner is the content of a lock file: who holds it, to be shown to others.
type owner struct {
	PID  int    `json:"pid"`
	Host string `json:"host"`
}

// A lock keeps a run directory to one process. The kernel releases it when the
// process ends, however it ends.
type lock struct{ f *os.File }

// lockDir locks a run directory, or says who holds it with a *Locked. force takes
// over what another host seems to hold, never what this one holds.
func lockDir(dir string, force bool) (*lock, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	if err := lockHandle(f); err != nil {
		defer f.Close()
		if !errors.Is(err, errBusy) {
			return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
		}
		return nil, ownerOf(f, dir)
	}
	host, _ := os.Hostname() // "" where it has no name
	if last := ownerOf(f, dir); last.Host != "" && last.Host != host && !force {
		last.Elsewhere = true
		f.Close()
		return nil, last
	}
	text, err := json.Marshal(owner{PID: os.Getpid(), Host: host})
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt(append(text, '\n'), 0)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &lock{f}, nil
}

// ownerOf reads who holds a lock. The holder may be about to write it.
func ownerOf(f *os.File, dir string) *Locked {
	var o owner
	text, err := io.ReadAll(io.LimitReader(f, 4096))
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	if err != nil {
		o = owner{}
	}
	return &Locked{Dir: dir, PID: o.PID, Host: o.Host}
}

// release gives the directory to others, on other hosts too.
func (l *lock) release() error { return errors.Join(l.f.Truncate(0), l.f.Close()) }
