package config_test

import (
	"strings"
	"testing"
)

// TestValues: what each value of a key is told.
func TestValues(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		// integers
		{"layers: 8.5", "4:11: model.layers: 8.5: not an integer; allowed: in [1, 512]"},
		{"layers: 8.0", "4:11: model.layers: 8.0: not an integer; write 8; allowed: in [1, 512]"},
		{"layers: 1e2", "4:11: model.layers: 1e2: not an integer; write 100; allowed: in [1, 512]"},
		{"layers: 0", "4:11: model.layers: 0: out of range; allowed: in [1, 512]"},
		{"layers: -3", "4:11: model.layers: -3: out of range; allowed: in [1, 512]"},
		{"layers: 99999999999999999999", "4:11: model.layers: 99999999999999999999: beyond a 64-bit integer; allowed: in [1, 512]"},
		{"layers: 010", "4:11: model.layers: 010: not a number as in JSON (decimal, no leading zero, plus, underscore or bare point); quote it if it is text"},
		{"layers: 0x10", "4:11: model.layers: 0x10: not a number as in JSON"},
		{"layers: 1_000", "4:11: model.layers: 1_000: not a number as in JSON"},
		{"layers: +1", "4:11: model.layers: +1: not a number as in JSON"},
		{`layers: "8"`, "4:11: model.layers: \"8\": a number in quotes; write 8"},
		{"layers: '8'", "4:11: model.layers: \"8\": a number in quotes; write 8"},
		{"layers: eight", "4:11: model.layers: eight: not an integer; allowed: in [1, 512]"},
		{"layers: true", "4:11: model.layers: true: not an integer; allowed: in [1, 512]"},
		{"layers: [4]", "4:11: model.layers: [4]: not an integer; allowed: in [1, 512]"},
		{"layers:", "4:10: model.layers: no value; give one or remove the key"},
		{"layers: null", "4:11: model.layers: null: no value; give one or remove the key"},
		{"layers: ~", "4:11: model.layers: ~: no value; give one or remove the key"},
		// floats
		{"dropout: 1", "4:12: model.dropout: 1: out of range; allowed: in [0, 1)"},
		{"dropout: .5", "4:12: model.dropout: .5: not a number as in JSON"},
		{"dropout: 1.", "4:12: model.dropout: 1.: not a number as in JSON"},
		{"dropout: .nan", "4:12: model.dropout: .nan: not a finite number"},
		{"dropout: -.inf", "4:12: model.dropout: -.inf: not a finite number"},
		{"dropout: inf", "4:12: model.dropout: inf: not a number; allowed: in [0, 1)"},
		{"dropout: 1e999", "4:12: model.dropout: 1e999: beyond a 64-bit float; allowed: in [0, 1)"},
		{"dropout: 1e-999", "4:12: model.dropout: 1e-999: too small for a 64-bit float; allowed: in [0, 1)"},
		// booleans
		{"tied: yes", "4:9: model.tied: yes: not a boolean; write true"},
		{"tied: OFF", "4:9: model.tied: OFF: not a boolean; write false"},
		{"tied: True", "4:9: model.tied: True: not a boolean; write true"},
		{"tied: 1", "4:9: model.tied: 1: not a boolean; allowed: true, false"},
		// text
		{"activation: swigul", "4:15: model.activation: swigul: unknown; allowed: relu, gelu, swiglu; did you mean swiglu?"},
		{"activation: 3", "4:15: model.activation: 3: unknown; allowed: relu, gelu, swiglu"},
		{"activation: [relu]", "4:15: model.activation: [relu]: not text; allowed: relu, gelu, swiglu"},
		{"position: leraned", "4:13: model.position.kind: leraned: unknown; allowed: none, rope, learned; did you mean learned?"},
		// YAML that a configuration has no use for
		{"layers: &a 3", "4:11: model.layers: &a: an anchor; not allowed"},
		{"layers: !!int 3", "4:11: model.layers: !!int: a tag; not allowed"},
		{"layers: &a 3\nheads: *a", "5:10: model.heads: *a: an alias; write the value itself"},
		{"<<: {layers: 3}", "4:3: model.<<: a merge key; write the keys themselves"},
		{"? [a]\n: 3", "4:5: model: a key must be a plain word"},
		{"layers: 3\nheads: 4\nlayers: 5", "6:3: model.layers: duplicate key; first in line 4"},
		// structs, variants and lists
		{"norm: {kind: rmsnorm, bias: true}", "4:25: model.norm.bias: not read by rmsnorm; remove it or choose a variant that reads it"},
		{"norm: [rmsnorm]", "4:9: model.norm: [rmsnorm]: not a mapping; allowed keys: kind, eps, bias"},
		{"position: {kind: learned, base: 7}", "4:29: model.position.base: not read by learned"},
		{"blocks: rmsnorm", "4:11: model.blocks: rmsnorm: not a list; write [rmsnorm]"},
		{"blocks: [rmsnorm, {kind: none, eps: 1}]", "4:34: model.blocks[1].eps: not read by none"},
		{"blocks: [rmsnorm, layer_norm]", "4:21: model.blocks[1].kind: layer_norm: unknown; allowed: layernorm, rmsnorm, none; did you mean layernorm?"},
		// types that read themselves
		{"d_ff: wide", "4:9: model.d_ff: wide: allowed: auto or an integer"},
		{"d_ff: 1e3", "4:9: model.d_ff: 1e3: allowed: auto or an integer"},
		{"d_ff: -4", "4:9: model.d_ff: -4: out of range; allowed: >= 1"},
		{"d_ff: 99999999999999999999", "4:9: model.d_ff: 99999999999999999999: beyond a 64-bit integer"},
		// checks of the structs
		{"heads: 6", "4:10: model.heads: 6 does not divide d_model 128"},
		{"d_ff: 5\nlayers: 500\nnorm: none", "6:9: model.norm.kind: none does not train this deep"},
		{"layers: 200\nnorm: {kind: none}", "5:16: model.norm.kind: none does not train this deep"},
		{"layers: 200\nnorm: none", "5:9: model.norm.kind: none does not train this deep"},
		{"d_model: 130", "3:1: model.heads: 4 does not divide d_model 130"},
		// keys
		{"head: 8", "4:3: model.head: unknown key; did you mean heads?"},
		{"lr: 1e-3", "4:3: model.lr: unknown key; did you mean train.lr?"},
		{"Stray: 1", "4:3: model.Stray: unknown key; allowed: layers, d_model, heads,"},
	} {
		got := failure(t, under("model", c.line))
		lines := strings.Split(got, "\n")
		last := lines[len(lines)-1]
		if !strings.HasPrefix(last, "tiny.yaml:"+c.want) {
			t.Errorf("%s\n got %s\nwant tiny.yaml:%s", c.line, got, c.want)
		}
		if len(lines) > 1 && !strings.Contains(c.line, "*a") {
			t.Errorf("%s: more than one complaint:\n%s", c.line, got)
		}
	}
}

