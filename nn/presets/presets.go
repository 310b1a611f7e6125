// Package presets holds models of the literature, one YAML file each, and nothing
// else. How they are read is package sweep's.
//
// A file has these keys:
//
//	about      one line; without it the file gives a preset another name
//	extends    another preset that this one changes; its lists come before this one's
//	source     papers and files that the numbers come from
//	omitted    what the model of the paper has and this one has not
//	uncertain  what is not established
//	model      keys of a configuration's model
//	tiny       changes to model that make NAME-tiny of NAME, which trains in seconds
package presets

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// FS holds the presets, NAME.yaml each.
//
//go:embed *.yaml
var FS embed.FS

const extension = ".yaml"

// Tiny ends the name of the small twin of a preset. It has no file of its own.
const Tiny = "-tiny"

// Names lists the presets, small twins included, sorted.
func Names() []string {
	files, err := fs.Glob(FS, "*"+extension)
	if err != nil {
		panic(err) // the pattern is a constant
	}
	var names []string
	for _, f := range files {
		name := strings.TrimSuffix(f, extension)
		names = append(names, name, name+Tiny)
	}
	slices.Sort(names)
	return names
}

// Get returns the text of the file that a preset is in, and whether its small twin
// is meant.
func Get(name string) (text []byte, tiny bool, err error) {
	file, tiny := strings.CutSuffix(name, Tiny)
	if text, err = FS.ReadFile(file + extension); err != nil {
		return nil, false, fmt.Errorf("preset %q is unknown", name)
	}
	return text, tiny, nil
}
