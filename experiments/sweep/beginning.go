package sweep

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"ablate/experiments/config"
	"ablate/experiments/results"
	"ablate/ops/kernel"
	"ablate/train"
)

// A beginning is where a session of a run starts, with what its manifest says of it.
type beginning struct {
	from      *train.Checkpoint // nil: at initial values
	continues any               // another run, as its origin's manifest names it; nil if there is none
	resumed   []any             // earlier sessions' resumptions, and this one's
}

// resumption is one entry of a manifest's list of resumptions.
type resumption struct {
	Step       int64             `json:"step"`
	Checkpoint string            `json:"checkpoint"`
	Changed    map[string]string `json:"changed,omitempty"` // keys without a part in the numbers: "10 → 5"
	Kernels    string            `json:"kernels,omitempty"` // where others made the checkpoint, whose last bits differ: "avx2 → avx512"
}

// beginning finds where a run starts, and puts its records there.
func (o Options) beginning(c *Cell, run string, checkpoints *train.Checkpoints) (*beginning, error) {
	path, named := o.Resume.path()
	switch {
	case o.Resume == ResumeNever, o.Force && !named:
		return new(beginning), nil
	case named && c.from == nil:
		from, err := train.Load(path)
		if err != nil {
			return nil, err
		}
		return o.resume(c, run, from), nil
	}
	if !o.Force {
		latest, rejected, err := checkpoints.Latest()
		for _, r := range rejected {
			o.Progress.Note(c, fmt.Sprintf("passed over: %v", r))
		}
		if err != nil || latest != nil {
			return o.resume(c, run, latest), err
		}
	}
	from := c.from
	if from == nil {
		from = c.findOrigin(run)
	}
	if from == nil {
		return new(beginning), nil
	}
	o.Progress.Note(c, fmt.Sprintf("continues run %s at step %d", filepath.Base(from.run), from.checkpoint.Step))
	own, err := c.adopt(from, run)
	continues := from.manifest()
	if other := o.otherKernels(c, from.checkpoint); other != "" {
		continues["kernels"] = other
	}
	return &beginning{from: own, continues: continues}, err
}

// resume continues a run of the cell's own, and adds to the history in its manifest.
func (o Options) resume(c *Cell, run string, from *train.Checkpoint) *beginning {
	if from == nil {
		return new(beginning)
	}
	var old struct {
		Continues any   `json:"continues"`
		Resumed   []any `json:"resumed"`
	}
	if text, err := os.ReadFile(filepath.Join(run, results.ManifestFile)); err == nil && json.Unmarshal(text, &old) != nil {
		old.Resumed = nil // of an unreadable manifest nothing is kept
	}
	now := resumption{Step: from.Step, Checkpoint: from.Path, Changed: c.changed(run), Kernels: o.otherKernels(c, from)}
	return &beginning{from: from, continues: old.Continues, resumed: append(old.Resumed, now)}
}

// otherKernels names the kernels that made a checkpoint and those that go on from it, and says so to people; ""
// where they are the same, or those of the checkpoint not known.
func (o Options) otherKernels(c *Cell, from *train.Checkpoint) string {
	if from.Kernels == "" || from.Kernels == kernel.Path() {
		return ""
	}
	o.Progress.Note(c, fmt.Sprintf("trained with %s kernels up to step %d, with %s from there: the bytes will be those of neither", from.Kernels, from.Step, kernel.Path()))
	return from.Kernels + " → " + kernel.Path()
}

// changed lists in what the configuration differs from the one in the directory of
// the run: in keys that have no part in the numbers, since the identity is the same.
func (c *Cell) changed(run string) map[string]string {
	text, err := os.ReadFile(filepath.Join(run, results.ConfigFile))
	if err != nil {
		return nil
	}
	tree, err := config.ParseFile(results.ConfigFile, text)
	if err != nil {
		return nil
	}
	out := map[string]string{}
	before, now := flatten(tree), flatten(config.Encode(c.Config))
	for _, key := range slices.Sorted(maps.Keys(now)) {
		if old, known := before[key]; known && old != now[key] {
			out[key] = old + " → " + now[key]
		}
	}
	return out
}
