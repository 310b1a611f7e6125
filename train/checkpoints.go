package train

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	stepPrefix = "step-"
	// temporaryPrefix starts the names of what is being written or removed;
	// whatever has it may be deleted by whoever owns the directory.
	temporaryPrefix = ".tmp-"
	// keep is the number of checkpoints that rotation leaves: the newest, and
	// one to fall back to.
	keep = 2
)

// Checkpoints is the directory of a run's checkpoints, one directory step-N
// each. A checkpoint appears in it complete or not at all. Only one process
// may use it at a time.
type Checkpoints struct {
	dir  string
	disk fileSystem
	w    *bufio.Writer // one for all of them, so that they leave no garbage; nil before the first
}

// OpenCheckpoints makes the directory if there is none, and removes what
// writers that died have left behind.
func OpenCheckpoints(dir string) (*Checkpoints, error) { return openCheckpoints(dir, disk{}) }

func openCheckpoints(dir string, fs fileSystem) (*Checkpoints, error) {
	c := &Checkpoints{dir: dir, disk: fs}
	if err := fs.MkdirAll(dir); err != nil {
		return nil, &SaveError{dir, 0, err}
	}
	entries, err := fs.ReadDir(dir)
	if err != nil {
		return nil, &SaveError{dir, 0, err}
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), temporaryPrefix+stepPrefix) {
			if err := fs.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				return nil, &SaveError{dir, 0, err}
			}
		}
	}
	return c, nil
}

// Latest reads the newest good checkpoint in a directory that another process
// may be writing to, and changes nothing there: see Checkpoints.Latest. One
// that cannot be read at the moment is rejected like any other.
func Latest(dir string) (latest *Checkpoint, rejected []error, err error) {
	return (&Checkpoints{dir: dir, disk: disk{}}).latest(func(*CorruptError) bool { return false })
}

// Latest reads the newest good checkpoint; nil if there is none. rejected
// tells of newer ones that cannot be used, newest first: whoever continues
// from an older one should say so. One that cannot be read at the moment is
// an error, since to continue without it would destroy it.
func (c *Checkpoints) Latest() (latest *Checkpoint, rejected []error, err error) {
	return c.latest((*CorruptError).withheld)
}

func (c *Checkpoints) latest(fatal func(*CorruptError) bool) (latest *Checkpoint, rejected []error, err error) {
	steps, err := c.steps()
	if err != nil {
		return nil, nil, err
	}
	for _, step := range slices.Backward(steps) {
		latest, err := Load(c.path(step))
		if err == nil && latest.Step != step {
			err = &CorruptError{Path: latest.Path, Reason: fmt.Sprintf("it holds step %d", latest.Step)}
		}
		if err == nil {
			return latest, rejected, nil
		}
		if e, ok := errors.AsType[*CorruptError](err); ok && fatal(e) {
			return nil, rejected, err
		}
		rejected = append(rejected, err)
	}
	return nil, rejected, nil
}

// Saved lists the checkpoints in a directory that another process may be
// using, newest first. Nothing is read of them; there may be none any more
// when they are.
func Saved(dir string) (paths []string) {
	c := Checkpoints{dir: dir, disk: disk{}}
	steps, err := c.steps()
	if err != nil {
		return nil
	}
	for _, step := range slices.Backward(steps) {
		paths = append(paths, c.path(step))
	}
	return paths
}

func (c *Checkpoints) path(step int64) string {
	return filepath.Join(c.dir, stepPrefix+strconv.FormatInt(step, 10))
}

// steps lists the checkpoints by number, oldest first.
func (c *Checkpoints) steps() ([]int64, error) {
	entries, err := c.disk.ReadDir(c.dir)
	if err != nil {
		return nil, fmt.Errorf("checkpoints: %w", err)
	}
	var steps []int64
	for _, e := range entries {
		digits, ok := strings.CutPrefix(e.Name(), stepPrefix)
		step, err := strconv.ParseInt(digits, 10, 64)
		if ok && err == nil && step >= 0 && strconv.FormatInt(step, 10) == digits {
			steps = append(steps, step)
		}
	}
	slices.SortFunc(steps, cmp.Compare[int64])
	return steps, nil
}

