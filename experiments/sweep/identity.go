package sweep

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"ablate/experiments/config"
	"ablate/train"
)

// idLength is the number of hexadecimal digits of an identity.
const idLength = 12

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
	out := &config.Tree{}
	for _, key := range []string{"model", "data", "train", "seed", "salt"} {
		out.Set(key, whole.Get(key))
	}
	out.Set("data_hash", dataHash)
	return out
}

// identity is the SHA-256, in hexadecimal, over the canonical JSON of the essence.
// Its first twelve digits are the ID of the cell.
func (c Config) identity(dataHash string) string {
	sum := sha256.Sum256(config.Canonical(c.essence(dataHash)))
	return hex.EncodeToString(sum[:])
}

// identityKeys is the essence as dotted keys with values: what a checkpoint must
// have in common with the run that continues it, so that a difference can be named.
func (c Config) identityKeys(dataHash string) map[string]string {
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
	add("", c.essence(dataHash))
	return out
}
