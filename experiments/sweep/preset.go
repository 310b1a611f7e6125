package sweep

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"ablate/experiments/config"
	"ablate/nn/presets"
)

// presetKey names a preset in a configuration. It is no key of the model: a resolved
// configuration states everything and does not have it.
const presetKey = "model.preset"

// presetDoc is the key's meaning, for people.
const presetDoc = "start from a model of the literature (see ablate presets); every other key changes it"

// Preset is a model of the literature.
type Preset struct {
	Name      string
	About     string
	Source    []string     // papers and files that the numbers come from
	Omitted   []string     // what the paper's model has and this one has not
	Uncertain []string     // what is not established
	Model     *config.Tree // keys of a configuration's model
}

// presetFile is a preset as it stands in a file: see package presets.
type presetFile struct {
	About     string       `key:"about" default:""`
	Extends   string       `key:"extends" default:""`
	Source    []string     `key:"source" default:"[]"`
	Omitted   []string     `key:"omitted" default:"[]"`
	Uncertain []string     `key:"uncertain" default:"[]"`
	Model     *config.Tree `key:"model"`
	Tiny      *config.Tree `key:"tiny"`
}

// LoadPreset composes a preset of its file and those that it extends. The error says
// which name was probably meant.
func LoadPreset(name string) (*Preset, error) {
	_, tiny, err := presets.Get(name)
	if err != nil {
		if s := config.Suggest(name, presets.Names()); s != "" {
			return nil, fmt.Errorf("%w; did you mean %s?", err, s)
		}
		return nil, fmt.Errorf("%w; `ablate presets` lists them", err)
	}
	f, err := readPreset(name, nil)
	if err != nil {
		return nil, err
	}
	p := &Preset{Name: name, About: f.About, Source: f.Source, Omitted: f.Omitted, Uncertain: f.Uncertain, Model: f.Model}
	if tiny {
		p.About, p.Model = "small twin of "+strings.TrimSuffix(name, presets.Tiny), config.Merge(f.Model, f.Tiny)
	}
	return p, nil
}

// readPreset reads a file over those that it extends; path is the way to it.
func readPreset(name string, path []string) (*presetFile, error) {
	if slices.Contains(path, name) {
		return nil, fmt.Errorf("preset %s extends itself", name)
	}
	text, _, err := presets.Get(name)
	if err != nil {
		return nil, err
	}
	tree, err := config.ParseFile("preset "+name, text)
	if err != nil {
		return nil, err
	}
	var f presetFile
	if err := config.Decode(tree, &f); err != nil || f.Extends == "" {
		return &f, err
	}
	base, err := readPreset(f.Extends, append(path, name))
	if err != nil {
		return nil, err
	}
	if f.About == "" {
		f.About = "another name of " + f.Extends
	}
	f.Source = slices.Concat(base.Source, f.Source)
	f.Omitted = slices.Concat(base.Omitted, f.Omitted)
	f.Uncertain = slices.Concat(base.Uncertain, f.Uncertain)
	f.Model, f.Tiny = config.Merge(base.Model, f.Model), config.Merge(base.Tiny, f.Tiny)
	return &f, nil
}

// Presets lists all presets, sorted by name.
func Presets() ([]*Preset, error) {
	var all []*Preset
	for _, name := range presets.Names() {
		p, err := LoadPreset(name)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// PresetOf is the preset that a configuration names; nil if it names none.
func PresetOf(layers ...*config.Tree) (*Preset, error) {
	t := config.Merge(layers...)
	named := t.Get(presetKey)
	if named == nil {
		return nil, nil
	}
	name, ok := named.Value().(string)
	if !ok {
		return nil, t.Errorf(presetKey, "not the name of a preset")
	}
	p, err := LoadPreset(name)
	if err != nil {
		return nil, t.Errorf(presetKey, "%v", err)
	}
	return p, nil
}

// overPreset lays a configuration over the preset that it names, if any. Keys of the
// preset that the configuration's variants do not read are no mistake of the user's.
func overPreset(t *config.Tree) (*config.Tree, error) {
	p, err := PresetOf(t)
	if p == nil {
		return t, err
	}
	low, high := &config.Tree{}, config.Merge(t)
	low.Set("model", p.Model)
	high.Delete(presetKey)
	return config.Merge(low.Implicit(), high), nil
}

// YAML writes the preset as a file of package presets has it, complete.
func (p *Preset) YAML() []byte {
	return config.Encode(struct {
		About     string       `key:"about"`
		Source    []string     `key:"source"`
		Omitted   []string     `key:"omitted"`
		Uncertain []string     `key:"uncertain"`
		Model     *config.Tree `key:"model"`
	}{p.About, p.Source, p.Omitted, p.Uncertain, p.Model}).YAML()
}

// ConfigKeys describes the keys of a run's configuration for people, model.preset
// included.
func ConfigKeys() []config.Key {
	keys := config.Keys(Config{})
	at := slices.IndexFunc(keys, func(k config.Key) bool { return strings.HasPrefix(k.Path, "model.") })
	return slices.Insert(keys, at, config.Key{Path: presetKey, Type: "string", Doc: presetDoc})
}

// ConfigSchema is the JSON Schema of a run's configuration, model.preset included.
func ConfigSchema(title string) []byte {
	var s struct {
		Schema               string                    `json:"$schema"`
		AdditionalProperties bool                      `json:"additionalProperties"`
		Properties           map[string]map[string]any `json:"properties"`
		Title                string                    `json:"title"`
		Type                 string                    `json:"type"`
	}
	if err := json.Unmarshal(config.Schema(Config{}, title), &s); err != nil {
		panic(err) // it was just written
	}
	s.Properties["model"]["properties"].(map[string]any)["preset"] = map[string]any{
		"type": "string", "description": presetDoc, "enum": presets.Names(),
	}
	out, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic(err)
	}
	return append(out, '\n')
}
