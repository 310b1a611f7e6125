package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"ablate/train/metrics"
)

// Format is the version of cells.json.
const Format = 1

// Pending is the status of a cell that has not been run to an end.
const Pending metrics.Status = "pending"

// Cells is cells.json: every cell of an experiment in the order in which they
// were expanded, which is the order of every table and figure.
type Cells struct {
	Format  int      `json:"format"`
	Name    string   `json:"name"`
	Profile string   `json:"profile,omitempty"` // quick or full, where the experiment tells them apart
	Axes    []string `json:"axes"`              // keys, "model.placement"; seeds are no axis
	Cells   []Cell   `json:"cells"`
}

// QuickNote says to readers of the results what they are of.
const QuickNote = "quick profile: fewer, smaller or shorter runs than the experiment asks for; all of it: --profile full"

// Quick reports whether the results are those of the quick profile.
func (e *Experiment) Quick() bool { return e.Profile == "quick" }

// Cell is one run of an experiment. Cells with equal Values are one arm and
// differ in the seed.
type Cell struct {
	Index      int            `json:"index"`
	ID         string         `json:"id"`
	Values     []any          `json:"values"` // one for each axis: a scalar, or the object or list given in the YAML
	Seed       int64          `json:"seed"`
	ConfigHash string         `json:"config_hash"`
	Params     int64          `json:"params"` // 0 until the model has been built
	Status     metrics.Status `json:"status"`
}

// Check returns everything that is wrong with the cells.
func (c *Cells) Check() error {
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.Format != Format {
		fault("format %d; this build reads %d", c.Format, Format)
	}
	known := []metrics.Status{Pending, metrics.Done, metrics.Diverged, metrics.Interrupted, metrics.Failed}
	seen := map[string]int{}
	for i, cell := range c.Cells {
		if cell.Index != i {
			fault("cell %d has index %d", i, cell.Index)
		}
		if !ValidID(cell.ID) {
			fault("cell %d: id %q is not 12 hexadecimal digits", i, cell.ID)
		} else if first, dup := seen[cell.ID]; dup {
			fault("cells %d and %d have the same id %s", first, i, cell.ID)
		} else {
			seen[cell.ID] = i
		}
		if len(cell.Values) != len(c.Axes) {
			fault("cell %d has %d values for %d axes", i, len(cell.Values), len(c.Axes))
		}
		if !slices.Contains(known, cell.Status) {
			fault("cell %d: status %q is none of %v", i, cell.Status, known)
		}
	}
	return errors.Join(errs...)
}

// Write checks the cells and writes them to the directory of the experiment.
func (c *Cells) Write(dir string) error {
	if err := c.Check(); err != nil {
		return fmt.Errorf("%s: %w", CellsFile, err)
	}
	return WriteJSON(dir, CellsFile, c)
}

// ParseCells reads a cells.json. Numbers among the values come as json.Number,
// so that they are shown as they were written.
func ParseCells(b []byte) (*Cells, error) {
	c := new(Cells)
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(c); err != nil {
		return nil, fmt.Errorf("%s: %w", CellsFile, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("%s: something follows the JSON object", CellsFile)
	}
	if err := c.Check(); err != nil {
		return nil, fmt.Errorf("%s: %w", CellsFile, err)
	}
	return c, nil
}
