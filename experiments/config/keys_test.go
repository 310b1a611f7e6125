package config_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"ablate/experiments/config"
)

func TestKeys(t *testing.T) {
	var lines []string
	for _, k := range config.Keys(Root{}) {
		lines = append(lines, strings.TrimRight(fmt.Sprintf("%s|%s|%s|%s|%s|%s", k.Path, k.Type, k.Default, k.Range, strings.Join(k.Enum, " "), k.Doc), "|"))
	}
	for _, want := range []string{
		"name|string||||what the run is called",
		`salt|string|""`,
		"seed|any|1",
		"model|mapping",
		"model.layers|integer|4|in [1, 512]||number of blocks",
		"model.d_ff|string or integer|auto|>= 1",
		"model.activation|string|gelu||relu gelu swiglu",
		"model.norm|string or mapping|layernorm",
		"model.norm.kind|string|layernorm||layernorm rmsnorm none",
		"model.position|string or mapping|{kind: rope, base: 500}",
		"model.position.kind|string|none||none rope learned",
		"model.blocks|list of string or mapping",
		"model.blocks[].eps|number|1e-5|> 0",
		"model.tied|boolean|true",
		"train.steps|integer||>= 1",
		"train.betas|list of number|[0.9, 0.95]|in [0, 1)",
		"train.show|list of string|[loss]||loss grads",
		"axes|any",
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("no %s in\n%s", want, strings.Join(lines, "\n"))
		}
	}
	if lines[0][:4] != "name" || slices.IndexFunc(lines, func(s string) bool { return strings.HasPrefix(s, "model.norm.") }) < slices.Index(lines, "model.norm|string or mapping|layernorm") {
		t.Error("not in the order of the fields")
	}
}

// TestOpenEnum: a name added at run time is allowed at once.
func TestOpenEnum(t *testing.T) {
	failure(t, under("model", "position: alibi"))
	positionNames = append(positionNames, "alibi")
	defer func() { positionNames = positionNames[:3] }()
	if got := decode(t, under("model", "position: alibi")).Model.Position.Kind; got != "alibi" {
		t.Error(got)
	}
}

func TestSchema(t *testing.T) {
	var s map[string]any
	if err := json.Unmarshal(config.Schema(&Root{}, "ablate"), &s); err != nil {
		t.Fatal(err)
	}
	at := func(path ...string) any {
		var v any = s
		for _, key := range path {
			if list, ok := v.([]any); ok {
				v = list[key[0]-'0']
				continue
			}
			v = v.(map[string]any)[key]
		}
		out, _ := json.Marshal(v)
		return string(out)
	}
	for _, c := range []struct {
		path string
		want string
	}{
		{"$schema", `"https://json-schema.org/draft/2020-12/schema"`},
		{"title", `"ablate"`},
		{"additionalProperties", "false"},
		{"properties/name", `{"description":"what the run is called","type":"string"}`},
		{"properties/model/additionalProperties", "false"},
		{"properties/model/properties/layers", `{"default":4,"description":"number of blocks","maximum":512,"minimum":1,"type":"integer"}`},
		{"properties/model/properties/dropout", `{"default":0,"exclusiveMaximum":1,"minimum":0,"type":"number"}`},
		{"properties/model/properties/d_ff", `{"anyOf":[{"const":"auto"},{"type":"integer"}],"default":"auto"}`},
		{"properties/model/properties/norm/default", `"layernorm"`},
		{"properties/model/properties/norm/anyOf/0", `{"enum":["layernorm","rmsnorm","none"],"type":"string"}`},
		{"properties/model/properties/norm/anyOf/1/properties/bias", `{"default":false,"type":"boolean"}`},
		{"properties/train/properties/betas", `{"default":[0.9,0.95],"items":{"exclusiveMaximum":1,"minimum":0,"type":"number"},"maxItems":2,"minItems":2,"type":"array"}`},
		{"properties/train/properties/batch", `{"default":8,"minimum":0,"type":"integer"}`},
		{"properties/note", "{}"},
	} {
		if got := at(strings.Split(c.path, "/")...); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.path, got, c.want)
		}
	}
}

// TestTags: a mistake in a tag names the field.
func TestTags(t *testing.T) {
	for want, of := range map[string]any{
		`.A: range "1..2"`: struct {
			A int `key:"a" range:"1..2"`
		}{},
		`.A: range ">=x": ">=x"; want`: struct {
			A int `key:"a" range:">=x"`
		}{},
		`.A: range ""`: struct {
			A int `key:"a" range:""`
		}{},
		`.A: range "[2,1]" is empty`: struct {
			A int `key:"a" range:"[2,1]"`
		}{},
		`.A: type map[string]int`: struct {
			A map[string]int `key:"a"`
		}{},
		`.B: key "a" stands twice`: struct {
			A int `key:"a"`
			B int `key:"a"`
		}{},
		`.A: key "a.b" needs`: struct {
			A int `key:"a.b"`
		}{},
		`.A: default "[1": not YAML`: struct {
			A []int `key:"a" default:"[1"`
		}{},
		`default of a: a: x: not an integer`: struct {
			A int `key:"a" default:"x"`
		}{},
		`default of a: a: 0: out of range; allowed: > 0`: struct {
			A float64 `key:"a" default:"0" range:"(0,]"`
		}{},
	} {
		t.Run(want, func(t *testing.T) {
			defer func() {
				if p := fmt.Sprint(recover()); !strings.Contains(p, want) {
					t.Errorf("panic %s\n want %s", p, want)
				}
			}()
			decodeNew(of)
		})
	}
}

func TestSuggest(t *testing.T) {
	known := []string{"train", "run", "report", "compare", "layers", "kv_heads", "heads", "d_ff"}
	for word, want := range map[string]string{
		"tarin": "train", "rnu": "run", "reprot": "report", "head": "heads", "kvheads": "kv_heads", "dff": "d_ff",
		"LAYERS": "", "x": "", "": "", "train": "", "completely_else": "", strings.Repeat("train", 100): "", "läyers": "layers",
	} {
		if got := config.Suggest(word, known); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

// decodeNew decodes nothing into a new struct of the type of.
func decodeNew(of any) {
	into := reflect.New(reflect.TypeOf(of)).Interface()
	_ = config.Decode(&config.Tree{}, into)
}

func TestRanges(t *testing.T) {
	type ranges struct {
		A float64 `key:"a" range:">=1" default:"1"`
		B float64 `key:"b" range:">0, <1" default:"0.5"`
		C float64 `key:"c" range:"(0,1]" default:"1"`
		D float64 `key:"d" range:"<=-1e-3" default:"-1"`
		E float64 `key:"e" range:"(,2)" default:"-1"`
		F float64 `key:"f" range:"[-2,]" default:"-2"`
	}
	var texts []string
	for _, k := range config.Keys(ranges{}) {
		texts = append(texts, k.Range)
	}
	if got, want := strings.Join(texts, "; "), ">= 1; in (0, 1); in (0, 1]; <= -0.001; < 2; >= -2"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	for arg, ok := range map[string]bool{
		"a=1": true, "a=0.999": false, "a=1e300": true, "b=0": false, "b=1": false, "b=1e-300": true, "c=0": false, "c=1": true, "c=1.001": false,
		"d=-0.001": true, "d=0": false, "e=2": false, "e=-1e300": true, "f=-2": true, "f=-2.1": false,
	} {
		tree, err := config.ParseArgs([]string{arg})
		if err != nil {
			t.Fatal(err)
		}
		if err := config.Decode(tree, &ranges{}); (err == nil) != ok {
			t.Errorf("%s: %v", arg, err)
		}
	}
}
