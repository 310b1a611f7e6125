package sweep

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"ablate/experiments/config"
	"ablate/train"
)

// idLength is the number of hexadecimal digits of an identity.
const idLength = 12

// laterKeys are keys that came when there were runs already, with the value, as
// canonical JSON, that stands for what was before there was a choice. With that value
// they are left out, so that those runs are found again.
var laterKeys = map[string]string{
	"train.on_nonfinite":           `"stop"`,
	"train.multipliers":            `{"lr":{},"weight_decay":{}}`,
	"model.init.zero_out":          `false`,
	"model.init.position_std":      `0.01`,
	"model.init.multipliers":       `{}`,
	"model.parametrization":        `{"kind":"standard"}`,
	"model.attention.qk_norm_gain": `true`,
	"model.embedding.learn_scale":  `false`,
}

// essence is everything that has a part in the numbers of a run: the resolved
// model, the data with the hash of its source, the mathematics of training, seed and
// salt. It knows no name, no cadence of probes, evaluations and checkpoints, no
// number of threads and no path.
func (c Config) essence(dataHash string) *config.Tree {
	whole := config.Encode(c)
	for _, key := range train.NeutralKeys {
		whole.Delete("train." + key)
	}
	whole.Delete("data.path")
	for key, value := range laterKeys {
		if v := whole.Get(key); v != nil && bytes.Equal(config.Canonical(v), []byte(value)) {
			whole.Delete(key)
		}
	}
	out := &config.Tree{}
	for _, key := range []string{"model", "data", "train", "seed", "salt"} {
		out.Set(key, whole.Get(key))
	}
	out.Set("data_hash", dataHash)
	return out
}

// essence is the configuration's, with the origin where it has a part in the numbers.
func (c *Cell) essence() *config.Tree {
	t := c.Config.essence(c.corpus.Hash)
	if c.from != nil && !c.from.exact {
		t.Set("continues", c.from.essence())
	}
	return t
}

// identity is the SHA-256, in hexadecimal, over the canonical JSON of the essence.
// Its first twelve digits are the ID of the cell.
func (c *Cell) identity() string {
	sum := sha256.Sum256(config.Canonical(c.essence()))
	return hex.EncodeToString(sum[:])
}

// identityKeys is the essence as dotted keys with values: what a checkpoint must
// have in common with the run that continues it, so that a difference can be named.
func (c *Cell) identityKeys() map[string]string { return flatten(c.essence()) }

// flatten gives the values of a tree by their dotted keys.
func flatten(t *config.Tree) map[string]string {
	out := map[string]string{}
	var add func(path string, t *config.Tree)
	add = func(path string, t *config.Tree) {
		entries := t.Entries()
		if len(entries) == 0 {
			out[path] = string(config.Canonical(t))
		}
		for _, e := range entries {
			add(strings.TrimPrefix(path+"."+e.Key, "."), e.Value)
		}
	}
	add("", t)
	return out
}
