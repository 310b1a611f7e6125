package config_test

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"ablate/experiments/config"
)

// TestEncode: the complete configuration, in the order of the fields, without what
// the variants do not read; reading it gives the same.
func TestEncode(t *testing.T) {
	r := decode(t, "name: 'yes'\nnote: {b: [1e-7, x y], a: 1e21}\nmodel: {norm: rmsnorm, blocks: [none, {eps: 1}]}\ntrain: {steps: 7, lr: 0.00001, batch: 18446744073709551615}\naxes: {model.layers: [1, 2]}")
	want := `name: "yes"
salt: ""
seed:
  data: 1
  init: 1
model:
  layers: 4
  d_model: 128
  heads: 4
  d_ff: auto
  dropout: 0
  activation: gelu
  norm:
    kind: rmsnorm
    eps: 1e-5
  position:
    kind: rope
    base: 500
  blocks: [{kind: none}, {kind: layernorm, eps: 1, bias: false}]
  tied: true
train:
  steps: 7
  lr: 1e-5
  betas: [0.9, 0.95]
  batch: 18446744073709551615
  tokens: 65536
  marks: []
  rates: []
  show: [loss]
axes:
  model.layers: [1, 2]
note:
  a: 1e21
  b: [1e-7, x y]
`
	got := string(config.Encode(r).YAML())
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	again := decode(t, got)
	if string(config.Encode(&again).YAML()) != want {
		t.Errorf("reading it gives another:\n%s", config.Encode(again).YAML())
	}
	if string(config.Canonical(again)) != string(config.Canonical(&r)) {
		t.Error("reading it changes the canonical form")
	}
	r.Axes, again.Axes, r.Train.Marks, again.Train.Marks = nil, nil, nil, nil
	if !reflect.DeepEqual(r, again) {
		t.Errorf("got  %+v\nwant %+v", again, r)
	}
}

// TestQuoting: text stays the same text, whatever it looks like.
func TestQuoting(t *testing.T) {
	for _, s := range []string{"", " ", "a", "a b", " a", "a ", "yes", "No", "on", "y", "true", "null", "~", "Null", "12", "1e-4", "1_0", "010", "0x1", ".nan", ".inf", "-", "- a", "a: b", "a #b",
		"#", "*x", "&x", "!x", "%x", "@x", "`x", "'", `"`, `\`, "a\nb", "a\tb", "\x00\x1b\x7f", "\u0085\u00a0\u2028\ufeff\ufffd", "日本語", "\U0001F600", "{a}", "[a]", "a, b", "<<", "---", "...",
		"x + N2(F(N1(x)))", "N1(alpha*x + F(x))", "x - F(x)", "=", "a=b", "2001-01-01", "/tmp/x y/z.txt", `C:\x`, "</script><script>", "a'b"} {
		r := Root{Name: s, Train: Train{Steps: 1, Show: []string{}}, Note: map[string]any{"k": []any{s}}}
		if strings.TrimSpace(s) != "" {
			r.Note.(map[string]any)[s] = s // as a key as well
		}
		file := string(config.Encode(r.Note).YAML())
		back, err := config.ParseFile("x", []byte(file))
		if err == nil {
			err = back.Err()
		}
		if err != nil {
			t.Errorf("%q: %v\n%s", s, err, file)
			continue
		}
		if !reflect.DeepEqual(back.Value(), r.Note) {
			t.Errorf("%q: got %#v\n%s", s, back.Value(), file)
		}
		arg, err := config.ParseArgs([]string{"k=" + strings.TrimSuffix(strings.TrimPrefix(string(config.Encode(s).YAML()), ""), "\n")})
		if err != nil || arg.Err() != nil || arg.Get("k").Value() != s {
			t.Errorf("argument %q: %v", s, err)
		}
	}
}

func TestCanonical(t *testing.T) {
	yaml := "b: 1.50\na: [1e3, -0, 1E-7, 123456789012345678901234567890, 0.1, 1e21]\nA: {y: \"\\t\\\"\\\\é\\u2028<\", x: true}\n"
	want := `{"A":{"x":true,"y":"\u0009\"\\é` + "\u2028" + `<"},"a":[1000,0,1e-7,123456789012345678901234567890,0.1,1e21],"b":1.5}`
	tree := parse(t, yaml)
	got := string(config.Canonical(tree))
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if !json.Valid([]byte(got)) {
		t.Error("not JSON")
	}
	// A composite, as it is hashed for the identity of a run.
	composite := map[string]any{"z": &Norm{Kind: "rmsnorm", Eps: 1e-5, Bias: true}, "a": Auto{}, "n": Norm{Kind: "layernorm", Eps: 1}}
	if got, want := string(config.Canonical(composite)), `{"a":"auto","n":{"bias":false,"eps":1,"kind":"layernorm"},"z":{"eps":1e-5,"kind":"rmsnorm"}}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := string(config.Canonical(map[string]any{"f": math.NaN(), "g": math.Inf(-1)})); got != `{"f":"NaN","g":"-Inf"}` {
		t.Error(got)
	}
	if got := string(config.Canonical(nil)); got != "null" {
		t.Error(got)
	}
}

// TestFloats: every printed float parses to itself and is no integer that overflows.
func TestFloats(t *testing.T) {
	for _, f := range []float64{0, 1, -1, 0.1, 1e-4, 9.9e-5, 1e-5, 5e-324, 1e14, 999999999999999, 1e15, 1 << 53, 1e18, 1e19, 1e22, math.MaxFloat64, -1.0 / 3} {
		arg := "note=" + strings.TrimSpace(string(config.Encode(f).YAML()))
		got := decode(t, "train: {steps: 1}", arg).Note
		if i, ok := got.(int64); ok {
			got = float64(i)
		}
		if got != f {
			t.Errorf("%v becomes %v (%s)", f, got, arg)
		}
	}
}
