package train

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
)

// fileSystem is what checkpoints ask of a file system, so that a test can make
// the N-th request fail.
type fileSystem interface {
	MkdirAll(path string) error
	Create(path string) (syncer, error)
	Rename(from, to string) error
	RemoveAll(path string) error
	ReadDir(path string) ([]fs.DirEntry, error)
	SyncDir(path string) error
}

// syncer is a file that is being written.
type syncer interface {
	io.WriteCloser
	Sync() error
}

// disk is the file system of the machine.
type disk struct{}

func (disk) MkdirAll(path string) error                 { return os.MkdirAll(path, 0o777) }
func (disk) Create(path string) (syncer, error)         { return os.Create(path) }
func (disk) Rename(from, to string) error               { return os.Rename(from, to) }
func (disk) RemoveAll(path string) error                { return os.RemoveAll(path) }
func (disk) ReadDir(path string) ([]fs.DirEntry, error) { return os.ReadDir(path) }

// SyncDir makes renames in a directory last: without it the new name may be
// lost in a power cut although the file's content is not. Windows has no such
// call, and needs none.
func (disk) SyncDir(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
