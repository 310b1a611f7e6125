package cmd_test

import (
	"bytes"
	"encoding/json"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"ablate/cmd"
	"ablate/nn/presets"
)

// ablate runs a command line that must succeed, and gives its standard output.
func ablate(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := cmd.Run(args, &out, &errs); code != 0 {
		t.Fatalf("ablate %s: exit code %d: %s", strings.Join(args, " "), code, errs.String())
	}
	return out.String()
}

// TestInspectFullSize: 69 billion parameters are counted without being allocated.
func TestInspectFullSize(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	out := ablate(t, "inspect", "model.preset=llama2-70b", "model.context=4096")
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 500<<20 {
		t.Errorf("%d bytes were allocated on the way", used)
	}
	for _, want := range []string{
		"parameters    68976648192, 68452360192 without", "a token of a training step", "163840 elements a token, 327680 bytes in 16 bits",
		"0-79 x + F(N1(x))", "omitted:      nothing known\n", "uncertain:    init N(0, 0.02²)",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("inspect does not say %q:\n%s", want, out)
		}
	}
}

func TestInspectJSON(t *testing.T) {
	var got struct {
		Model struct {
			Params int     `json:"params"`
			FLOPs  float64 `json:"flops_per_token"`
		} `json:"model"`
		KV     int `json:"kv_bytes_per_token_fp16"`
		Preset *struct {
			Name               string
			Omitted, Uncertain []string
		} `json:"preset"`
	}
	out := ablate(t, "inspect", "--json", "model.preset=bert-base")
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	// 6 for each weight of a product, the head's included; 12·L·T·H·hd for scores and sums over all keys.
	flops := 6.0*(12*12*768*768+30522*768) + 12*12*512*768
	if got.Model.Params != 108_890_112 || got.Model.FLOPs != flops || got.KV != 36864 || got.Preset == nil || len(got.Preset.Omitted) != 4 {
		t.Errorf("bert-base: %+v, want FLOPs %v", got, flops)
	}
	if out := ablate(t, "inspect", "--json", "model.layers=1"); strings.Contains(out, `"preset"`) {
		t.Errorf("a model without preset has one: %s", out)
	}
}

// TestInspectMeasuresInitialValues: those of the presets whose distributions are easily
// taken for another.
func TestInspectMeasuresInitialValues(t *testing.T) {
	const cut = 0.98658 // deviation of N(0, 1) cut at three
	for name, want := range map[string]map[string]float64{
		"nanogpt":         {"embed.wte": .02, "embed.wpe": .02, "block.3.attn.wo": .02 / math.Sqrt(24), "block.3.norm1.w": 1, "block.3.norm1.b": 0},
		"gpt2":            {"embed.wte": .02, "embed.wpe": .01, "block.3.attn.wo": .02},
		"olmo2":           {"embed.wte": .02 * cut, "block.3.attn.wo": .02 * cut, "head.w": .02 * cut},
		"hybridnorm":      {"embed.wte": .013975 * cut, "block.3.attn.wq": .013975 * cut, "block.3.ffn.down": .013975 / math.Sqrt(32) * cut},
		"hybridnorm-tiny": {"embed.wte": .079057 * cut, "block.3.ffn.down": .079057 / math.Sqrt(8) * cut},
	} {
		var got struct {
			Params []struct {
				Name string
				RMS  float64 `json:"init_rms"`
			}
		}
		if err := json.Unmarshal([]byte(ablate(t, "inspect", "--json", "model.preset="+name)), &got); err != nil {
			t.Fatal(err)
		}
		for _, p := range got.Params {
			if w, ok := want[p.Name]; ok && math.Abs(p.RMS-w) > 0.05*w {
				t.Errorf("%s: %s starts at a root mean square of %v, want %v", name, p.Name, p.RMS, w)
			}
			delete(want, p.Name)
		}
		if len(want) > 0 {
			t.Errorf("%s has no %v", name, want)
		}
	}
	if out := ablate(t, "inspect", "--params", "model.preset=nanogpt-tiny"); !strings.Contains(out, "  block.0.norm1.w                  [64]           norm            initial rms 1  ") {
		t.Errorf("parameters are listed as\n%s", out)
	}
}

