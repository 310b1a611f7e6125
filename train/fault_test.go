package train

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"ablate/train/metrics"
)

// faulty is a file system whose N-th request for a change fails.
type faulty struct {
	fileSystem
	left int // requests until the failure
	err  error
}

func (f *faulty) fails() error {
	if f.left--; f.left == 0 {
		return f.err
	}
	return nil
}

func (f *faulty) MkdirAll(path string) error {
	return errors.Join(f.fails(), f.fileSystem.MkdirAll(path))
}

func (f *faulty) Create(path string) (syncer, error) {
	if err := f.fails(); err != nil {
		return nil, err
	}
	s, err := f.fileSystem.Create(path)
	return &faultyFile{s, f}, err
}

func (f *faulty) Rename(from, to string) error {
	if err := f.fails(); err != nil {
		return err
	}
	return f.fileSystem.Rename(from, to)
}

func (f *faulty) RemoveAll(path string) error {
	if err := f.fails(); err != nil {
		return err
	}
	return f.fileSystem.RemoveAll(path)
}

func (f *faulty) ReadDir(path string) ([]fs.DirEntry, error) {
	if err := f.fails(); err != nil {
		return nil, err
	}
	return f.fileSystem.ReadDir(path)
}

func (f *faulty) SyncDir(path string) error {
	return errors.Join(f.fails(), f.fileSystem.SyncDir(path))
}

// faultyFile writes half of what it should before it fails.
type faultyFile struct {
	syncer
	fs *faulty
}

func (f *faultyFile) Write(b []byte) (int, error) {
	if err := f.fs.fails(); err != nil {
		n, _ := f.syncer.Write(b[:len(b)/2])
		return n, err
	}
	return f.syncer.Write(b)
}

func (f *faultyFile) Sync() error  { return errors.Join(f.fs.fails(), f.syncer.Sync()) }
func (f *faultyFile) Close() error { return errors.Join(f.syncer.Close(), f.fs.fails()) }

// TestFaultsOfTheFileSystem makes request 1, 2, 3, … of a run fail, until the
// run needs no more of them. Each failure is reported with the path and its
// cause, leaves good checkpoints only, and the run can then be continued to
// the outcome of one that never failed.
func TestFaultsOfTheFileSystem(t *testing.T) {
	t.Parallel()
	want := unbroken(t)
	for n := 1; ; n++ {
		cause := []error{syscall.ENOSPC, syscall.EIO}[n%2]
		d := &runDir{dir: t.TempDir()}
		saved := int64(-1)
		r, err := d.run(t, t.Context(), func(j *Job[float32]) {
			j.Config.CheckpointEvery = 7 // three checkpoints, so that one is rotated away
			j.Checkpoints.disk = &faulty{disk{}, n, cause}
			j.Progress = func(Progress) {
				if steps, err := mustSteps(j.Checkpoints.dir); err == nil && len(steps) > 0 {
					saved = max(saved, steps[len(steps)-1])
				}
			}
		})
		if err == nil {
			if d.outcome(t, r) != want || n < 35 {
				t.Errorf("%d requests without failure, and another outcome", n)
			}
			t.Logf("survived the failure of each of %d requests", n-1)
			return
		}
		e, ok := errors.AsType[*SaveError](err)
		if !errors.Is(err, cause) || !ok || !strings.Contains(e.Path, d.dir) || e.Bytes <= 0 && saved >= 0 {
			t.Fatalf("request %d: %v", n, err)
		}
		c := mustOpen(t, d.dir)
		latest, rejected, err := c.Latest()
		if err != nil || len(rejected) > 0 || saved >= 0 && (latest == nil || latest.Step < saved) {
			t.Fatalf("request %d: saved %d, then %+v, %v, %v", n, saved, latest, rejected, err)
		}
		if r, err = d.run(t, t.Context(), nil); err != nil || d.outcome(t, r) != want {
			t.Fatalf("request %d: the continued run ends %+v, %v", n, r, err)
		}
	}
}

func mustSteps(dir string) ([]int64, error) { return (&Checkpoints{dir: dir, disk: disk{}}).steps() }

func TestOpenReportsFaults(t *testing.T) {
	for n := 1; n <= 2; n++ {
		_, err := openCheckpoints(t.TempDir(), &faulty{disk{}, n, syscall.EIO})
		if e, ok := errors.AsType[*SaveError](err); !ok || !errors.Is(e, syscall.EIO) {
			t.Errorf("request %d: %v", n, err)
		}
	}
}

// TestFailingSink: what a sink reports ends the run, and comes back whole.
func TestFailingSink(t *testing.T) {
	d := &runDir{dir: t.TempDir()}
	_, err := d.run(t, t.Context(), func(j *Job[float32]) { j.Sink = brokenLog{j.Sink.(*metrics.Files), 5} })
	if !errors.Is(err, errBroken) || err.Error() != "step 5: broken" {
		t.Errorf("got %v", err)
	}
}