// save writes a checkpoint and then lets go of the older ones. An error is a
// *SaveError, and all earlier checkpoints are there still.
func (c *Checkpoints) save(state *Checkpoint, vectors []vector) error {
	path := c.path(state.Step)
	if c.w == nil {
		c.w = bufio.NewWriterSize(nil, bufferBytes)
	}
	head, size, err := state.head(vectors, c.w)
	if err == nil {
		tmp := c.temporary(state.Step)
		if err = c.write(tmp, head, vectors); err == nil {
			err = c.publish(tmp, path)
		}
		if err != nil {
			c.disk.RemoveAll(tmp) // as well as can be; opening the directory tries again
		}
	}
	if err == nil {
		err = c.rotate(state.Step)
	}
	if err != nil {
		return &SaveError{path, size, err}
	}
	return nil
}

// temporary is the name of a checkpoint before it is whole, and after it has
// been given up.
func (c *Checkpoints) temporary(step int64) string {
	return filepath.Join(c.dir, temporaryPrefix+stepPrefix+strconv.FormatInt(step, 10))
}

// write makes a complete checkpoint under a temporary name, and waits until it
// is on disk.
func (c *Checkpoints) write(tmp string, head []byte, vectors []vector) (err error) {
	failpoint(pointBegin)
	if err := c.disk.RemoveAll(tmp); err != nil {
		return err
	}
	if err := c.disk.MkdirAll(tmp); err != nil {
		return err
	}
	f, err := c.disk.Create(filepath.Join(tmp, checkpointFile))
	if err != nil {
		return err
	}
	c.w.Reset(f)
	if err := writeAll(c.w, head, vectors); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := c.disk.SyncDir(tmp); err != nil {
		return err
	}
	failpoint(pointSynced)
	return nil
}

func writeAll(w *bufio.Writer, head []byte, vectors []vector) error {
	if _, err := w.Write(head); err != nil {
		return err
	}
	for _, v := range vectors {
		if err := v.write(w); err != nil {
			return err
		}
		if err := w.Flush(); err != nil {
			return err
		}
		failpoint(pointHalf)
	}
	return nil
}

// publish gives a checkpoint its name. There is none of that name: a run
// starts by discarding what it is going to write. The directory above is
// synced too, since the names of the records and of c's own directory may be
// as new.
func (c *Checkpoints) publish(tmp, path string) error {
	if err := c.disk.Rename(tmp, path); err != nil {
		return err
	}
	failpoint(pointRenamed)
	if err := c.disk.SyncDir(c.dir); err != nil {
		return err
	}
	return c.disk.SyncDir(filepath.Dir(c.dir))
}

// rotate removes all but the newest checkpoints up to a step, and any beyond
// it.
func (c *Checkpoints) rotate(step int64) error {
	failpoint(pointRotate)
	steps, err := c.steps()
	if err != nil {
		return err
	}
	i, _ := slices.BinarySearch(steps, step+1)
	old := append(slices.Clone(steps[:max(0, i-keep)]), steps[i:]...)
	return c.remove(old)
}

// discard removes the checkpoints of steps greater than step: a run that
// continues from there, or starts anew (step −1), is going to write its own.
// An error is a *SaveError.
func (c *Checkpoints) discard(step int64) error {
	steps, err := c.steps()
	if err == nil {
		i, _ := slices.BinarySearch(steps, step+1)
		err = c.remove(steps[i:])
	}
	if err != nil {
		return &SaveError{c.dir, 0, err}
	}
	return nil
}

// remove takes names away before bytes, so that nothing half removed is ever
// found under the name of a checkpoint.
func (c *Checkpoints) remove(steps []int64) error {
	for _, step := range steps {
		tmp := c.temporary(step)
		if err := errors.Join(c.disk.RemoveAll(tmp), c.disk.Rename(c.path(step), tmp)); err != nil {
			return err
		}
		failpoint(pointRotated)
		if err := c.disk.RemoveAll(tmp); err != nil {
			return err
		}
	}
	return nil
}
