package sweep

import (
	"encoding/json"
	"maps"

	"ablate/experiments/config"
)

// axisKey is what a key of a configuration looks like where it stands in one piece.
const axisKey = `^(model|data|train|probe|salt)(\.[a-z0-9_]+)*$`

// Schema is the JSON Schema of the files that the commands take, for editors: the
// configuration of a run, or an experiment. Like config.Schema it is a little weaker
// than the reader.
func Schema() []byte {
	run := schemaObject(ConfigSchema("configuration of a run"))
	experiment := schemaObject(config.Schema(document{}, "experiment"))
	dialect := run["$schema"]
	delete(run, "$schema")
	delete(experiment, "$schema")

	base := maps.Clone(run)
	base["title"] = "configuration that all cells share"
	keys := maps.Clone(run["properties"].(map[string]any))
	delete(keys, "name")
	delete(keys, "seed")
	base["properties"] = keys

	anyValue := map[string]any{}
	values := map[string]any{"type": "array", "minItems": 1}
	properties := experiment["properties"].(map[string]any)
	refine := func(key string, with map[string]any) {
		if doc, ok := properties[key].(map[string]any)["description"]; ok {
			with["description"] = doc
		}
		properties[key] = with
	}
	refine("base", base)
	refine("axes", map[string]any{"type": "object", "propertyNames": map[string]any{"pattern": axisKey}, "additionalProperties": values})
	refine("zip", map[string]any{"type": "array"})
	refine("except", map[string]any{"type": "array", "items": map[string]any{
		"type": "object", "propertyNames": map[string]any{"pattern": axisKey}, "additionalProperties": anyValue}})
	refine("quick", map[string]any{"type": "object", "additionalProperties": anyValue})
	out, err := json.MarshalIndent(map[string]any{
		"$schema": dialect, "title": "ablate: configuration of a run, or an experiment",
		"anyOf": []any{run, experiment},
	}, "", "  ")
	if err != nil {
		panic(err) // it came from JSON
	}
	return append(out, '\n')
}

func schemaObject(text []byte) (s map[string]any) {
	if err := json.Unmarshal(text, &s); err != nil {
		panic(err) // it was just written
	}
	return s
}
