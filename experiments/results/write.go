package results

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
)

// WriteFile writes a file of dir, replacing an older one in one step: under
// another name, synced, renamed, and the directory synced, without which the
// rename itself may be lost. name is relative, with forward slashes; missing
// directories on its way are made; neither ".." nor a symbolic link can lead it
// out of dir. An error names the file.
func WriteFile(dir, name string, data []byte) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s cannot be written: %w", filepath.Join(dir, filepath.FromSlash(name)), err)
		}
	}()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.MkdirAll(path.Dir(name), 0o777); err != nil {
		return err
	}
	tmp := path.Join(path.Dir(name), "."+path.Base(name)+"."+rand.Text()[:8]+".tmp")
	if err := writeSynced(root, tmp, data); err != nil {
		return errors.Join(err, ignoreMissing(root.Remove(tmp)))
	}
	if err := root.Rename(tmp, name); err != nil {
		return errors.Join(err, root.Remove(tmp))
	}
	return syncDir(root, path.Dir(name))
}

// WriteJSON is WriteFile of v as indented JSON with a newline at its end.
func WriteJSON(dir, name string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return WriteFile(dir, name, append(b, '\n'))
}

func writeSynced(root *os.Root, name string, data []byte) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// syncDir makes a rename last. Windows has no such call, and needs none.
func syncDir(root *os.Root, dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := root.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
