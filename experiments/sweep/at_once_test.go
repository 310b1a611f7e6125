package sweep

import (
	"errors"
	"strings"
	"testing"

	"ablate/experiments/config"
)

// What is wrong with an experiment, with its base and with the values of its axes is
// said at once, whatever else is wrong, and each thing once.
func TestAllErrorsOfAnExperimentAtOnce(t *testing.T) {
	text := `
questoin: hm
seeds: 3
base:
  model: {layerz: 2, d_model: 64, heads: 3}
  train: {stepz: 4, lr: abc}
axes:
  model.placement: [pre, pst]
zip: [[model.placement, model.depth]]
`
	_, err := Parse("bad.yaml", []byte(text))
	var all *config.Error
	if !errors.As(err, &all) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"2:1: questoin", "3:8: seeds", "5:11: model.layerz", "5:42: model.heads", "6:11: train.stepz", "6:25: train.lr", `8:26: model.placement: unknown placement "pst"`, "9:"} {
		if n := strings.Count(err.Error(), "bad.yaml:"+want); n != 1 {
			t.Errorf("%q is said %d times in\n%v", want, n, err)
		}
	}
}
