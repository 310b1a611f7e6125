package golden

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"ablate/graph"
)

// edit decodes a file, changes the value at a path of keys and indices, and
// encodes it again. change is given the old value, nil if there is none.
func edit(t testing.TB, data []byte, change func(old any) any, path ...any) []byte {
	t.Helper()
	var root any
	if err := json.Unmarshal(data, &root); err != nil {
		t.Fatal(err)
	}
	at := root
	for i, p := range path {
		last := i == len(path)-1
		switch key := p.(type) {
		case string:
			m := at.(map[string]any)
			if last {
				m[key] = change(m[key])
				if m[key] == nil {
					delete(m, key)
				}
			} else {
				at = m[key]
			}
		case int:
			l := at.([]any)
			if last {
				l[key] = change(l[key])
			} else {
				at = l[key]
			}
		}
	}
	out, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestSmallestDifferencesAreSeen changes one number of every part of a file by a
// little more than what is allowed; each must be noticed.
func TestSmallestDifferencesAreSeen(t *testing.T) {
	data := load(t, "testdata/s05_output_lnnobias_geglu_ropeint_qknormfull_L3.json.gz")
	shift := func(by float64) func(any) any { return func(old any) any { return old.(float64) + by } }
	for _, c := range []struct {
		what string
		by   float64
		path []any
	}{
		{"logits", 2e-10, []any{"logits", "data", 17}},
		{"token_nll", 2e-10, []any{"token_nll", "data", 3}},
		{"loss", 2e-10, []any{"loss"}},
		{"perplexity", 1e-6, []any{"perplexity"}},
		{"gradient of block.1.attn.wk", 1e-6, []any{"grads", "blocks.1.qkv.weight", "data", 16*16 + 5}},
		{"gradient of block.2.ffn.up", 1e-6, []any{"grads", "blocks.2.up.weight", "data", 12*16 + 1}},
		{"gradient of block.0.attn.q_norm.w", 1e-6, []any{"grads", "blocks.0.q_norm.weight", "data", 15}},
		{"param_grad_norms", 1e-6, []any{"param_grad_norms", "head"}},
		{"layer_grad_norms", 1e-6, []any{"layer_grad_norms", 1}},
		{"total_grad_norm", 1e-6, []any{"total_grad_norm"}},
		{"residual_grad_norms", 1e-6, []any{"residual_grad_norms", 3}},
		{"residual_rms", 1e-9, []any{"residual_rms", 0}},
		{"total parameters", 1, []any{"param_counts", "total"}},
		{"non-embedding parameters", 1, []any{"param_counts", "non_embedding"}},
		{"parameters of role norm", 1, []any{"param_counts", "by_role", "norm"}},
		{"parameters of block 2", 1, []any{"param_counts", "per_block", 2}},
		{"cache elements", 1, []any{"kv_cache_elements_per_token"}},
		{"trace losses", 2e-8, []any{"train", "trace", 3, "loss"}},
		{"trace norms", 2e-8, []any{"train", "trace", 2, "grad_norm_before_clip"}},
		{"rope frequencies", 1e-9, []any{"rope", "inv_freq", 1}},
		{"logits", 1e-5, []any{"params", "blocks.0.down.weight", "data", 0}},
		{"logits", 1e-4, []any{"config", "eps"}},
	} {
		r, err := Verify("x", edit(t, data, shift(c.by), c.path...), graph.Float64)
		if err != nil {
			t.Errorf("%v: %v", c.path, err)
			continue
		}
		if r.OK || !strings.Contains(strings.Join(r.Problems, "\n"), c.what) {
			t.Errorf("%v: ok %v, problems %v", c.path, r.OK, r.Problems)
		}
	}
}

func TestDecodingDifferencesAreSeen(t *testing.T) {
	data := load(t, "testdata/s24_pre_ln_swa_learned_qkvbiasonly_decode.json.gz")
	add := func(by float64) func(any) any { return func(old any) any { return old.(float64) + by } }
	other := func(old any) any { return math.Mod(old.(float64)+1, 11) }
	last := edit(t, edit(t, data, other, "decode", "greedy", 11), other, "decode", "tokens", 16)
	for _, c := range []struct {
		name string
		data []byte
		want []string
	}{
		{"first row", edit(t, data, add(2e-10), "decode", "logits", "data", 3), []string{"decode token by token: element 3", "decode without a cache"}},
		{"last row", edit(t, data, add(2e-10), "decode", "logits", "data", 16*11+5), []string{"token by token: element 5", "prompt at once: element 5", "without a cache: element 5"}},
		{"last token", last, []string{"token by token: token 11 after the prompt is", "prompt at once: token 11", "without a cache: token 11"}},
	} {
		r, err := Verify("x", c.data, graph.Float64)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		problems := strings.Join(r.Problems, "\n")
		for _, want := range c.want {
			if r.OK || !strings.Contains(problems, want) {
				t.Errorf("%s: ok %v, problems %v, want %q", c.name, r.OK, r.Problems, want)
			}
		}
	}
}

func TestOpDifferencesAreSeen(t *testing.T) {
	for _, path := range files(t, "op_*") {
		data := load(t, path)
		var f struct {
			Output map[string]json.RawMessage
			Grads  map[string]json.RawMessage
			Steps  []any
		}
		if err := json.Unmarshal(data, &f); err != nil {
			t.Fatal(err)
		}
		at := []any{"output", "data", 0}
		switch {
		case f.Steps != nil:
			at = []any{"steps", 4, "param", "data", 1}
		case f.Output["g0"] != nil:
			at = []any{"output", "g1", "data", 2}
		}
		changed := [][]any{at}
		for name := range f.Grads {
			changed = append(changed, []any{"grads", name, "data", 0})
		}
		for _, at := range changed {
			r, err := Verify("x", edit(t, data, func(old any) any { return old.(float64) + 1e-6*(1+math.Abs(old.(float64))) }, at...), graph.Float64)
			if err != nil || r.OK {
				t.Errorf("%s, %v changed: ok %v, %v", path, at, r.OK, err)
			}
		}
	}
}

func TestErrorsNameWhatIsWrong(t *testing.T) {
	model := load(t, "testdata/s08_lns_rms_reglu_ropepartial_mqa_L3.json.gz")
	op := load(t, "testdata/op_attention_softcap_kv2.json.gz")
	slopes := load(t, "testdata/op_alibi_slopes_h4.json.gz")
	decoded := load(t, "testdata/s24_pre_ln_swa_learned_qkvbiasonly_decode.json.gz")
	set := func(v any) func(any) any { return func(any) any { return v } }
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "unexpected EOF"},
		{"a list", []byte("[]"), "an object is wanted"},
		{"cut", model[:len(model)/2], "unexpected EOF"},
		{"followed", append(op[:len(op):len(op)], " {}"...), "something follows the end"},
		{"twice", []byte(`{"op":"relu","op":"relu"}`), `"op" stands twice`},
		{"neither", []byte(`{"params":{},"grads":{}}`), "neither a model with a config nor an op"},
		{"unknown op", edit(t, op, set("cumsum"), "op"), `op "cumsum" is not known; known: adamw`},
		{"prefix inside a word", edit(t, op, set("attentions"), "op"), `op "attentions" is not known`},
		{"unknown option", edit(t, op, set(true), "attrs", "sinks"), "attrs: not known: sinks"},
		{"unknown input", edit(t, op, set(map[string]any{"shape": []int{1}, "data": []int{1}}), "inputs", "sink"), "inputs: sink is not known"},
		{"option's case", edit(t, op, set(2), "attrs", "Softcap"), "attrs: not known: Softcap"},
		{"option's type", edit(t, op, set("2"), "attrs", "softcap"), "attrs: softcap: "},
		{"null", edit(t, op, set([]any{nil}), "inputs", "q", "data"), "inputs.q: data: null is no value"},
		{"shape", edit(t, op, set([]int{2, 7, 4, 7}), "inputs", "q", "shape"), "shape [2 7 4 7] does not fit 336 numbers"},
		{"overflowing shape", edit(t, op, set([]int{1 << 40, 1 << 40, 4, 6}), "inputs", "q", "shape"), "does not fit 336 numbers"},
		{"negative shape", edit(t, op, set([]int{-2, -7, 4, 6}), "inputs", "q", "shape"), "does not fit 336 numbers"},
		{"missing gradient", edit(t, op, set(nil), "grads", "v"), "grads: v has shape []"},
		{"gradient too many", edit(t, op, set(map[string]any{"shape": []int{1}, "data": []int{1}}), "grads", "sink"), "grads: sink is no input"},
		{"input of a table", edit(t, slopes, set(map[string]any{"shape": []int{1}, "data": []int{1}}), "inputs", "sink"), "inputs: sink is not known"},
		{"unknown key", edit(t, model, set(1), "config", "n_experts"), "config: not known: n_experts"},
		{"unknown part", edit(t, model, set(1), "attention_maps"), "not known: attention_maps"},
		{"format", edit(t, model, set("golden3"), "format"), `format "golden3" is not known`},
		{"placement", edit(t, model, set([]string{"lns", "lns", "keel"}), "config", "places"), `place "keel" is not known`},
		{"placement of all blocks", edit(t, model, set([]string{"lns", "lns", "mix"}), "config", "places"), "places: a block cannot be placed mix"},
		{"placement of other names", edit(t, model, set("hybrid_star"), "config", "place"), `place "hybrid_star" is not known`},
		{"short places", edit(t, model, set([]string{"lns"}), "config", "places"), "places: 1 for 3 layers"},
		{"activation", edit(t, model, set("mish"), "config", "act"), `activation: unknown activation "mish"`},
		{"norm", edit(t, model, set("groupnorm"), "config", "norm"), `unknown norm "groupnorm"`},
		{"position", edit(t, model, set("xpos"), "config", "pos"), `unknown position encoding "xpos"`},
		{"scaling", edit(t, model, set("longrope"), "config", "rope_scaling", "type"), `config.rope_scaling: type "longrope" is not known`},
		{"scaling key", edit(t, model, set(2), "config", "rope_scaling", "alpha"), "config.rope_scaling: not known: alpha"},
		{"rope style", edit(t, decoded, set("neox"), "config", "rope_style"), `config: rope_style: "neox" is not known`},
		{"word for a scale", edit(t, model, set(-1), "config", "embed_scale"), "config: embed_scale -1, logit_scale 1: only numbers above 0"},
		{"word for a factor", edit(t, model, set(-2), "config", "logit_scale"), "config: embed_scale 1, logit_scale -2: only numbers above 0"},
		{"half a size", edit(t, model, set(8.5), "config", "T"), "config: T: "},
		{"layers", edit(t, model, set(1000000000), "config", "n_layer"), "n_layer: "},
		{"context", edit(t, model, set(1<<20), "config", "T"), "activations; at most"},
		{"heads", edit(t, model, set(0), "config", "n_kv_head"), "n_kv_head: 0 is no size"},
		{"token", edit(t, model, set(11), "tokens", 0, 0), "tokens: 11 is not in a vocabulary of 11"},
		{"missing parameter", edit(t, edit(t, model, set(nil), "params", "normf.weight"), set(nil), "grads", "normf.weight"), "params: normf.weight is missing"},
		{"parameter too many", edit(t, edit(t, model, set(map[string]any{"shape": []int{1}, "data": []int{1}}), "params", "sink"), set(map[string]any{"shape": []int{1}, "data": []int{1}}), "grads", "sink"), "params: sink has no place in the model"},
		{"width", edit(t, model, set(13), "config", "d_ff"), "the configuration asks for [26 16]"},
		{"prompt", edit(t, decoded, set([]int{}), "decode", "prompt"), "decode: tokens: not a prompt of at least one token"},
		{"continuation", edit(t, decoded, set(3), "decode", "tokens", 5), "decode: tokens: not a prompt"},
		{"rows", edit(t, decoded, set([]int{11, 17}), "decode", "logits", "shape"), "decode: logits: shape [11 17]; [17 11] is wanted"},
		{"part of decode", edit(t, decoded, set(1), "decode", "beam"), "decode: not known: beam"},
		{"part of trace", edit(t, model, set(1), "train", "trace", 0, "lr"), "train: trace: not known: lr"},
		{"trace without loss", edit(t, model, set(nil), "train", "trace", 3, "loss"), "train: step 3 has no loss"},
		{"gradient of nothing", edit(t, model, set(map[string]any{"shape": []int{1}, "data": []int{1}}), "grads", "sink"), "grads: sink is no parameter"},
		{"trace", edit(t, model, set([]any{}), "train", "trace"), "train: a trace of 0 steps"},
	} {
		_, err := Verify("dir/file.json", c.data, graph.Float64)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "file.json: ") {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	if _, err := Verify("x", op, graph.Int32); err == nil {
		t.Error("integers pass as a precision")
	}
}