// TestInspectSaysWhatSharedHeadsSave is the worked example of 32 heads of 128 in 32 blocks.
func TestInspectSaysWhatSharedHeadsSave(t *testing.T) {
	out := ablate(t, "inspect", "model={layers: 32, d_model: 4096, heads: 32, kv_heads: 8, context: 1024, d_ff: 64}", "train.batch=1")
	if want := "128 MiB for 1024 tokens; 512 MiB with keys and values for every head, 16 MiB with one for all\n"; !strings.Contains(out, want) {
		t.Errorf("inspect does not say %q:\n%s", want, out)
	}
}

// TestInspectCountsWindows: a layer keeps no more than its window; the bytes per token are
// those before it is full.
func TestInspectCountsWindows(t *testing.T) {
	out := ablate(t, "inspect", "model.preset=gemma2-9b", "model.layers=4", "train.batch=1")
	// Two of four layers keep 4096 of 8192 tokens: 2·8·256·2 bytes for each.
	if want := " 32768 bytes in 16 bits\n              192 MiB for 8192 tokens within the windows, 256 MiB without windows; 384 MiB with keys and values for every head, 24 MiB with one for all\n"; !strings.Contains(out, want) {
		t.Errorf("inspect does not say %q:\n%s", want, out)
	}
	var got struct {
		Cache struct {
			Tokens, Bytes, MHA, MQA int64
			Full                    int64 `json:"full_length"`
		} `json:"kv_bytes_of_context_fp16"`
	}
	if err := json.Unmarshal([]byte(ablate(t, "inspect", "--json", "model.preset=gemma3-4b", "train.batch=1")), &got); err != nil {
		t.Fatal(err)
	}
	// 29 of 34 layers keep 1024 tokens, 5 all 32768.
	const row = 2 * 256 * 2 // a key and a value of one head, in bytes
	if rows := int64(29*1024 + 5*32768); got.Cache.Bytes != rows*4*row || got.Cache.MHA != rows*8*row || got.Cache.MQA != rows*row || got.Cache.Full != 34*32768*4*row {
		t.Errorf("gemma3-4b: %+v", got.Cache)
	}
}

func TestPresetsCommand(t *testing.T) {
	var all []struct {
		Name, About                string
		Source, Omitted, Uncertain []string
	}
	if err := json.Unmarshal([]byte(ablate(t, "presets", "--json")), &all); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range all {
		names = append(names, p.Name)
		if p.Omitted == nil || p.Uncertain == nil || len(p.Source) == 0 {
			t.Errorf("%s: %+v", p.Name, p)
		}
	}
	if !slices.Equal(names, presets.Names()) {
		t.Errorf("listed are %v", names)
	}
	if out := ablate(t, "presets"); !strings.Contains(out, "\nllama3-8b ") || strings.Contains(out, "llama3-8b-tiny") {
		t.Errorf("the list is\n%s", out)
	}
	if out := ablate(t, "presets", "qwen3-0.6b"); !strings.Contains(out, "qk_norm: head") || !strings.Contains(out, "tied: true") {
		t.Errorf("a size is printed without what it extends:\n%s", out)
	}
	var one struct{ Model struct{ Layers int } }
	if err := json.Unmarshal([]byte(ablate(t, "presets", "palm-tiny", "--json")), &one); err != nil || one.Model.Layers != 4 {
		t.Errorf("palm-tiny: %+v, %v", one, err)
	}
	var out, errs bytes.Buffer
	if code := cmd.Run([]string{"presets", "olmo"}, &out, &errs); code != 2 || !strings.Contains(errs.String(), "did you mean olmo2?") {
		t.Errorf("an unknown preset: exit code %d, %s", code, errs.String())
	}
}

func TestConfigPrintOfPreset(t *testing.T) {
	out := ablate(t, "config", "print", "model.preset=mistral-7b", "model.layers=2")
	if strings.Contains(out, "preset") || !strings.Contains(out, "layers: 2\n") || !strings.Contains(out, "window: 4096\n") {
		t.Errorf("printed:\n%s", out)
	}
}
