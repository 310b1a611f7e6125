package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"ablate/train/metrics"
)

// DepthAxis is the axis over which figures draw a line instead of dots.
const DepthAxis = "model.layers"

// Experiment is what a run directory holds. A single run is an experiment of
// one arm with one run and no axes.
type Experiment struct {
	Dir      string // as given to Load
	Name     string
	Question string
	Paper    string
	Expect   string
	Show     []string // figures the experiment asks for; empty: all that apply
	Profile  string   // as in Cells
	Axes     []string
	Arms     []*Arm // in the order of their first cells
}

// Arm is the runs that differ in nothing but the seed.
type Arm struct {
	Values []any    // one for each axis
	Labels []string // Label of each
	Names  []string // the same with the axis' name where the label does not speak for itself: "lr 0.001"
	Runs   []*Run
}

// Run is one trained model. Summary is nil until it has ended.
type Run struct {
	Cell
	Summary  *metrics.Summary
	Manifest map[string]any // nil where there is none

	root string // directory that nothing is read from outside of
	dir  string // relative to root

	curves *Curves // read when first asked for
	probes *Probes
}

// Load reads the directory of an experiment, or of a single run. Missing files
// are cells that have not come that far; files that cannot be understood are
// errors. Metrics are not read until they are asked for.
func Load(dir string) (*Experiment, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	e := &Experiment{Dir: dir, Name: defaultName(dir)}
	if err := e.readExperiment(root); err != nil {
		return nil, err
	}
	if err := e.readCells(root); err != nil {
		return nil, err
	}
	for _, a := range e.Arms {
		for _, r := range a.Runs {
			if err := r.read(root); err != nil {
				return nil, err
			}
		}
	}
	return e, nil
}

// defaultName is the last element of the directory's path.
func defaultName(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return Printable(filepath.Base(dir))
}

// readExperiment takes from experiment.yaml what a report says about it. The
// file was checked, strictly, before anything ran; other keys are not looked at.
func (e *Experiment) readExperiment(root *os.Root) error {
	b, err := root.ReadFile(ExperimentFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var y struct {
		Name, Question, Paper, Expect string
		Show                          []string
	}
	if err := yaml.Unmarshal(b, &y); err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(e.Dir, ExperimentFile), err)
	}
	if y.Name != "" {
		e.Name = Printable(y.Name)
	}
	e.Question, e.Paper, e.Expect = Printable(y.Question), Printable(y.Paper), Printable(y.Expect)
	e.Show = y.Show
	return nil
}

// NothingError is a directory that is nobody's run.
type NothingError struct{ Dir string }

func (e *NothingError) Error() string {
	return fmt.Sprintf("%s holds neither an experiment (%s) nor a run (%s)", e.Dir, CellsFile, metrics.StepsFile)
}

// readCells fills Axes and Arms from cells.json, or from what runs there are.
func (e *Experiment) readCells(root *os.Root) error {
	b, err := root.ReadFile(CellsFile)
	switch {
	case err == nil:
		c, err := ParseCells(b)
		if err != nil {
			return fmt.Errorf("%s: %w", e.Dir, err)
		}
		e.Axes, e.Profile = c.Axes, Printable(c.Profile)
		for _, cell := range c.Cells {
			e.add(cell, CellDir(cell.ID))
		}
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	for _, name := range []string{SummaryFile, metrics.StepsFile, ManifestFile} {
		if _, err := root.Stat(name); err == nil {
			e.add(Cell{}, ".")
			return nil
		}
	}
	ids, err := listIDs(root)
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		return &NothingError{e.Dir}
	}
	e.Axes = []string{"run"}
	for i, id := range ids {
		e.add(Cell{Index: i, ID: id, Values: []any{id}}, CellDir(id))
	}
	return nil
}

// listIDs returns the identities under cells/, sorted.
func listIDs(root *os.Root) (ids []string, err error) {
	entries, err := fs.ReadDir(root.FS(), CellsDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, entry := range entries { // sorted by ReadDir
		if entry.IsDir() && ValidID(entry.Name()) {
			ids = append(ids, entry.Name())
		}
	}
	return ids, err
}

// add puts a cell into its arm.
func (e *Experiment) add(c Cell, dir string) {
	labels, names := make([]string, len(c.Values)), make([]string, len(c.Values))
	for i, v := range c.Values {
		labels[i], names[i] = Label(v), nameOf(e.Axes[i], v)
	}
	i := slices.IndexFunc(e.Arms, func(a *Arm) bool { return reflect.DeepEqual(a.Values, c.Values) })
	if i < 0 {
		i = len(e.Arms)
		e.Arms = append(e.Arms, &Arm{Values: c.Values, Labels: labels, Names: names})
	}
	a := e.Arms[i]
	a.Runs = append(a.Runs, &Run{Cell: c, root: e.Dir, dir: dir})
}

// read fills in the summary and the manifest. The summary is the truth about
// how a run ended; cells.json may be older.
func (r *Run) read(root *os.Root) error {
	var s metrics.Summary
	ok, err := readJSON(root, path.Join(r.dir, SummaryFile), &s)
	if err != nil {
		return err
	}
	if ok {
		r.Summary, r.Status, r.Params = &s, s.Status, s.Params
		if r.ID == "" && ValidID(s.ID) {
			r.ID = s.ID
		}
	}
	if r.Status == "" {
		r.Status = Pending
	}
	_, err = readJSON(root, path.Join(r.dir, ManifestFile), &r.Manifest)
	return err
}

// readJSON decodes a file, and reports whether there was one.
func readJSON(root *os.Root, name string, v any) (bool, error) {
	b, err := root.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		d := json.NewDecoder(strings.NewReader(string(b)))
		d.UseNumber()
		err = d.Decode(v)
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w", filepath.Join(root.Name(), filepath.FromSlash(name)), err)
	}
	return true, nil
}

// open opens a file of the run, without a way out of the experiment's directory.
func (r *Run) open(name string) (io.ReadCloser, error) {
	return os.OpenInRoot(r.root, filepath.Join(filepath.FromSlash(r.dir), name))
}

// Finished reports whether the run ended by itself with a finite validation
// loss: only such runs enter a mean.
func (r *Run) Finished() bool {
	return r.Summary != nil && r.Status == metrics.Done && r.Summary.ValLoss.Finite()
}

// Name is the arm's values in one line; "" for an experiment without axes.
func (a *Arm) Name() string { return strings.Join(a.Names, " · ") }

// Finished returns how many runs of the arm have finished.
func (a *Arm) Finished() (n int) {
	for _, r := range a.Runs {
		if r.Finished() {
			n++
		}
	}
	return n
}

// Finite returns, by seed, one number of the summaries of the runs that finished,
// where it is finite.
func (a *Arm) Finite(of func(*metrics.Summary) metrics.Value) map[int64]float64 {
	bySeed := map[int64]float64{}
	for _, r := range a.Runs {
		if r.Finished() && of(r.Summary).Finite() {
			bySeed[r.Seed] = of(r.Summary).Float()
		}
	}
	return bySeed
}

// Count returns how many runs of the arm have a status.
func (a *Arm) Count(s metrics.Status) (n int) {
	for _, r := range a.Runs {
		if r.Status == s {
			n++
		}
	}
	return n
}
