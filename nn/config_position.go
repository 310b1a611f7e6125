package nn

import (
	"fmt"
	"maps"
	"slices"
)

// PositionConfig chooses a position encoding, for one layer or for all.
type PositionConfig struct {
	Kind        string  // a name of Positions
	Max         AutoInt // learned: positions that have a vector; auto: the model's context
	Base        float64 // rope: base of the wavelengths
	Layout      string  // rope: half or interleaved
	Fraction    float64 // rope: share of a head's entries that is rotated
	Scaling     RoPEScaling
	Buckets     int // t5: distances that are told apart
	MaxDistance int // t5: distance from which all are one
}

// RoPEScaling stretches rotary wavelengths for contexts longer than those of training.
type RoPEScaling struct {
	Kind           string  // none, linear, ntk, yarn or llama3
	Factor         float64 // of the context
	Original       int     // yarn, llama3: context of training
	BetaFast       float64 // yarn: turns within the original context above which a wave is left alone
	BetaSlow       float64 // yarn: turns below which it is stretched by the whole factor
	LowFreqFactor  float64 // llama3: turns below which it is stretched by the whole factor
	HighFreqFactor float64 // llama3: turns above which a wave is left alone
}

// PositionList is one position encoding for all layers, or one for each.
type PositionList []PositionConfig

// NewPosition is a position encoding with the values that its keys have when
// they are not given.
func NewPosition(kind string) PositionConfig {
	return PositionConfig{
		Kind: kind, Base: 10000, Layout: "half", Fraction: 1, Scaling: RoPEScaling{Kind: "none"}, Buckets: 32, MaxDistance: 128,
	}
}

// FromConfig reads a name, a mapping {kind: …, key: …}, or a list of those with
// one for each layer.
func (p *PositionList) FromConfig(v any) error {
	list, err := listOf(v, readPosition)
	if err == nil {
		*p = list
	}
	return err
}

func readPosition(v any) (PositionConfig, error) {
	kind, values, err := kindOf(v)
	if err != nil {
		return PositionConfig{}, err
	}
	p := Positions[kind]
	if p == nil {
		return PositionConfig{}, unknown("position encoding", kind, slices.Collect(maps.Keys(Positions)))
	}
	c := NewPosition(kind)
	m := &mapping{values: values}
	for _, key := range p.Reads {
		c.read(m, key)
	}
	return c, m.done()
}

// read takes one key.
func (c *PositionConfig) read(m *mapping, key string) {
	switch key {
	case "max":
		m.auto(key, &c.Max)
	case "base":
		m.number(key, &c.Base, "a number above 1", func(x float64) bool { return x > 1 })
	case "layout":
		m.text(key, &c.Layout, "half", "interleaved")
	case "fraction":
		m.number(key, &c.Fraction, "a share above 0, at most 1", func(x float64) bool { return x > 0 && x <= 1 })
	case "scaling":
		if v, ok := m.take(key); ok {
			s, err := readScaling(v)
			if err != nil {
				m.bad(key, "%w", err)
			}
			c.Scaling = s
		}
	case "buckets":
		m.integer(key, &c.Buckets, 2)
	case "max_distance":
		m.integer(key, &c.MaxDistance, 2)
	default:
		panic(fmt.Sprintf("nn: position encodings have no key %q", key))
	}
}

// scalingKeys are the keys that each kind of scaling reads. Those without a
// usual value are required.
var scalingKeys = map[string][]string{
	"none":   nil,
	"linear": {"factor"},
	"ntk":    {"factor"},
	"yarn":   {"factor", "original", "beta_fast", "beta_slow"},
	"llama3": {"factor", "low_freq_factor", "high_freq_factor", "original"},
}

func readScaling(v any) (RoPEScaling, error) {
	kind, values, err := kindOf(v)
	s := RoPEScaling{Kind: kind}
	if err != nil {
		return s, err
	}
	keys, ok := scalingKeys[kind]
	if !ok {
		return s, unknown("scaling", kind, slices.Collect(maps.Keys(scalingKeys)))
	}
	if kind == "yarn" {
		s.BetaFast, s.BetaSlow = 32, 1 // as in its paper
	}
	m := &mapping{values: values}
	for _, key := range keys {
		if _, given := values[key]; !given && key != "beta_fast" && key != "beta_slow" {
			m.bad(key, "required by scaling %s", kind)
		}
		if key == "original" {
			m.integer(key, &s.Original, 1)
			continue
		}
		m.number(key, s.field(key), "a number above 0", positive)
	}
	return s, m.done()
}

// field is where the value of a key stands.
func (s *RoPEScaling) field(key string) *float64 {
	switch key {
	case "factor":
		return &s.Factor
	case "beta_fast":
		return &s.BetaFast
	case "beta_slow":
		return &s.BetaSlow
	case "low_freq_factor":
		return &s.LowFreqFactor
	}
	return &s.HighFreqFactor
}

// ConfigValue gives the list back.
func (p PositionList) ConfigValue() any {
	if len(p) == 0 {
		return nil
	}
	return valueOf(p, positionValue)
}

// ConfigSchema describes the value as JSON Schema.
func (PositionList) ConfigSchema() map[string]any {
	return listSchema(variantSchema(map[string]any{"type": "string", "enum": slices.Sorted(maps.Keys(Positions))}))
}

func positionValue(c PositionConfig) any {
	p := Positions[c.Kind]
	if p == nil || len(p.Reads) == 0 {
		return c.Kind
	}
	m := map[string]any{"kind": c.Kind}
	for _, key := range p.Reads {
		m[key] = c.value(key)
	}
	return m
}

func (c *PositionConfig) value(key string) any {
	switch key {
	case "max":
		return c.Max.ConfigValue()
	case "base":
		return c.Base
	case "layout":
		return c.Layout
	case "fraction":
		return c.Fraction
	case "scaling":
		return c.Scaling.value()
	case "buckets":
		return int64(c.Buckets)
	}
	return int64(c.MaxDistance)
}

func (s *RoPEScaling) value() any {
	if len(scalingKeys[s.Kind]) == 0 {
		return s.Kind
	}
	m := map[string]any{"kind": s.Kind}
	for _, key := range scalingKeys[s.Kind] {
		if key == "original" {
			m[key] = int64(s.Original)
			continue
		}
		m[key] = *s.field(key)
	}
	return m
}
