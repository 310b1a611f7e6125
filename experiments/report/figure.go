package report

import (
	"bytes"
	"fmt"
	"strings"

	"ablate/experiments/results"
)

// A figure is one drawing with the numbers that it shows.
type figure struct {
	name    string // of the files: "grad_profile"
	caption string // what is shown, and what bands and marks mean
	sheet   *sheet
	data    *results.Table
}

// A kind of figure is a line in the table below, and a file of its own. build
// returns nil where an experiment has nothing for it.
type kind struct {
	name, alias string
	build       func(*source) (*figure, error)
}

// kinds is every figure there is, in the order of the page.
var kinds = []kind{
	{"val_ppl", "ppl", valPPL},
	{"grad_profile", "grads", gradProfile},
	{"stream_profile", "stream", streamProfile},
	{"loss_curves", "loss", lossCurves},
	{"grad_heatmap", "heatmap", gradHeatmap},
}

// Figures lists the names of all figures: what `show` of an experiment and Plot
// may ask for.
func Figures() []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.name
	}
	return names
}

// find returns the figure of that name or alias.
func find(name string) (kind, error) {
	for _, k := range kinds {
		if name == k.name || name == k.alias {
			return k, nil
		}
	}
	return kind{}, fmt.Errorf("there is no figure %q; there are %s", name, strings.Join(Figures(), ", "))
}

// csv is the figure's numbers.
func (f *figure) csv() ([]byte, error) {
	var b bytes.Buffer
	err := f.data.Write(&b, "csv")
	return b.Bytes(), err
}
