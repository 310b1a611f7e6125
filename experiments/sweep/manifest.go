package sweep

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"ablate/graph"
	"ablate/ops/kernel"
)

// manifestFormat is the version of manifest.json.
const manifestFormat = 1

// definitions says what the numbers of the records mean.
var definitions = map[string]string{
	"loss":                  "Σ nll / Σ target tokens of the step, accumulation included, in nats; natural logarithms",
	"val_loss":              "Σ nll / Σ target tokens over contiguous windows of the validation split, in nats; during training over eval_tokens targets, at the end over all; whole windows only where tokens see later ones",
	"val_ppl":               "exp(val_loss)",
	"val_bpb":               "val_loss / ln 2 · tokens / bytes of the validation split: bits per byte of text",
	"grad_norm":             "L2 norm of d(mean token loss)/dθ over the whole step, before clipping; a tied matrix counts once",
	"grad_rms":              "grad_norm / √numel",
	"clip_coef":             "min(1, clip / (grad_norm + 1e-6)): the factor that clipping applied",
	"weight_norm":           "L2 norm of the weights before the update",
	"update_ratio":          "‖ΔW‖ / ‖W‖ of the update that follows, decay included",
	"stream_rms":            "root mean square of the residual stream at a boundary 0..L",
	"stream_grad_norm":      "L2 norm of d(mean token loss)/dx over the whole (B,T,D) stream of the step",
	"stream_grad_rms_token": "root mean square over tokens of ‖d(Σ nll)/dx_t‖, free of batch and length",
	"flops_per_token":       "of a training step, forward and backward, per token",
	"step":                  "updates made before the row was measured",
}

// manifest says what was built, of what, and where it ran.
func (c *Cell) manifest(m *machine, b *beginning, threads int) map[string]any {
	out := map[string]any{
		"format": manifestFormat, "id": c.ID, "config_hash": c.Hash, "name": c.Config.Name,
		"model":    m.modelManifest(),
		"data":     c.dataManifest(),
		"versions": versions(),
		"cpu":      map[string]any{"model": cpuModel(), "kernel_path": kernel.Path(), "threads": threads},
		"blocks":   m.blocks(),
		"memory":   m.memory,
		"planner":  map[string]any{"step": plannerManifest(m.step.Stats()), "eval": plannerManifest(m.test.Stats())},
		"metrics":  definitions,
	}
	if c.Label != "" {
		out["arm"] = c.Label
	}
	if c.Match != nil {
		out["match"] = c.Match
	}
	if b.continues != nil {
		out["continues"] = b.continues
	}
	if len(b.resumed) > 0 {
		out["resumed"] = b.resumed
	}
	return out
}

// modelManifest is what was built, in short, for tables; blocks has all of it.
func (d *design) modelManifest() map[string]any {
	a := d.attestation
	norms := make([]int, len(a.Blocks))
	for l, b := range a.Blocks {
		norms[l] = len(b.Norms)
	}
	updates := make([]string, len(d.updates))
	for i, g := range d.updates {
		updates[i] = g.String()
	}
	return map[string]any{
		"placement": strings.Join(a.Placements(), "; "), "layers": len(a.Blocks), "norms_per_block": strings.Join(runs(norms), ", "),
		"embedding_scale": a.EmbeddingScale, "embedding_norm": a.EmbeddingNorm, "final_norm": a.FinalNorm, "tied": a.Tied,
		"params":          map[string]any{"total": a.Params, "non_embedding": a.NonEmbedding, "by_role": a.ByRole},
		"flops_per_token": a.FLOPsPerToken, "kv_cache_elements_per_token": a.KVCachePerToken,
		"updates": strings.Join(updates, "; "),
	}
}

// blocks is the attestation of all blocks, those in a row that are alike once.
func (d *design) blocks() (out []map[string]any) {
	all := d.attestation.Blocks
	for from := 0; from < len(all); {
		to := from
		for to+1 < len(all) && reflect.DeepEqual(all[to+1], all[from]) {
			to++
		}
		out = append(out, map[string]any{"from": from, "to": to, "each": all[from]})
		from = to + 1
	}
	return out
}

// runs writes a list of numbers with equal neighbours once: "2", or "4 × 2, 8 × 1".
func runs(list []int) (out []string) {
	for from := 0; from < len(list); {
		to := from
		for to < len(list) && list[to] == list[from] {
			to++
		}
		if to-from == len(list) {
			return []string{strconv.Itoa(list[0])}
		}
		out = append(out, fmt.Sprintf("%d × %d", to-from, list[from]))
		from = to
	}
	return out
}

func (c *Cell) dataManifest() map[string]any {
	d := c.corpus
	out := map[string]any{
		"source": d.Source, "describe": d.Describe, "hash": d.Hash, "train_hash": d.TrainHash, "validation_hash": d.ValidationHash,
		"train_tokens": d.Train.Len(), "validation_tokens": d.Validation.Len(), "validation_bytes": d.ValidationBytes,
		"vocab": d.Vocab, "unigram_loss": d.UnigramLoss(),
		"epochs": float64(c.Config.tokens()) / float64(d.Train.Len()),
	}
	if d.Tokenizer != nil {
		out["tokenizer"] = d.Tokenizer.Name()
	}
	return out
}

func plannerManifest(s graph.Stats) map[string]any {
	return map[string]any{"calls": s.Calls, "fused": s.Fused, "tasks": s.Tasks, "phases": s.Phases,
		"arena_bytes": s.Arena, "values_bytes": s.Values, "local_bytes": s.Local}
}
