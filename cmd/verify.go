package cmd

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ablate/graph"
	"ablate/nn/golden"
)

func (a *app) verify() *cobra.Command {
	var dtype string
	c := &cobra.Command{
		Use:   "verify FILE.json …",
		Short: "Compare this build with reference vectors",
		Long: "Verify compares operations and models with what another implementation computed, and ends with\n" +
			"exit code 1 if a file does not hold. Files are JSON, which may be packed by gzip. An index.json\n" +
			"that lists names says which files must be among those given.",
		Args: args(cobra.MinimumNArgs(1)),
		RunE: func(_ *cobra.Command, files []string) error {
			if err := oneOf("--dtype", dtype, "float64", "float32"); err != nil {
				return err
			}
			dt := graph.Float64
			if dtype == "float32" {
				dt = graph.Float32
			}
			files, err := withoutIndex(files)
			if err != nil {
				return err
			}
			var all []golden.Result
			var errs []error
			failed := 0
			for _, file := range files {
				text, err := readVectors(file)
				if err != nil {
					return err
				}
				r, err := golden.Verify(filepath.Base(file), text, dt)
				if err != nil {
					r = golden.Result{File: filepath.Base(file), Dtype: dtype, Problems: []string{err.Error()}}
					errs = append(errs, err)
				}
				if !r.OK {
					failed++
				}
				all = append(all, r)
				a.printVerified(r)
			}
			if a.json {
				if err := a.printJSON(all); err != nil {
					return err
				}
			} else {
				a.printf("%d of %d files hold in %s\n", len(all)-failed, len(all), dtype)
			}
			switch {
			case len(errs) > 0:
				return &exitError{exitUsage, errors.Join(errs...)}
			case failed > 0:
				return &exitError{code: exitInternal}
			}
			return nil
		},
	}
	c.Flags().StringVar(&dtype, "dtype", "float64", "float64 or float32")
	return c
}

// maxVectors bounds a file of reference vectors, unpacked.
const maxVectors = 256 << 20

// readVectors reads a file of reference vectors, packed by gzip or not.
func readVectors(file string) ([]byte, error) {
	text, err := readFile(file)
	if err != nil || !bytes.HasPrefix(text, []byte{0x1f, 0x8b}) {
		return text, err
	}
	r, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, usageErrorf("%s: %w", file, err)
	}
	text, err = io.ReadAll(io.LimitReader(r, maxVectors+1))
	switch {
	case err != nil:
		return nil, usageErrorf("%s: %w", file, err)
	case len(text) > maxVectors:
		return nil, usageErrorf("%s: more than %d MB when unpacked", file, maxVectors>>20)
	}
	return text, nil
}

// withoutIndex leaves out every index.json that lists names. All that it lists must be among the files.
func withoutIndex(files []string) (vectors []string, err error) {
	given := map[string]bool{}
	for _, f := range files {
		given[strings.TrimSuffix(strings.TrimSuffix(filepath.Base(f), ".gz"), ".json")] = true
	}
	for _, f := range files {
		var names []string
		if filepath.Base(f) == "index.json" {
			text, err := readFile(f)
			if err != nil {
				return nil, err
			}
			if json.Unmarshal(text, &names) != nil {
				names = nil
			}
		}
		if len(names) == 0 {
			vectors = append(vectors, f)
			continue
		}
		if missing := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return given[n] }); len(missing) > 0 {
			return nil, usageErrorf("%s lists %s, which is not among the files (%d of %d are missing)", f, missing[0], len(missing), len(names))
		}
	}
	return vectors, nil
}

func (a *app) printVerified(r golden.Result) {
	if a.json {
		return
	}
	word := "ok  "
	if !r.OK {
		word = "FAIL"
	}
	a.printf("%s %-60s", word, r.File)
	if r.Share > 0 {
		a.printf(" worst %.2g of the limit", float64(r.Share))
	}
	a.printf("\n")
	for _, p := range r.Problems {
		a.printf("     %s\n", p)
	}
}
