package sweep

import (
	"errors"
	"fmt"

	"ablate/data"
	"ablate/experiments/config"
	"ablate/nn"
	"ablate/train"
)

// Config is the whole configuration of one run.
type Config struct {
	Name  string       `key:"name" default:"run" doc:"name of the run, for people and for its directory; no part of its identity"`
	Seed  Seed         `key:"seed" default:"1" doc:"seed of the initial values and of the batches, or {init, data} apart"`
	Salt  string       `key:"salt" default:"" doc:"any text: other random streams for the same configuration; part of the identity"`
	Model nn.Config    `key:"model"`
	Data  data.Config  `key:"data"`
	Train train.Config `key:"train"`
	Probe train.Probe  `key:"probe"`
}

// Seed is where the randomness of a run comes from.
type Seed struct {
	Init uint64 // of the initial values
	Data uint64 // of the batches
}

// FromConfig reads one seed for both, or {init: 1, data: 2}.
func (s *Seed) FromConfig(v any) error {
	wrong := errors.New("allowed: an integer from 0, or {init: 1, data: 2}")
	switch v := v.(type) {
	case int64:
		if v < 0 {
			return wrong
		}
		*s = Seed{Init: uint64(v), Data: uint64(v)}
		return nil
	case map[string]any:
		init, ok1 := v["init"].(int64)
		batches, ok2 := v["data"].(int64)
		if !ok1 || !ok2 || init < 0 || batches < 0 || len(v) != 2 {
			return wrong
		}
		*s = Seed{Init: uint64(init), Data: uint64(batches)}
		return nil
	}
	return wrong
}

// ConfigValue gives one integer where both seeds are equal.
func (s Seed) ConfigValue() any {
	if s.Init == s.Data {
		return int64(s.Init)
	}
	return map[string]any{"init": int64(s.Init), "data": int64(s.Data)}
}

// ConfigSchema allows both forms.
func (Seed) ConfigSchema() map[string]any {
	n := map[string]any{"type": "integer", "minimum": 0}
	return map[string]any{"oneOf": []any{n, map[string]any{
		"type": "object", "properties": map[string]any{"init": n, "data": n}, "required": []any{"init", "data"}, "additionalProperties": false,
	}}}
}

// Decode reads the configuration of one run from its layers, the last on top, and
// below all of them the preset that they name, if any. What depends on the corpus is
// still open: see Resolve.
func Decode(layers ...*config.Tree) (Config, error) {
	var c Config
	tree := config.Merge(layers...)
	whole, err := overPreset(tree)
	if err != nil { // what else is wrong may be so for want of the preset
		var all problems
		all.add(tree.Err())
		all.add(err)
		return c, all.err()
	}
	err = config.Decode(whole, &c)
	return c, err
}

// Validate reports parts that do not go together; what is wrong within one, it says itself.
func (c Config) Validate() error {
	if c.Model.Parametrization.Kind == nn.MuP && c.Train.Optimizer == "sgd" {
		return errors.New("train.optimizer: sgd; the learning rates of model.parametrization mup are those of Adam")
	}
	return nil
}

// Resolve replaces everything in the model that is automatic. The result is complete:
// resolved again, it stays what it is.
func (c Config) Resolve(corpus *data.Corpus) (Config, error) {
	model, err := c.Model.Resolve(corpus.Vocab)
	if err != nil {
		return c, fmt.Errorf("model: %w", err)
	}
	c.Model = model
	return c, nil
}

// tokens is the number of tokens in the training batches of the run.
func (c Config) tokens() int64 {
	return int64(c.Train.Steps) * int64(c.Train.Batch) * int64(c.Train.Accumulate) * int64(c.Model.Context)
}
