// Package experiments holds the experiments that are shipped with the binary, one
// YAML file each, and nothing else. How they are read and run is package sweep's.
package experiments

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"
)

// FS holds the shipped experiments, NAME.yaml each.
//
//go:embed *.yaml
var FS embed.FS

const extension = ".yaml"

// Names lists the shipped experiments, sorted.
func Names() []string {
	files, err := fs.Glob(FS, "*"+extension)
	if err != nil {
		panic(err) // the pattern is a constant
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(f, extension)
	}
	return files
}

// Get returns the text of a shipped experiment, or an error that lists those there are.
func Get(name string) ([]byte, error) {
	text, err := FS.ReadFile(name + extension)
	if err == nil {
		return text, nil
	}
	return nil, fmt.Errorf("experiment %q is unknown; shipped are %s", name, strings.Join(Names(), ", "))
}
