package sweep

import (
	"errors"
	"strings"
	"testing"

	"ablate/experiments"
	"ablate/experiments/config"
)

// FuzzParse: any text is an experiment, or an error whose problems each say what is
// wrong. An experiment that is written down again is the same.
func FuzzParse(f *testing.F) {
	for _, name := range experiments.Names() {
		text, err := experiments.Get(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	for _, s := range []string{
		small(), "axes: {model.layers: [1, 2], model.heads: [1, 2]}\nzip: [[model.layers, model.heads]]\nexcept: [{model.layers: 1}]", "seeds: [1, 1]",
		"axes: [1]", "zip: {a: b}", "except: 1", "match: {on: params}", "quick: {seeds: 3}", "base: {model: {layers: x}}", "axes: {seed: [1]}", "name: \"\\u0000\"",
		"axes: {model: [1], model.layers: [2]}", "axes: &a {model.layers: [*a]}", "{", "", "seeds: [9223372036854775808]",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := Parse("fuzz.yaml", []byte(text))
		if err != nil {
			var known *config.Error
			if !errors.As(err, &known) || len(known.Problems) == 0 || strings.TrimSpace(err.Error()) == "" {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		e.Size()
		for _, profile := range Profiles {
			x, err := e.With(profile, nil)
			if err != nil {
				continue
			}
			again, err := Parse("again.yaml", x.YAML())
			if err != nil {
				t.Errorf("%q is written as %q, which is no experiment: %v", text, x.YAML(), err)
			} else if y, err := again.With("full", nil); err != nil || string(y.YAML()) != string(x.YAML()) {
				t.Errorf("%q is written as\n%s\nand then as\n%s (%v)", text, x.YAML(), y.YAML(), err)
			}
		}
	})
}