func TestNormOfNoParameter(t *testing.T) {
	data := load(t, "testdata/m01_pre_ln_gelu_learned_mha_tied_bias.json.gz")
	r, err := Verify("x", edit(t, data, func(any) any { return 1 }, "param_grad_norms", "sink"), graph.Float64)
	if err != nil || r.OK || !strings.Contains(strings.Join(r.Problems, "\n"), "param_grad_norms: sink is no parameter") {
		t.Errorf("%v, problems %v", err, r.Problems)
	}
}

func TestNonFiniteDistancesAreStrings(t *testing.T) {
	data := load(t, "testdata/m01_pre_ln_gelu_learned_mha_tied_bias.json.gz")
	r, err := Verify("x", edit(t, data, func(any) any { return 1e200 }, "params", "blocks.0.proj.weight", "data", 0), graph.Float64)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal(r); err != nil || r.OK {
		t.Errorf("%v, ok %v", err, r.OK)
	}
}

func FuzzVerify(f *testing.F) {
	for _, path := range []string{"op_alibi_slopes_h4", "op_t5_buckets_8_11_causal", "op_relu", "op_embedding", "op_softmax_masked", "op_rope_inv_freq_yarn_r8_degenerate", "op_clip_grad_norm", "op_t5_bias_causal"} {
		f.Add(load(f, "testdata/"+path+".json.gz"))
	}
	f.Add([]byte(`{"config":{"n_layer":1,"d_model":2,"n_head":1,"d_ff":2,"vocab":2,"T":1,"B":1,"pos":"none","bias":false},"params":{"wte":{"shape":[2,2],"data":[1,2,3,4]}},"grads":{}}`))
	f.Add([]byte(`{"op":"attention","attrs":{"scale":1,"window":-1},"inputs":{"q":{"shape":[1,1,1,1],"data":[1]},"k":{"shape":[1,1,1,1],"data":[1]},"v":{"shape":[1,1,1,1],"data":[1]}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<14 {
			return
		}
		r, err := Verify("x", data, graph.Float32)
		if err == nil && r.OK != (len(r.Problems) == 0) {
			t.Error("ok and problems disagree")
		}
	})
}
