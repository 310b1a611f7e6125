package results_test

import (
	"math"
	"strings"
	"testing"

	"ablate/experiments/results"
	"ablate/train/metrics"
)

func TestGates(t *testing.T) {
	s := metrics.Summary{Steps: 6, ValPPL: metrics.Known(12), ValLoss: metrics.Known(math.NaN()), GradNorm: metrics.Known(math.Inf(1))}
	for text, failed := range map[string]bool{
		"val_ppl>12": false, "val_ppl>=12": true, "val_ppl<12": false, "val_ppl <= 12.0": true, "steps<6": false, " steps > 5 ": true,
		"val_loss>1": true, "val_loss<1": true, "grad_norm<1e9": true, "val_bpb>0": true, // NaN, infinite, unknown
	} {
		g, err := results.ParseGate(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if why, got := g.Fails(s); got != failed || !strings.Contains(why, g.Metric+" is ") {
			t.Errorf("%q fails: %v (%s), want %v", text, got, why, failed)
		}
	}
}

// FuzzGate: whatever stands after --fail-if is a gate or an error.
func FuzzGate(f *testing.F) {
	for _, s := range []string{"val_ppl>12", "val_loss <= 1e-3", "steps<6", "grad_norm>=-0", "val_ppl>nan", "val_ppl>0x1p3", ">", "a>b>c", "val_ppl=>3", "val_ppl<>3",
		"\xff>1", "", "val_ppl>1_000", "tokens>9e999", "id>1", "status<2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		g, err := results.ParseGate(text)
		if err != nil {
			if err.Error() == "" {
				t.Errorf("%q: an error without words", text)
			}
			return
		}
		if g.Metric == "" || g.Op == "" || !strings.Contains(text, g.Metric) || math.IsNaN(g.Limit) || math.IsInf(g.Limit, 0) {
			t.Errorf("%q is read as %+v", text, g)
		}
		g.Fails(metrics.Summary{})
	})
}