func TestListsAndUnsigned(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"betas: [0.9]", "2:10: train.betas: [0.9]: 1 elements; allowed: 2"},
		{"betas: [0.9, 1]", "2:16: train.betas[1]: 1: out of range; allowed: in [0, 1)"},
		{"betas: 0.9", "2:10: train.betas: 0.9: not a list; write [0.9]"},
		{"marks: [1, 2.5, x]", "2:14: train.marks[1]: 2.5: not an integer\ntiny.yaml:2:19: train.marks[2]: x: not an integer"},
		{"show: [loss, grad]", "2:16: train.show[1]: grad: unknown; allowed: loss, grads; did you mean grads?"},
		{"batch: -1", "2:10: train.batch: -1: negative; allowed: >= 0"},
		{"batch: 18446744073709551616", "2:10: train.batch: 18446744073709551616: beyond an unsigned 64-bit integer; allowed: >= 0"},
	} {
		if got := failure(t, "train:\n  "+c.line+"\n  steps: 1\n"); got != "tiny.yaml:"+c.want {
			t.Errorf("%s\n got %s\nwant tiny.yaml:%s", c.line, got, c.want)
		}
	}
}

// TestAllAtOnce is the golden example of a thoroughly wrong file.
func TestAllAtOnce(t *testing.T) {
	file := `name: 12
modle: {layers: 2}
model:
  layers: 8.5
  d_model: 010
  heads: "4"
  tied: yes
  dropout: .nan
  activation: swigul
  position: {kind: learned, base: 10000}
  layers: 3
  blocks: [&a rmsnorm, *a]
train:
  lr: 1e-4
  beta: [0.9, 0.99]
seed:
`
	want := `tiny.yaml:1:7: name: 12: not text; if it is meant as text, write "12"
tiny.yaml:2:1: modle: unknown key; did you mean model?
tiny.yaml:4:11: model.layers: 8.5: not an integer; allowed: in [1, 512]
tiny.yaml:5:12: model.d_model: 010: not a number as in JSON (decimal, no leading zero, plus, underscore or bare point); quote it if it is text
tiny.yaml:6:10: model.heads: "4": a number in quotes; write 4
tiny.yaml:7:9: model.tied: yes: not a boolean; write true
tiny.yaml:8:12: model.dropout: .nan: not a finite number
tiny.yaml:9:15: model.activation: swigul: unknown; allowed: relu, gelu, swiglu; did you mean swiglu?
tiny.yaml:10:29: model.position.base: not read by learned; remove it or choose a variant that reads it
tiny.yaml:11:3: model.layers: duplicate key; first in line 4
tiny.yaml:12:12: model.blocks[0]: &a: an anchor; not allowed, quote it if it is text
tiny.yaml:12:24: model.blocks[1]: *a: an alias; write the value itself, or quote it if it is text
tiny.yaml:13:1: train.steps: required; allowed: >= 1
tiny.yaml:15:3: train.beta: unknown key; did you mean betas?
tiny.yaml:16:6: seed: no value; give one or remove the key
train.lr=abc: not a number
modelheads=3: unknown key; allowed: name, salt, seed, model, train, axes, note`
	if got := failure(t, file, "train.lr=abc", "modelheads=3"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestConsequences: a struct's own check is not reported where it only follows from
// a value that is wrong already.
func TestConsequences(t *testing.T) {
	got := failure(t, under("model", "d_model: x\nheads: 6"))
	if strings.Contains(got, "divide") {
		t.Errorf("complains about a placeholder:\n%s", got)
	}
	got = failure(t, under("model", "head: 6\nd_model: 130"))
	if strings.Contains(got, "divide") {
		t.Errorf("complains about a key that was misspelt:\n%s", got)
	}
	got = failure(t, under("model", "layers: x\nheads: 6"))
	if !strings.Contains(got, "6 does not divide d_model 128") {
		t.Errorf("hides an independent problem:\n%s", got)
	}
}

func TestArguments(t *testing.T) {
	for _, c := range []struct{ arg, want string }{
		{"train.lr=abc", "train.lr=abc: not a number"},
		{"train.lr= abc", "train.lr= abc: not a number"},
		{"model.layers=0", "model.layers=0: out of range; allowed: in [1, 512]"},
		{"model.head=6", "model.head=6: unknown key; did you mean heads?"},
		{"lr=1e-3", "lr=1e-3: unknown key; did you mean train.lr?"},
		{"modle.heads=6", "modle.heads=6: modle: unknown key; did you mean model?"},
		{"model.heads=6", "model.heads=6: 6 does not divide d_model 128"},
		{"train.betas=[0.9, x]", "train.betas=[0.9, x]: train.betas[1]: x: not a number; allowed: in [0, 1)"},
		{"model.norm={kind: none, eps: 1}", "model.norm={kind: none, eps: 1}: model.norm.eps: not read by none; remove it or choose a variant that reads it"},
		{"model.norm={kind: none, kind: none}", "model.norm={kind: none, kind: none}: model.norm.kind: duplicate key"},
		{"train.lr", "train.lr: not an argument of the form key=value"},
		{"train.lr=", `train.lr=: no value; for empty text write ""`},
		{"train.lr=null", "train.lr=null: no value; give one or remove the key"},
		{"name=a #b", "name=a #b: not a single value; quote it if it is text"},
		{"name=a: b", "name=a: b: not a single value; quote it if it is text"},
		{"name=--- a", "name=--- a: not a single value; quote it if it is text"},
		{"name=- a", "name=- a: not a single value; quote it if it is text"},
		{"name=[a", "name=[a: not YAML: did not find expected ',' or ']'"},
		{"name=\"a\"\n", ""},
		{"name=a\nb", `name=a\nb: several lines; for text with line breaks write "a\nb"`},
		{"name=12", `name=12: not text; if it is meant as text, write "12"`},
		{"=3", "=3: empty key in the path"},
		{"train..lr=3", "train..lr=3: empty key in the path"},
		{"train.lr.x=3", "train.lr.x=3: train.lr: {x: 3}: not a number"},
		{"model.layers=\x1b[31m", `model.layers=\x1b[31m`},
	} {
		if c.want == "" {
			decode(t, under("model", "layers: 3"), c.arg)
			continue
		}
		if got := failure(t, under("model", "layers: 3"), c.arg); got != c.want && !(strings.HasPrefix(got, c.want) && strings.ContainsRune(c.arg, '\x1b')) {
			t.Errorf("%q\n got %s\nwant %s", c.arg, got, c.want)
		}
	}
	got := failure(t, "name: x", "train.lr=1", "train.lr=2", "train=3")
	want := "train.lr=2: given twice, first in train.lr=1\ntrain=3: given twice"
	if !strings.Contains(got, "train.lr=2: given twice, first in train.lr=1") {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// TestNoTree: text that cannot be read at all.
func TestNoTree(t *testing.T) {
	for _, c := range []struct{ yaml, want string }{
		{"", "tiny.yaml: empty; want keys and values"},
		{"# nothing\n", "tiny.yaml: empty; want keys and values"},
		{"- a\n", "tiny.yaml:1:1: [a]: not a mapping from keys to values"},
		{"word\n", "tiny.yaml:1:1: word: not a mapping from keys to values"},
		{"a: 1\n---\nb: 2\n", "tiny.yaml:2: a second document; one is allowed"},
		{"a: [1\nb: 2\n", "tiny.yaml:1: not YAML: did not find expected ',' or ']'"},
		{"a: 1\nb: *x\n", "tiny.yaml:2: not YAML: unknown anchor 'x' referenced"},
		{"a: \x00\n", "tiny.yaml: not YAML: control characters are not allowed"},
		{"a: \xff\n", "tiny.yaml: not YAML: invalid leading UTF-8 octet"},
		{"a: " + strings.Repeat(" ", 5<<20), "tiny.yaml: 5242883 bytes; at most 4194304 are read"},
	} {
		if got := failure(t, c.yaml); got != c.want {
			t.Errorf("%.40q\n got %s\nwant %s", c.yaml, got, c.want)
		}
	}
}

func TestBounds(t *testing.T) {
	deep := "name: x\nnote: " + strings.Repeat("[", 100) + strings.Repeat("]", 100)
	if got := failure(t, deep, "train.steps=1"); !strings.Contains(got, "nested deeper than 64 levels") {
		t.Error(got)
	}
	if got := failure(t, "note: "+strings.Repeat("[", 20000)); !strings.Contains(got, "exceeded max depth") {
		t.Error(got)
	}
	if got := failure(t, "name: x", "a"+strings.Repeat(".a", 100)+"=1"); !strings.Contains(got, "nested deeper") {
		t.Error(got)
	}
	bomb := "a: &a [x,x,x,x]\nb: &b [*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b]\n"
	if got := failure(t, bomb); strings.Count(got, "an anchor") != 3 {
		t.Error(got)
	}
	var many strings.Builder
	for i := range 5000 {
		many.WriteString("k" + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + ": 1\n")
	}
	if got := failure(t, many.String()); !strings.Contains(got, "5000 keys; at most 4096 are read") {
		t.Errorf("%.200s", got)
	}
	wrong := "train: {steps: 1}\nmodel:\n"
	for i := range 500 {
		wrong += "  wrong" + strings.Repeat("z", i) + ": 1\n"
	}
	if got := failure(t, wrong); strings.Count(got, "\n") != 100 || !strings.HasSuffix(got, "and 400 more problems") {
		t.Errorf("%.200s … %s", got, got[max(0, len(got)-100):])
	}
}
