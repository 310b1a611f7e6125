package cmd_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ablate/cmd"
)

// trained trains a tiny model on a text and gives the directory of its experiment.
func trained(t *testing.T, text string, settings ...string) string {
	t.Helper()
	dir := t.TempDir()
	corpus, file := filepath.Join(dir, "text"), filepath.Join(dir, "c.yaml")
	yaml := fmt.Sprintf("name: tiny\nmodel: {layers: 2, d_model: 32, heads: 2, context: 16}\ndata: {source: text, path: %q}\n"+
		"train: {steps: 150, batch: 8, lr: 1e-2, warmup: 15, eval_every: 0, checkpoint_every: 0}\nprobe: {every: 0}\n", corpus)
	for name, content := range map[string]string{corpus: text, file: yaml} {
		if err := os.WriteFile(name, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	args := append([]string{"train", file, "--out", filepath.Join(dir, "runs"), "--progress", "off"}, settings...)
	ablate(t, args...)
	return filepath.Join(dir, "runs", "tiny")
}

// fails runs a command line that must end with an exit code and say something.
func fails(t *testing.T, code int, want string, args ...string) {
	t.Helper()
	var out, errs bytes.Buffer
	if got := cmd.Run(args, &out, &errs); got != code || !strings.Contains(errs.String(), want) {
		t.Errorf("ablate %s: exit code %d, %q; want %d, %q", strings.Join(args, " "), got, errs.String(), code, want)
	}
}

// TestGenerateContinuesExactly: a model that was trained on abcabc… goes on so. A
// shift of the targets by one too many, or a wrong position, would not.
func TestGenerateContinuesExactly(t *testing.T) {
	for _, c := range []struct {
		model string
		times int // that the period follows the prompt; beyond the context of training where distances alone count
	}{{"model.position=rope", 3}, {"model.position=learned", 3}, {"model.position=alibi", 20}, {"model.attention.window=4", 20}} {
		run := trained(t, strings.Repeat("abc", 2000), c.model)
		for _, cache := range []string{"--no-cache=false", "--no-cache"} {
			got := ablate(t, "generate", run, "--prompt", "abcabca", "--tokens", fmt.Sprint(3*c.times), "--temperature", "0", cache)
			if want := "abcabca" + strings.Repeat("bca", c.times) + "\n"; got != want {
				t.Errorf("%s %s: %q, want %q", c.model, cache, got, want)
			}
		}
	}
}

func TestGenerateJSON(t *testing.T) {
	run := trained(t, strings.Repeat("the quick brown fox\n", 300))
	type result struct {
		Prompt, Text string
		Tokens       []int32
		TopK         int `json:"top_k"`
		Cache        bool
	}
	once := func(args ...string) (r result) {
		out := ablate(t, append([]string{"generate", run, "--json", "--prompt", "the ", "--tokens", "30", "--temperature", "2", "--top-k", "20", "--top-p", "0.9"}, args...)...)
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	r, again, other, uncached := once(), once(), once("--seed", "2"), once("--no-cache")
	if r.Prompt != "the " || len(r.Tokens) != 30 || r.TopK != 20 || !r.Cache || uncached.Cache {
		t.Errorf("%+v", r)
	}
	if r.Text != again.Text || r.Text == other.Text || r.Text != uncached.Text {
		t.Errorf("one seed %q and %q, another %q, without a cache %q", r.Text, again.Text, other.Text, uncached.Text)
	}
}

// TestEval: at the context of training the loss is that of the run to the last bit;
// positions add up to it; scaling changes it.
func TestEval(t *testing.T) {
	run := trained(t, strings.Repeat("she sells sea shells by the sea shore\n", 400))
	type result struct {
		Step      int64
		Context   int
		Tokens    int
		Loss      float64 `json:"val_loss"`
		BPB       float64 `json:"val_bpb"`
		Positions []struct {
			From, To, Tokens int
			Loss             float64
		}
	}
	once := func(args ...string) (r result) {
		out := ablate(t, append([]string{"eval", run, "--json"}, args...)...)
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	var summary struct {
		Show struct {
			Loss float64 `json:"val_loss"`
			BPB  float64 `json:"val_bpb"`
		} `json:"summary"`
	}
	if err := json.Unmarshal([]byte(ablate(t, "show", run, "--json")), &summary); err != nil {
		t.Fatal(err)
	}
	if r := once(); r.Loss != summary.Show.Loss || r.BPB != summary.Show.BPB || r.Step != 150 || r.Context != 16 {
		t.Errorf("%+v, the run has %+v", r, summary.Show)
	}
	long := once("--context", "48", "--by-position", "--tokens", "1000")
	sum, tokens, at := 0.0, 0, 0
	for _, p := range long.Positions {
		if p.From != at {
			t.Errorf("positions begin at %d, want %d", p.From, at)
		}
		sum, tokens, at = sum+p.Loss*float64(p.Tokens), tokens+p.Tokens, p.To
	}
	if d := sum/1000 - long.Loss; tokens != 1000 || long.Tokens != 1000 || at != 48 || d > 1e-12 || d < -1e-12 {
		t.Errorf("%d tokens in positions up to %d have loss %v; in all %+v", tokens, at, sum/1000, long)
	}
	scaled := once("--context", "48", "--tokens", "1000", "model.position.scaling={kind: linear, factor: 3}")
	if scaled.Loss == long.Loss {
		t.Error("a scaling of positions changes nothing")
	}
}

// TestBidirectionalEvaluation: a model that looks ahead is scored on what there is to see, not on what fills a window.
func TestBidirectionalEvaluation(t *testing.T) {
	run := trained(t, strings.Repeat("the quick brown fox ", 300), "model.attention.causal=false", "train.steps=20")
	type evaluated struct {
		Tokens int     `json:"tokens"`
		Loss   float64 `json:"val_loss"`
	}
	of := func(command ...string) (e evaluated) {
		t.Helper()
		if err := json.Unmarshal([]byte(ablate(t, append(command, "--json")...)), &e); err != nil {
			t.Fatal(err)
		}
		return e
	}
	whole := of("eval", run)
	if whole.Tokens%16 != 0 || whole.Tokens < 500 {
		t.Errorf("%d tokens in windows of 16", whole.Tokens)
	}
	var s struct {
		Summary struct {
			Loss float64 `json:"val_loss"`
		} `json:"summary"`
	}
	if err := json.Unmarshal([]byte(ablate(t, "show", run, "--json")), &s); err != nil || math.Abs(s.Summary.Loss-whole.Loss) > 1e-6 {
		t.Errorf("the run's own loss is %v, that of eval %v, %v", s.Summary.Loss, whole.Loss, err)
	}
	want := of("eval", run, "--tokens", "32")
	for _, tokens := range []string{"33", "40", "47"} {
		if got := of("eval", run, "--tokens", tokens); got != want {
			t.Errorf("--tokens %s gives %+v, want %+v", tokens, got, want)
		}
	}
}

func TestEvalAndGenerateErrors(t *testing.T) {
	run := trained(t, strings.Repeat("abc", 2000), "model.position=learned", "train.steps=1")
	fails(t, 2, "--context 17: the model has learned 16 positions", "eval", run, "--context", "17")
	fails(t, 2, "--context 0: at least 1", "eval", run, "--context", "0")
	fails(t, 2, "--tokens -1: at least 1", "eval", run, "--tokens", "-1")
	fails(t, 2, "--tokens 14: at most 13", "generate", run, "--prompt", "abc", "--tokens", "14")
	fails(t, 2, "it has 16 tokens, and the model has learned 16 positions", "generate", run, "--prompt", "abcabcabcabcabca")
	for _, cache := range []string{"--no-cache", "--no-cache=false"} { // as many as there is room for
		var text struct{ Tokens []int }
		if err := json.Unmarshal([]byte(ablate(t, "generate", run, "--prompt", "abc", "--json", cache)), &text); err != nil || len(text.Tokens) != 13 {
			t.Errorf("%s: %d tokens behind 3 with 16 positions: %v", cache, len(text.Tokens), err)
		}
	}
	fails(t, 2, "attention.causal: false", "generate", run, "--tokens", "9", "model.attention.causal=false")
	fails(t, 2, "temperature: -1", "generate", run, "--temperature", "-1")
	fails(t, 2, "--tokens 0", "generate", run, "--tokens", "0")
	fails(t, 2, "an empty text", "generate", run, "--prompt", "")
	fails(t, 2, "one run is wanted", "generate")
	fails(t, 2, "unknown key", "eval", run, "model.nosuch=1")
	fails(t, 3, "the validation split has 600 tokens", "eval", trained(t, strings.Repeat("abc", 2000), "model.position=none", "train.steps=1"), "--context", "600")
	fails(t, 5, "belongs to another run", "eval", run, "model.d_model=64")
	fails(t, 2, "no run is here", "eval", filepath.Dir(run))
}
