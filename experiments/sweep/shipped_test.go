package sweep

import (
	"os/exec"
	"strings"
	"testing"

	"ablate/experiments"
)

// shipped plans a shipped experiment, on the text in testdata.
func shipped(t *testing.T, name, profile string) *Plan {
	t.Helper()
	text, err := experiments.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	s := string(text)
	from := strings.Index(s, "  data: {")
	to := from + strings.Index(s[from:], "\n")
	s = s[:from] + "  data: {source: text, path: testdata/text.txt}" + s[to:]
	s = strings.Replace(s, "  data.validation: 0.01\n", "", 1)
	return plan(t, s, profile)
}

// TestShipped plans every shipped experiment in both profiles: each key is known,
// each cell valid, no two the same, and what is matched agrees within the protocol's 1 %.
func TestShipped(t *testing.T) {
	if testing.Short() {
		t.Skip("builds every model of the full experiments")
	}
	cells := map[string]int{"depth quick": 12, "depth full": 60, "ffn quick": 27, "ffn full": 45}
	for _, name := range experiments.Names() {
		for _, profile := range Profiles {
			p := shipped(t, name, profile)
			if want := cells[name+" "+profile]; want != len(p.Cells) {
				t.Errorf("%s %s has %d cells, want %d", name, profile, len(p.Cells), want)
			}
			e := p.Experiment
			if e.Name != name || e.Question == "" || !strings.Contains(e.Paper, "arXiv:") || e.Expect == "" {
				t.Errorf("%s does not say its name, question, paper and prediction: %+v", name, e)
			}
			for _, c := range p.Cells {
				if c.Match != nil && (c.Match.Mismatch > tolerance || c.Match.Mismatch < -tolerance) {
					t.Errorf("%s: %s misses the reference by %.3g", name, c.Label, c.Match.Mismatch)
				}
			}
		}
	}
}

// TestShippedReadsGo plans the experiments as they are, on the source tree of Go.
func TestShippedReadsGo(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no Go here")
	}
	for _, name := range experiments.Names() {
		text, err := experiments.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		p := plan(t, string(text), "quick")
		if c := p.Cells[0]; c.corpus.Validation.Len() < 20000 || c.corpus.Train.Len() < int(c.Config.tokens()) {
			t.Errorf("%s: %d tokens to validate on, %d to train on, of which %d are drawn", name, c.corpus.Validation.Len(), c.corpus.Train.Len(), c.Config.tokens())
		}
	}
}
