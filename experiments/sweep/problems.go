package sweep

import (
	"cmp"
	"errors"
	"slices"

	"ablate/experiments/config"
)

// problems collects what is wrong with a configuration, from several readers.
type problems struct{ list []config.Problem }

// add takes the problems of an error; one that is no *config.Error keeps its text.
func (p *problems) add(err error) {
	var known *config.Error
	switch {
	case err == nil:
	case errors.As(err, &known):
		p.list = append(p.list, known.Problems...)
	default:
		p.list = append(p.list, config.Problem{Msg: err.Error()})
	}
}

// at adds a problem at a path of a tree.
func (p *problems) at(t *config.Tree, path, format string, args ...any) {
	p.list = append(p.list, t.Problem(path, format, args...))
}

// err is the problems, each once, in the order of their positions; nil if there are none.
func (p *problems) err() error {
	if len(p.list) == 0 {
		return nil
	}
	sorted := slices.Clone(p.list)
	slices.SortStableFunc(sorted, func(a, b config.Problem) int {
		return cmp.Or(cmp.Compare(a.Pos.Arg, b.Pos.Arg), cmp.Compare(a.Pos.Source, b.Pos.Source),
			cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Col, b.Pos.Col))
	})
	return &config.Error{Problems: slices.Compact(sorted)}
}
