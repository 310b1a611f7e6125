package cmd_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// picture says which packages of this module each package may import: the
// arrows of docs/ARCHITECTURE.md. Imports point down only.
var picture = map[string][]string{
	"cmd/ablate":                      {"cmd"},
	"cmd/testsum":                     {},
	"cmd":                             {"experiments", "experiments/config", "experiments/report", "experiments/results", "experiments/stats", "experiments/sweep", "train", "train/metrics", "data", "nn", "nn/golden", "nn/presets", "ops/kernel", "graph"},
	"experiments":                     {},
	"experiments/config":              {},
	"experiments/sweep":               {"experiments", "experiments/config", "experiments/results", "nn", "nn/presets", "train", "train/metrics", "data", "graph", "ops/kernel"},
	"experiments/report":              {"experiments/results", "experiments/stats", "train/metrics"},
	"experiments/results":             {"experiments/stats", "train/metrics"},
	"experiments/results/resultstest": {"experiments/results", "train/metrics"},
	"experiments/stats":               {},
	"train":                           {"graph", "data", "train/metrics", "ops/kernel"},
	"train/metrics":                   {},
	"data":                            {},
	"nn/golden":                       {"nn", "ops", "ops/kernel", "graph"},
	"nn":                              {"ops", "graph"},
	"nn/presets":                      {},
	"ops":                             {"graph", "ops/kernel"},
	"ops/kernel":                      {},
	"graph":                           {},
	"graph/graphtest":                 {"graph"},
}

// outside says who may import what lies outside: Gorgonia stays behind graph
// and ops, so that everything above is written in this project's own words.
var outside = map[string][]string{
	"gorgonia.org/":              {"graph", "ops"},
	"github.com/spf13/":          {"cmd"},
	"github.com/schollz/":        {"cmd"},
	"go.yaml.in/":                {"experiments/config", "experiments/results"},
	"gonum.org/v1/plot":          {"experiments/report"},
	"gonum.org/v1/gonum":         {"experiments/stats", "experiments/report"},
	"net/http":                   {},
	"github.com/mmcloughlin/avo": {},
}

type listed struct {
	ImportPath string
	Imports    []string
}

func packages(t *testing.T) []listed {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "ablate/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func TestImportsPointDown(t *testing.T) {
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, "ablate/")
		allowed, ok := picture[name]
		if !ok {
			t.Errorf("package %s is not in the picture", name)
			continue
		}
		for _, i := range p.Imports {
			if own, ok := strings.CutPrefix(i, "ablate/"); ok {
				if !slices.Contains(allowed, own) {
					t.Errorf("%s imports %s, which the picture does not allow", name, own)
				}
				continue
			}
			for prefix, who := range outside {
				if strings.HasPrefix(i, prefix) && !slices.Contains(who, name) {
					t.Errorf("%s imports %s, which only %v may", name, i, who)
				}
			}
		}
	}
}
