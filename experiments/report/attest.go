package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ablate/experiments/results"
)

// An attested thing is one entry of the manifests: what was built and where it
// ran, read off the graph and the machine by the run itself.
type attested struct {
	Key    string
	Values []string // one for each arm; a single one where all arms agree
}

// unattested are the entries that say which run it is, not what it is, the list
// of all blocks, which is too long for a table, and the planner's statistics.
var unattested = []string{"format", "id", "config_hash", "name", "experiment", "arm", "resumed", "metrics", "blocks", "planner"}

// attest splits the manifests' entries into those that differ between arms and
// those that every arm shares. Whatever keys there are, are shown.
func attest(e *results.Experiment) (arms []string, differ, same []attested) {
	var flat []map[string]string
	var keys []string
	for _, a := range e.Arms {
		for _, r := range a.Runs {
			if r.Manifest == nil {
				continue
			}
			f := map[string]string{}
			for part, v := range r.Manifest {
				if !slices.Contains(unattested, part) {
					flatten(f, results.Printable(part), v)
				}
			}
			flat = append(flat, f)
			name := a.Name()
			if name == "" {
				name = e.Name
			}
			arms = append(arms, name)
			for k := range f {
				if !slices.Contains(keys, k) {
					keys = append(keys, k)
				}
			}
			break // the runs of an arm differ in nothing but the seed
		}
	}
	slices.SortFunc(keys, byPart)
	for _, k := range keys {
		entry := attested{Key: k}
		for _, f := range flat {
			v, ok := f[k]
			if !ok {
				v = "–"
			}
			entry.Values = append(entry.Values, v)
		}
		if len(slices.Compact(slices.Clone(entry.Values))) == 1 {
			entry.Values = entry.Values[:1]
			same = append(same, entry)
		} else {
			differ = append(differ, entry)
		}
	}
	return arms, differ, same
}

// first are the entries that a reader looks for before all others.
var first = []string{"model.placement", "model.placement_formula", "model.layers", "model.norms_per_block", "model.params.total"}

// byPart puts those first, then the rest of the model, then the others.
func byPart(a, b string) int {
	rank := func(k string) int {
		switch i := slices.Index(first, k); {
		case i >= 0:
			return i
		case strings.HasPrefix(k, "model."):
			return len(first)
		}
		return len(first) + 1
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
}

// flatten writes nested objects as dotted keys.
func flatten(into map[string]string, key string, v any) {
	switch v := v.(type) {
	case nil:
	case map[string]any:
		for k, x := range v {
			flatten(into, key+"."+results.Printable(k), x)
		}
	case json.Number:
		into[key] = grouped(v.String())
	default:
		into[key] = results.Label(v)
	}
}

// grouped separates the thousands of a long whole number by thin spaces.
func grouped(s string) string {
	if len(s) < 5 {
		return s
	}
	for _, c := range s {
		if c < '0' || c > '9' {
			return s
		}
	}
	head := len(s) % 3
	out := s[:head]
	for i := head; i < len(s); i += 3 {
		if out != "" {
			out += "\u2009"
		}
		out += s[i : i+3]
	}
	return out
}

// A definition says what a word of the report means.
type definition struct {
	key           string // of the manifest's definition of the same thing, which then stands instead
	Term, Meaning string
}

var definitions = []definition{
	{"val_loss", "validation loss", "Σ nll / Σ target tokens over the whole validation split, in nats per token; never a mean of batch means."},
	{"val_ppl", "perplexity", "exp(validation loss)."},
	{"grad_norm", "gradient norm", "L2 norm of the gradient of the mean token loss over all tokens of a step, before clipping."},
	{"", "gradient norm of a block", "the same over the parameters of that block alone."},
	{"stream_grad_rms_token", "stream gradient per token", "root mean square over tokens of ‖d(Σ nll)/dx‖, x being the residual stream at a boundary between blocks; free of batch size and length."},
	{"step", "step", "number of updates made before the measurement: step 0 is the initialised model."},
	{"", "after warm-up", "the first probe at or after the first step with the largest learning rate."},
	{"", "clipped", "share of steps at which clipping scaled the gradient."},
	{"", "diverged", "the loss or a gradient stopped being finite; a result, not a failure."},
	{"", "skipped", "updates left out because their loss or gradient was not finite, where train.on_nonfinite: skip was asked for."},
	{"", "spikes", "steps whose training loss is above the mean of the 64 before by 6 of their standard deviations; marked, and in every number."},
	{"", "±, [lo, hi]", "95 % interval of the mean over seeds, by Student's t; of gradient norms, of the geometric mean."},
}

// defined is the definitions, in the words of the runs themselves where these
// recorded any, followed by what else they recorded.
func defined(e *results.Experiment) []definition {
	recorded := map[string]string{}
	for _, a := range e.Arms {
		for _, r := range a.Runs {
			if m, ok := r.Manifest["metrics"].(map[string]any); ok {
				for k, v := range m {
					recorded[k] = results.Printable(fmt.Sprint(v))
				}
			}
		}
	}
	out := slices.Clone(definitions)
	for i, d := range out {
		if words, ok := recorded[d.key]; ok {
			out[i].Meaning = words
			delete(recorded, d.key)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(recorded)) {
		out = append(out, definition{Term: results.Printable(k), Meaning: recorded[k]})
	}
	return out
}
