package results

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strings"
)

// Names inside the directory of an experiment.
const (
	ExperimentFile = "experiment.yaml"
	CellsFile      = "cells.json"
	ReportFile     = "report.html"
	CellsDir       = "cells"
	FiguresDir     = "figures"
	TablesDir      = "tables"
)

// Names inside the directory of one run, beside those of train/metrics.
const (
	ConfigFile     = "config.yaml"
	ManifestFile   = "manifest.json"
	SummaryFile    = "summary.json"
	CheckpointsDir = "checkpoints"
)

// ValidID reports whether id has the form of a cell's identity: the first
// twelve hexadecimal digits of a SHA-256, in lower case. Nothing else becomes a
// path.
func ValidID(id string) bool {
	if len(id) != 12 {
		return false
	}
	for _, c := range id {
		if !strings.ContainsRune("0123456789abcdef", c) {
			return false
		}
	}
	return true
}

// CellDir is the directory of the run with that identity, relative to its
// experiment's and with forward slashes.
func CellDir(id string) string { return path.Join(CellsDir, id) }

// PathName makes a name given by a user into one element of a path. Letters,
// digits, '-', '_' and inner dots stay, up to 64 of them; everything else is
// replaced, and then six digits of the name's hash are added, so that different
// names stay different. It never returns "", ".", ".." or anything with a separator.
func PathName(name string) string {
	const maxLen = 64
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '_'
	}, name)
	clean = strings.Trim(clean, ".")
	clean = clean[:min(len(clean), maxLen)]
	if clean == name && clean != "" && !reserved(clean) {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return strings.TrimRight("run_"+clean, "._") + "_" + hex.EncodeToString(sum[:3])
}

// reserved reports the names that Windows keeps for devices, whatever follows
// their first dot.
func reserved(name string) bool {
	stem, _, _ := strings.Cut(strings.ToUpper(name), ".")
	switch stem {
	case "CON", "PRN", "AUX", "NUL":
		return true
	}
	return len(stem) == 4 && (strings.HasPrefix(stem, "COM") || strings.HasPrefix(stem, "LPT"))
}
