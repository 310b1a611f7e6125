package sweep

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ablate/data"
	"ablate/experiments/config"
	"ablate/experiments/results"
)

// Plan is every cell of an experiment, ready to run.
type Plan struct {
	Experiment *Experiment
	Cells      []*Cell
}

// Cell is what is trained once.
type Cell struct {
	Index  int
	Values []any  // one for each axis, as written
	Label  string // the axes with their values; "" without axes
	Config Config // complete
	ID     string // the first twelve digits of Hash
	Hash   string // identity: SHA-256 of everything that has a part in the numbers
	Size   Size
	Match  *Matched // nil where nothing was matched

	corpus *data.Corpus
	from   *origin // another run that it goes on from; nil for none, or for one found when it runs
}

// Seed is the seed of the cell's arm.
func (c *Cell) Seed() int64 { return int64(c.Config.Seed.Init) }

// Plan expands an experiment to which a profile was applied: it decodes every arm,
// opens the corpora, resolves and matches the models, and gives each cell its
// identity. Everything that is wrong with the configuration is reported at once, as
// a *config.Error; a corpus that cannot be used as a *data.Error.
func (e *Experiment) Plan(corpora *Corpora) (*Plan, error) {
	arms, err := e.arms()
	if err != nil {
		return nil, err
	}
	if err := decode(arms); err != nil {
		return nil, err
	}
	if err := resolve(arms, corpora); err != nil {
		return nil, err
	}
	if err := e.match(arms); err != nil {
		return nil, err
	}
	plan := &Plan{Experiment: e}
	if err := measureAll(arms); err != nil {
		return nil, err
	}
	for _, a := range arms {
		for _, seed := range e.Seeds {
			plan.Cells = append(plan.Cells, a.cell(len(plan.Cells), uint64(seed)))
		}
	}
	return plan, e.distinct(plan.Cells)
}

// Single plans the one run that layers of a configuration describe, the last layer on
// top: an experiment without axes and with one seed. Its cell has the identity that
// the same configuration has in any experiment.
func Single(layers ...*config.Tree) (*Plan, error) {
	cfg, err := Decode(layers...)
	if err != nil {
		return nil, err
	}
	base := config.Merge(layers...)
	base.Delete("name")
	base.Delete("seed")
	e := &Experiment{Name: cfg.Name, Base: base, Seeds: []int64{int64(cfg.Seed.Init)}}
	p, err := e.Plan(new(Corpora))
	if err != nil {
		return nil, err
	}
	p.Cells[0].reseed(cfg.Seed) // those of initial values and data may differ here
	return p, nil
}

// resolve opens the corpora and replaces what is automatic in the models.
func resolve(arms []*arm, corpora *Corpora) error {
	var all problems
	for _, a := range arms {
		var err error
		if a.corpus, err = corpora.Open(a.config.Data, a.config.Model.Context); err != nil {
			return err
		}
		resolved, err := a.config.Resolve(a.corpus)
		if err != nil {
			a.complain(&all, err)
			continue
		}
		a.config = resolved
	}
	return all.err()
}

// measureAll takes the sizes of all models.
func measureAll(arms []*arm) error {
	var all problems
	for _, a := range arms {
		var err error
		if a.size, err = measure(a.config); err != nil {
			a.complain(&all, err)
		}
	}
	return all.err()
}

// complain records what a model says about itself, at the key that each message
// starts with; what is about its training starts with train.
func (a *arm) complain(all *problems, err error) {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		for _, e := range joined.Unwrap() {
			a.complain(all, e)
		}
		return
	}
	path, msg := "model", strings.TrimPrefix(err.Error(), "model: ")
	if key, rest, ok := strings.Cut(msg, ": "); ok && !strings.Contains(key, " ") {
		if path, msg = path+"."+key, rest; strings.HasPrefix(key, "train.") {
			path = key
		}
	}
	if a.label != "" {
		msg += fmt.Sprintf(" (with %s)", a.label)
	}
	all.at(a.tree, path, "%s", msg)
}

// cell gives the arm a seed.
func (a *arm) cell(index int, seed uint64) *Cell {
	c := &Cell{Index: index, Label: a.label, Config: a.config, Size: a.size, Match: a.matched, corpus: a.corpus}
	for _, v := range a.values {
		c.Values = append(c.Values, v.Value())
	}
	c.reseed(Seed{Init: seed, Data: seed})
	return c
}

// reseed gives the cell another seed, and so another identity.
func (c *Cell) reseed(s Seed) {
	c.Config.Seed = s
	c.Hash = c.identity()
	c.ID = c.Hash[:idLength]
}

// distinct refuses cells of one identity: some axis silently does nothing.
func (e *Experiment) distinct(cells []*Cell) error {
	var all problems
	seen := map[string]*Cell{}
	for _, c := range cells {
		first, twice := seen[c.ID]
		if !twice {
			seen[c.ID] = c
			continue
		}
		p := config.Problem{Path: "axes", Msg: fmt.Sprintf(
			"cells %d (%s) and %d (%s) are the same run %s: what differs between them changes neither the model nor the data nor the training",
			first.Index, first.Label, c.Index, c.Label, c.ID)}
		for i, a := range e.Axes {
			if results.Label(first.Values[i]) != results.Label(c.Values[i]) {
				p.Pos, p.Path = a.Pos, "axes."+a.Key
				break
			}
		}
		all.list = append(all.list, p)
	}
	return all.err()
}

// Dropped counts the cells that a directory's experiment has run so far and the plan has not: their files stay, and
// its tables and figures are without them.
func (p *Plan) Dropped(dir string) (n int) {
	b, err := os.ReadFile(filepath.Join(dir, results.CellsFile))
	if err != nil {
		return 0
	}
	before, err := results.ParseCells(b)
	if err != nil {
		return 0
	}
	for _, old := range before.Cells {
		_, err := os.Stat(filepath.Join(dir, filepath.FromSlash(results.CellDir(old.ID))))
		if err == nil && !slices.ContainsFunc(p.Cells, func(c *Cell) bool { return c.ID == old.ID }) {
			n++
		}
	}
	return n
}

// table is the plan as cells.json holds it.
func (p *Plan) table() *results.Cells {
	t := &results.Cells{Format: results.Format, Name: p.Experiment.Name}
	if slices.Contains(Profiles, p.Experiment.Profile) {
		t.Profile = p.Experiment.Profile
	}
	for _, a := range p.Experiment.Axes {
		t.Axes = append(t.Axes, a.Key)
	}
	for _, c := range p.Cells {
		values := c.Values
		if values == nil {
			values = []any{}
		}
		t.Cells = append(t.Cells, results.Cell{Index: c.Index, ID: c.ID, Values: values, Seed: c.Seed(), ConfigHash: c.Hash,
			Params: c.Size.Params, Status: results.Pending})
	}
	return t
}
