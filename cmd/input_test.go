package cmd

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"ablate/experiments/config"
	"ablate/experiments/sweep"
	"ablate/train/metrics"
)

// TestAllErrorsAtOnce: everything that is wrong, in the file and on the command
// line, with its place and what is allowed, in one go.
func TestAllErrorsAtOnce(t *testing.T) {
	w := newWorkbench(t)
	w.write("bad.yaml", `name: bad
model: {layer: 3, d_model: 8.5, kv_heads: "2", placement: x + G(N1(x)), activation: swigul}
train: {steps: 010, lr: .nan, schedule: cosin, steps: 3}
probe: {every: yes}
`)
	w.want(exitUsage, "train bad.yaml data.sourc=text model.heads=0",
		"bad.yaml:2:9: model.layer: ", "did you mean layers?",
		"bad.yaml:2:28: model.d_model: 8.5",
		"bad.yaml:2:43: model.kv_heads: ",
		"bad.yaml:2:59: model.placement: ", "unknown function G",
		"bad.yaml:2:85: model.activation: ", "did you mean swiglu?",
		"bad.yaml:3:16: train.steps: 010",
		"bad.yaml:3:25: train.lr: .nan",
		"did you mean cosine?",
		"bad.yaml:3:48: train.steps: duplicate key",
		"bad.yaml:4:16: probe.every: yes",
		"data.sourc=text: ", "did you mean source?",
		"model.heads=0: ")
}

// TestSlips: a slip in a command, flag, value, experiment, preset or metric is
// answered with what was probably meant, before anything is done.
func TestSlips(t *testing.T) {
	w := newWorkbench(t)
	for args, want := range map[string]string{
		"trian":                                  "did you mean train?",
		"reprot x":                               "did you mean report?",
		"config prnt":                            "did you mean print?",
		"run dpeth":                              "did you mean depth?",
		"experiments dephs":                      "did you mean depth?",
		"presets lama3-8b":                       "did you mean llama3-8b?",
		"inspect model.preset=gpt2-smal":         "gpt2",
		"train run.yaml --frce":                  "did you mean --force?",
		"train run.yaml --progress plane":        "did you mean plain?",
		"run experiment.yaml --profile ful":      "did you mean full?",
		"train run.yaml model.norm=rmsnrom":      "did you mean rmsnorm?",
		"train run.yaml modle.layers=2":          "did you mean model",
		"train run.yaml --fail-if val_pl>1":      "did you mean val_ppl?",
		"bench smal":                             "did you mean small?",
		"run experiment.yaml model.placment=pre": "did you mean placement?",
	} {
		w.want(exitUsage, args, want)
	}
}

// integerKeys are all keys of a configuration that take a size or a count.
func integerKeys() (keys []string) {
	for _, k := range config.Keys(sweep.Config{}) {
		if k.Type == "integer" {
			keys = append(keys, k.Path)
		}
	}
	return append(keys, "model.kv_heads", "model.head_dim", "model.d_ff", "model.vocab", "model.attention.window")
}

// mayBeZero are the integers of which 0 means something.
var mayBeZero = []string{"seed", "data.vocab", "train.warmup", "train.eval_every", "train.eval_tokens", "train.checkpoint_every", "probe.every", "model.attention.window"}

// otherSource are keys that the text of these tests does not read.
var otherSource = []string{"data.limit", "data.vocab"}

// TestSizes gives every integer key zero, a negative number, and numbers that no
// machine can hold. Each is refused at once, with its name, or is harmless.
func TestSizes(t *testing.T) {
	w := newWorkbench(t)
	keys := integerKeys()
	if len(keys) < 18 {
		t.Fatalf("only %v", keys)
	}
	for _, key := range keys {
		for _, value := range []string{"-1", "0", "4294967296", "9223372036854775807", "9223372036854775808", "99999999999999999999"} {
			if value == "0" && slices.Contains(mayBeZero, key) && !slices.Contains(otherSource, key) {
				continue
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			code, _, stderr := w.run("config", "print", "run.yaml", key+"="+value)
			fine := code == exitDone && value[0] != '-' && value != "0"
			refused := code == exitUsage && strings.Contains(stderr, key+"="+value) && len(stderr) < 1000
			if !fine && !refused && code != exitData {
				t.Errorf("%s=%s ends with %d: %s", key, value, code, stderr)
			}
			runtime.ReadMemStats(&after)
			if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 {
				t.Errorf("%s=%s allocates %d bytes", key, value, used)
			}
		}
	}
}

// TestWhatIsNoFile: a pipe is not waited for, and a file that memory cannot hold is not read.
func TestWhatIsNoFile(t *testing.T) {
	w := newWorkbench(t)
	w.want(exitData, "train run.yaml data.path=.", "a directory")
	if makePipe(t, "pipe") {
		for _, source := range []string{"text", "tokens"} {
			w.want(exitData, "train run.yaml data.path=pipe data.source="+source, "not a regular file")
		}
	}
	if meminfo, _ := os.ReadFile("/proc/meminfo"); !strings.Contains(string(meminfo), "MemAvailable:") {
		t.Skip("nobody says how much memory there is")
	}
	f, err := os.Create("huge")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(1 << 43); err != nil { // of which nothing is on disk
		t.Skip(err)
	}
	for _, source := range []string{"text", "tokens"} {
		w.want(exitResources, "train run.yaml data.path=huge data.source="+source, "not enough memory", `the file "huge"`)
	}
}

// TestTheOtherKindOfFile: a run's file for run, and an experiment's for everything else, is one error that says whose it is.
func TestTheOtherKindOfFile(t *testing.T) {
	w := newWorkbench(t)
	w.want(exitUsage, "run run.yaml", "run.yaml:2:1: model: a key of one run, which ablate train takes")
	for _, command := range []string{"train", "config print", "inspect"} {
		w.want(exitUsage, command+" experiment.yaml", "experiment.yaml:3:1: base: a key of an experiment, which ablate run takes")
	}
}

// TestOddShapes: what does not fit together names both numbers.
func TestOddShapes(t *testing.T) {
	w := newWorkbench(t)
	for args, want := range map[string]string{
		"model.heads=3":                                     "3 does not divide d_model 16",
		"model.heads=4 model.kv_heads=3":                    "kv_heads=3: 3 does not divide",
		"model.heads=4 model.head_dim=5":                    "an even number",
		"model.position=learned model.position.max=8":       "8",
		"model.position={kind:\x20learned,max:\x208}":       "8",
		"model.layers=2 model.attention.window=[4,4,4]":     "3",
		"model.placement=[pre,post]":                        "2",
		"train.lr=0":                                        "train.lr=0",
		"train.lr=-1e-3":                                    "train.lr=-1e-3",
		"train.betas=[0.9,1]":                               "train.betas",
		"model.dropout=1":                                   "model.dropout=1",
		"data.validation=1":                                 "data.validation=1",
		"model.position.base=3 model.position.kind=learned": "base",
	} {
		code, _, stderr := w.run(append([]string{"train", "run.yaml"}, splitSettings(args)...)...)
		if code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%s ends with %d: %s", args, code, stderr)
		}
	}
}

