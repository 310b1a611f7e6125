package report

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"ablate/experiments/results"
)

// Plot draws one figure of a run directory into a file whose ending says the
// format, .png, .svg or .pdf, and its numbers into a CSV file beside it.
// Besides the names of Figures it knows short ones, "grads" and "loss".
func Plot(name, dir, file string) error {
	k, err := find(name)
	if err != nil {
		return err
	}
	format := strings.ToLower(strings.TrimPrefix(filepath.Ext(file), "."))
	e, err := results.Load(dir)
	if err != nil {
		return err
	}
	f, err := k.build(newSource(e))
	if err != nil {
		return err
	}
	if f == nil {
		return fmt.Errorf("%s holds nothing that %s could show yet", dir, k.name)
	}
	picture, err := f.encode(format)
	if err != nil {
		return err
	}
	numbers, err := f.csv()
	if err != nil {
		return err
	}
	folder, base := filepath.Split(file)
	if folder == "" {
		folder = "."
	}
	stem := strings.TrimSuffix(base, filepath.Ext(base))
	return errors.Join(results.WriteFile(folder, base, picture), results.WriteFile(folder, stem+".csv", numbers))
}
