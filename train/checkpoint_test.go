package train

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ablate/train/metrics"
)

func mustOpen(t testing.TB, dir string) *Checkpoints {
	t.Helper()
	c, err := OpenCheckpoints(filepath.Join(dir, "checkpoints"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestRotation(t *testing.T) {
	d := &runDir{dir: t.TempDir()}
	if _, err := d.run(t, t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	steps, err := mustOpen(t, d.dir).steps()
	if err != nil || !slices.Equal(steps, []int64{16, 20}) {
		t.Errorf("checkpoints %v are left, want those of steps 16 and 20", steps)
	}
}

func TestOrphansAreRemoved(t *testing.T) {
	d := t.TempDir()
	c := mustOpen(t, d)
	for _, name := range []string{".tmp-step-3", ".tmp-other", "step-7", "notes"} {
		if err := os.MkdirAll(filepath.Join(c.dir, name), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	mustOpen(t, d)
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if want := []string{".tmp-other", "notes", "step-7"}; !slices.Equal(left, want) {
		t.Errorf("left are %v, want %v", left, want)
	}
}

// twoCheckpoints is a directory with good checkpoints of steps 16 and 20.
func twoCheckpoints(t testing.TB) (d *runDir, newest string, content []byte) {
	t.Helper()
	d = &runDir{dir: t.TempDir()}
	if _, err := d.run(t, t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	newest = filepath.Join(d.dir, "checkpoints", "step-20", checkpointFile)
	content, err := os.ReadFile(newest)
	if err != nil {
		t.Fatal(err)
	}
	return d, newest, content
}

// TestDamage truncates the newest checkpoint at every sixteenth of its length,
// then flips bits all over it: Load refuses it, and Latest falls back to the
// one before and says so.
func TestDamage(t *testing.T) {
	t.Parallel()
	d, newest, content := twoCheckpoints(t)
	c := mustOpen(t, d.dir)
	damaged := func(what string, b []byte) {
		t.Helper()
		if err := os.WriteFile(newest, b, 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := Load(filepath.Dir(newest))
		if _, ok := errors.AsType[*CorruptError](err); !ok {
			t.Fatalf("%s: Load gives %v", what, err)
		}
		latest, rejected, err := c.Latest()
		if err != nil || latest == nil || latest.Step != 16 || len(rejected) != 1 {
			t.Fatalf("%s: %+v, %v, %v", what, latest, rejected, err)
		}
	}
	for i := range 16 {
		damaged(fmt.Sprintf("cut at %d/16", i), content[:len(content)*i/16])
	}
	damaged("longer", append(slices.Clone(content), 0))
	for at := 0; at < len(content); at += 7 {
		b := slices.Clone(content)
		b[at] ^= 1 << (at % 8)
		damaged(fmt.Sprintf("a bit of byte %d flipped", at), b)
	}
	r, err := d.run(t, t.Context(), nil)
	if err != nil || len(d.rejected) != 1 || d.outcome(t, r) != unbroken(t) {
		t.Errorf("from the one before: %+v, %v, rejected %v", r, err, d.rejected)
	}
}

func TestNoGoodCheckpoint(t *testing.T) {
	d, newest, _ := twoCheckpoints(t)
	for _, path := range []string{newest, strings.Replace(newest, "step-20", "step-16", 1)} {
		if err := os.WriteFile(path, []byte("x"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	r, err := d.run(t, t.Context(), nil)
	if err != nil || len(d.rejected) != 2 || d.outcome(t, r) != unbroken(t) {
		t.Errorf("%+v, %v, rejected %v; want a run from the beginning", r, err, d.rejected)
	}
}

// TestWithheldCheckpoint: what the system will not give may be good, and is not passed over.
func TestWithheldCheckpoint(t *testing.T) {
	d, newest, content := twoCheckpoints(t)
	if err := os.Remove(newest); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(newest, newest); err != nil { // opens for nobody, not even for root
		t.Skip(err)
	}
	latest, _, err := mustOpen(t, d.dir).Latest()
	if e, ok := errors.AsType[*CorruptError](err); !ok || e.Reason != "cannot be opened" || latest != nil {
		t.Fatalf("the latest is %+v, %v", latest, err)
	}
	if latest, rejected, err := Latest(filepath.Join(d.dir, "checkpoints")); err != nil || latest == nil || latest.Step != 16 || len(rejected) != 1 {
		t.Errorf("to a reader the latest is %+v, %v, %v", latest, rejected, err)
	}
	if err := errors.Join(os.Remove(newest), os.WriteFile(newest, content, 0o666)); err != nil {
		t.Fatal(err)
	}
	r, err := d.run(t, t.Context(), nil)
	if err != nil || len(d.rejected) > 0 || d.outcome(t, r) != unbroken(t) {
		t.Errorf("given again, it ends %+v, %v, rejected %v", r, err, d.rejected)
	}
}

func TestForeignCheckpointIsRefused(t *testing.T) {
	d, _, _ := twoCheckpoints(t)
	files := func() (all []string) {
		for _, name := range []string{metrics.StepsFile, metrics.LayersFile, "checkpoints/step-20/" + checkpointFile} {
			b, err := os.ReadFile(filepath.Join(d.dir, name))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, string(b))
		}
		return all
	}
	before := files()
	for _, c := range []struct {
		want   string
		change func(*Job[float32])
	}{
		{"model.layers: 3 in the checkpoint, 4 here", func(j *Job[float32]) { j.Identity["model.layers"] = "4" }},
		{"data.hash: abc in the checkpoint, nothing here", func(j *Job[float32]) { delete(j.Identity, "data.hash") }},
		{"salt: nothing in the checkpoint, x here", func(j *Job[float32]) { j.Identity["salt"] = "x" }},
		{"optimizer: adamw with [weights m v] in the checkpoint, sgd with [weights u] here", func(j *Job[float32]) { j.Config.Optimizer = "sgd" }},
		{"records: it continues", func(j *Job[float32]) {
			f, err := metrics.OpenFiles(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { f.Close() })
			j.Sink = f
		}},
	} {
		_, err := d.run(t, t.Context(), func(j *Job[float32]) {
			j.Identity = maps.Clone(j.Identity)
			c.change(j)
		})
		if _, ok := errors.AsType[*MismatchError](err); !ok || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
		if !slices.Equal(files(), before) {
			t.Fatalf("%s: something was destroyed", c.want)
		}
	}
	latest, _, err := mustOpen(t, d.dir).Latest()
	if err != nil {
		t.Fatal(err)
	}
	wide := newTestModel[float64](t, 1, 1, 1)
	if err := Restore(latest, wide.Params); err == nil || !strings.Contains(err.Error(), "elements are float32 in the checkpoint, float64 here") {
		t.Errorf("float32 into float64: %v", err)
	}
}

func TestRestoreGivesTheWeights(t *testing.T) {
	d, _, _ := twoCheckpoints(t)
	r, err := d.run(t, t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Load(r.Checkpoint)
	if err != nil {
		t.Fatal(err)
	}
	m := newTestModel[float32](t, 1, 1, 1)
	if err := Restore(c, m.Params); err != nil || WeightsSHA256(m.Params) != r.WeightsSHA256 {
		t.Errorf("other weights, %v", err)
	}
}

func TestFitsListsDifferences(t *testing.T) {
	c := &Checkpoint{Dtype: "float32", Params: []ParamShape{{"a", []int{2}}, {"b", []int{3}}, {"c", []int{4}}}}
	err := c.fits("float32", []ParamShape{{"a", []int{2}}, {"b", []int{4}}, {"d", []int{1}}})
	e, ok := errors.AsType[*MismatchError](err)
	want := []string{"b is [3] in the checkpoint, [4] here", "d [1] is not in the checkpoint", "c [4] is only in the checkpoint"}
	if !ok || !slices.Equal(e.Differences, want) {
		t.Errorf("got %v, want %v", err, want)
	}
	if err := c.fits("float32", []ParamShape{{"b", []int{3}}, {"a", []int{2}}, {"c", []int{4}}}); err == nil {
		t.Error("another order fits")
	}
}

// FuzzCheckpoint: the reader never crashes and takes no more memory than the
// file has bytes.
func FuzzCheckpoint(f *testing.F) {
	_, _, content := twoCheckpoints(f)
	f.Add(content)
	f.Add(content[:prefixLen])
	f.Add([]byte(checkpointMagic))
	f.Add([]byte{})
	for _, header := range []string{`{}`, `null`, `{"dtype":"float32","params":[{"name":"a","shape":[1]}],"sections":[{"name":"weights","bytes":4,"sha256":"df3f619804a92fdb4057192dc43dd748ea778adc52bc498ce80524c014b81119"}]}`,
		`{"dtype":"float64","params":[{"name":"a","shape":[9223372036854775807,9223372036854775807]}],"sections":[{"name":"weights","bytes":-8}]}`} {
		f.Add(append(seal([]byte(header)), 0, 0, 0, 0))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := parseCheckpoint(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		n := 0
		for _, v := range c.vectors {
			n += len(v)
		}
		if n > len(b) {
			t.Errorf("%d bytes of vectors out of %d", n, len(b))
		}
	})
}

// FuzzCheckpointHeader mutates what the checksum of the header protects.
func FuzzCheckpointHeader(f *testing.F) {
	_, _, content := twoCheckpoints(f)
	length := int(content[12]) | int(content[13])<<8
	f.Add(content[prefixLen:prefixLen+length], content[prefixLen+length:])
	f.Add([]byte(`{"step":-1,"dtype":"float32","sections":[{"name":"weights"}]}`), []byte{})
	f.Fuzz(func(t *testing.T, header, rest []byte) {
		b := append(seal(header), rest...)
		c, err := parseCheckpoint(bytes.NewReader(b), int64(len(b)))
		if err == nil && len(c.Sections) != len(c.vectors) {
			t.Errorf("%d sections, %d vectors", len(c.Sections), len(c.vectors))
		}
	})
}