// splitSettings parts settings at spaces that do not stand in braces.
func splitSettings(args string) (out []string) {
	depth := 0
	return strings.FieldsFunc(args, func(r rune) bool {
		switch r {
		case '{':
			depth++
		case '}':
			depth--
		}
		return r == ' ' && depth == 0
	})
}

// TestTexts: bytes are bytes. Whatever they are they train, unless there are too few.
func TestTexts(t *testing.T) {
	w := newWorkbench(t)
	enough := func(s string) string { return strings.Repeat(s, 1+2000/len(s)) }
	texts := map[string]string{
		"invalid": enough("\xff\xfe\x80abc"), "bom": "\xef\xbb\xbf" + enough("text "), "crlf": enough("a\r\nb\n"), "nul": enough("a\x00b"),
		"line": enough("no newline "), "one": "\x00", "empty": "", "context": strings.Repeat("a", 16), "longer": strings.Repeat("a", 17), "split": strings.Repeat("a", 60),
	}
	for name, text := range texts {
		w.write(name, text)
		want := exitDone
		if len(text) < 100 {
			want = exitData
		}
		code, stdout, stderr := w.run("train", "run.yaml", "data.path="+name, "name="+name, "--json", "--progress", "off", "train.steps=1")
		if code != want {
			t.Errorf("%s ends with %d: %s", name, code, stderr)
			continue
		}
		if want == exitData && (!strings.Contains(stderr, "17") || !strings.Contains(stderr, fmt.Sprint("has ", len(text))) && !strings.Contains(stderr, fmt.Sprint("of ", len(text)))) {
			t.Errorf("%s lacks the numbers: %s", name, stderr)
		}
		if want == exitDone {
			if s := w.summary(stdout); s.Status != metrics.Done || len(s.DataHash) != 64 {
				t.Errorf("%s: %+v", name, s)
			}
		}
	}
}

// TestReplacedData: the data is known by its content. Another file of the same name
// is another run; the first one's results stay.
func TestReplacedData(t *testing.T) {
	w := newWorkbench(t)
	first := w.summary(w.want(exitDone, "train run.yaml --json --progress off"))
	w.write("text.txt", strings.Repeat("something else entirely\n", 100))
	second := w.summary(w.want(exitDone, "train run.yaml --json --progress off"))
	if first.ID == second.ID || first.DataHash == second.DataHash || len(w.cellDirs("tiny")) != 2 {
		t.Errorf("%+v and %+v", first, second)
	}
	if manifest := w.read(second.Dir + "/manifest.json"); !strings.Contains(manifest, second.DataHash) {
		t.Error("the manifest does not hold the hash")
	}
	if err := os.Truncate("text.txt", 100); err != nil {
		t.Fatal(err)
	}
	w.want(exitData, "train run.yaml", "needs at least 17 tokens")
}

// TestEveryNormAndActivationByName: the names that config keys lists are those that
// a file may use.
func TestEveryNormAndActivationByName(t *testing.T) {
	w := newWorkbench(t)
	for _, k := range config.Keys(sweep.Config{}) {
		for _, word := range k.Enum {
			if code, _, stderr := w.run("config", "print", "run.yaml", k.Path+"="+word); code != exitDone && !strings.Contains(stderr, "read") && !strings.Contains(stderr, "head") && !strings.Contains(stderr, "source") {
				t.Errorf("%s=%s ends with %d: %s", k.Path, word, code, stderr)
			}
		}
	}
}

// TestEndlessFile: a device without an end is no configuration.
func TestEndlessFile(t *testing.T) {
	if _, err := os.Stat("/dev/zero"); err != nil || testing.Short() {
		t.Skip("reads 256 MiB of nothing")
	}
	w := newWorkbench(t)
	w.want(exitUsage, "train /dev/zero", "/dev/zero: more than 256 MiB")
}
