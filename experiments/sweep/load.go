package sweep

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ablate/data"
	"ablate/experiments/config"
	"ablate/experiments/results"
	"ablate/graph"
	"ablate/nn"
	"ablate/train"
)

// Loaded is a trained model: the weights of a checkpoint, and what they are of.
type Loaded struct {
	Dir      string // of the run
	Config   Config // resolved, with what was laid over it
	Model    *nn.Model
	Params   *graph.Params[float32]
	Step     int64   // updates made
	Rejected []error // newer checkpoints that cannot be used

	dataHash string // of the corpus that it was trained on
}

// Load reads the configuration of a run and the newest good checkpoint; the run may
// be under way. dir is that of the run, or of an experiment with one. over is laid
// over the configuration: it may change how positions are encoded, for contexts
// beyond those of training, or where the data are, but not the shape of a parameter.
func Load(dir string, over ...*config.Tree) (*Loaded, error) {
	dir, err := runDir(dir)
	if err != nil {
		return nil, err
	}
	l := &Loaded{Dir: dir}
	if err := l.readConfig(over); err != nil {
		return nil, err
	}
	if l.Model, err = nn.New(l.Config.Model); err != nil {
		return nil, err
	}
	return l, l.restore()
}

// runDir finds the directory of the run.
func runDir(dir string) (string, error) {
	isRun := func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, results.ConfigFile))
		return err == nil
	}
	if isRun(dir) {
		return dir, nil
	}
	entries, err := os.ReadDir(filepath.Join(dir, results.CellsDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	var found []string
	for _, e := range entries {
		cell := filepath.Join(dir, results.CellsDir, e.Name())
		if results.ValidID(e.Name()) && isRun(cell) {
			found = append(found, cell)
		}
	}
	switch len(found) {
	case 0:
		return "", usage("%s: no run is here: neither a %s nor a run below %s", dir, results.ConfigFile, results.CellsDir)
	case 1:
		return found[0], nil
	}
	return "", usage("%s: %d runs are here; name one, such as %s", dir, len(found), found[0])
}

// usage is an error of what was asked for.
func usage(format string, args ...any) error {
	return config.ErrorOf([]config.Problem{{Msg: fmt.Sprintf(format, args...)}})
}

func (l *Loaded) readConfig(over []*config.Tree) error {
	path := filepath.Join(l.Dir, results.ConfigFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	base, err := config.ParseFile(path, text)
	if err != nil {
		return err
	}
	if l.Config, err = Decode(append([]*config.Tree{base}, over...)...); err != nil {
		return err
	}
	l.Config.Model, err = l.Config.Model.Resolve(0)
	if err != nil {
		return usage("%s: model: %v", path, err)
	}
	return nil
}

// restore reads the weights.
func (l *Loaded) restore() error {
	dir := filepath.Join(l.Dir, results.CheckpointsDir)
	c, rejected, err := train.Latest(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if c == nil {
		return &train.CorruptError{Path: dir, Reason: "there is no checkpoint that can be used", Err: errors.Join(rejected...)}
	}
	g, err := l.Model.Eval(graph.Float32, 1, 1) // for its parameters
	if err != nil {
		return err
	}
	l.Params, l.Step, l.Rejected = graph.NewParams[float32](g), c.Step, rejected
	l.dataHash = strings.Trim(c.Identity["data_hash"], `"`)
	return train.Restore(c, l.Params)
}

// Corpus opens the data, split as they were for training. changed says that the
// source is not the one that the model was trained on.
func (l *Loaded) Corpus() (c *data.Corpus, changed bool, err error) {
	c, err = openCorpus(l.Config.Data, l.Config.Model.Context)
	if err != nil {
		return nil, false, err
	}
	if c.Vocab > int(l.Config.Model.Vocab) {
		return nil, false, usage("data: a vocabulary of %d, the model knows %d tokens", c.Vocab, l.Config.Model.Vocab)
	}
	return c, l.dataHash != "" && c.Hash != l.dataHash, nil
}

// Eval compiles the evaluation of sequences of context tokens, a batch of them at a
// time. One that this machine cannot hold is refused with a *Resources.
func (l *Loaded) Eval(team *graph.Team, batch, context int) (*graph.Program, error) {
	g, err := l.Model.Eval(graph.Float32, batch, context)
	if err != nil {
		return nil, usage("a context of %d: %v", context, err)
	}
	if err := fits(g, team); err != nil {
		return nil, err
	}
	return graph.Compile(g, l.Params, team)
}

// fits refuses a graph whose values this machine cannot hold.
func fits(g *graph.Graph, team *graph.Team) error {
	p, err := graph.NewPlan(g)
	if err != nil {
		return err
	}
	return Memory{Arena: int64(p.Stats.Arena), Local: int64(team.Size()) * int64(p.Stats.Local)}.fits(1)
}

// Generator prepares the continuation of texts. One that this machine cannot hold is
// refused with a *Resources.
func (l *Loaded) Generator(team *graph.Team, o nn.GeneratorOptions) (*nn.Generator[float32], error) {
	const float = 4
	need := Memory{Arena: l.Config.Model.KVCacheBytes(int(l.Config.Model.KVHeads), o.Capacity, float)}
	if err := need.fits(1); err != nil {
		return nil, err
	}
	if o.NoCache && l.Config.Model.Attention.Causal { // the other kind is refused below
		g, err := l.Model.Eval(graph.Float32, 1, o.Capacity, nn.WithLogits())
		if err == nil {
			err = fits(g, team)
		}
		if err != nil {
			return nil, textError(o.Capacity, err)
		}
	}
	g, err := nn.NewGenerator(l.Model, l.Params, team, o)
	if err != nil {
		return nil, textError(o.Capacity, err)
	}
	return g, nil
}

// textError names the length of a text that cannot be generated.
func textError(tokens int, err error) error {
	if r, ok := errors.AsType[*Resources](err); ok {
		return r
	}
	return usage("a text of %d tokens: %v", tokens, err)
}
