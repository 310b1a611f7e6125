package sweep

import "ablate/experiments/config"

// Single plans the one run that layers of a configuration describe, the last layer on
// top: an experiment without axes and with one seed. Its cell has the identity that the
// same configuration has in any experiment.
func Single(layers ...*config.Tree) (*Plan, error) {
	cfg, err := Decode(layers...)
	if err != nil {
		return nil, err
	}
	base := config.Merge(layers...)
	base.Delete("name")
	base.Delete("seed")
	e := &Experiment{Name: cfg.Name, Base: base, Seeds: []int64{int64(cfg.Seed.Init)}}
	p, err := e.Plan(&Corpora{})
	if err != nil {
		return nil, err
	}
	c := p.Cells[0]
	c.Config.Seed = cfg.Seed // init and data may differ here
	c.Hash = c.Config.identity(c.corpus.Hash)
	c.ID = c.Hash[:idLength]
	return p, nil
}

// Size is the number of cells of the full profile.
func (e *Experiment) Size() int {
	arms, err := e.arms()
	if err != nil {
		return 0
	}
	return len(arms) * len(e.Seeds)
}
