package nn

import (
	"cmp"
	"math"
)

// PlacementConfig chooses a placement for one block or for all.
type PlacementConfig struct {
	Kind string // a name of Placements, or a formula
	// Options are the numbers that the placement reads; one that is absent is auto.
	Options map[string]float64
	// QKVNorm and InnerNorm say whether there are norms on q, k and v, and within the
	// sub-layers; auto: as in the table, and none with a formula.
	QKVNorm, InnerNorm AutoBool
}

// PlacementList is one placement for all blocks, or one for each.
type PlacementList []PlacementConfig

// Place is the list of one placement.
func Place(kind string) PlacementList { return PlacementList{{Kind: kind}} }

// FromConfig reads a name, a formula, a mapping {kind: …, option: …}, whose options
// are the placement's own, qkv_norm and inner_norm, or a list of those with one for
// each layer.
func (p *PlacementList) FromConfig(v any) error {
	list, err := listOf(v, readPlacement)
	if err == nil {
		*p = list
	}
	return err
}

func readPlacement(v any) (c PlacementConfig, err error) {
	kind, values, err := kindOf(v)
	if err != nil {
		return c, err
	}
	p, err := lookupPlacement(kind)
	if err != nil {
		return c, err
	}
	c.Kind = p.Name
	m := &mapping{values: values}
	m.auto("qkv_norm", &c.QKVNorm)
	m.auto("inner_norm", &c.InnerNorm)
	for _, o := range p.Options {
		x := math.NaN()
		if values[o.Key] == "auto" {
			m.take(o.Key)
			continue
		}
		m.number(o.Key, &x, o.allowed(), o.allows)
		if !math.IsNaN(x) {
			if c.Options == nil {
				c.Options = map[string]float64{}
			}
			c.Options[o.Key] = x
		}
	}
	return c, m.done()
}

func (o *PlacementOption) allows(x float64) bool {
	return x >= o.Least && x <= maxSize && (!o.Integer || x == math.Trunc(x))
}

func (o *PlacementOption) allowed() string {
	switch {
	case o.Integer:
		return "auto or an integer from 0"
	case o.Least > 0:
		return "auto or a number above 0"
	}
	return "auto or a number from 0"
}

// ConfigValue gives the list back.
func (p PlacementList) ConfigValue() any {
	if len(p) == 0 {
		return nil
	}
	return valueOf(p, placementValue)
}

// ConfigSchema describes the value as JSON Schema. Formulas cannot be told from names.
func (PlacementList) ConfigSchema() map[string]any {
	return listSchema(variantSchema(map[string]any{"type": "string"}))
}

func placementValue(c PlacementConfig) any {
	m := map[string]any{"kind": c.Kind}
	for key, flag := range map[string]AutoBool{"qkv_norm": c.QKVNorm, "inner_norm": c.InnerNorm} {
		if flag != Auto {
			m[key] = flag.ConfigValue()
		}
	}
	for key, x := range c.Options {
		if p, err := lookupPlacement(c.Kind); err == nil && p.integer(key) {
			m[key] = int64(x)
			continue
		}
		m[key] = x
	}
	if len(m) == 1 {
		return c.Kind
	}
	return m
}

func (p *Placement) integer(key string) bool {
	for _, o := range p.Options {
		if o.Key == key {
			return o.Integer
		}
	}
	return false
}

// resolve replaces autos for a model of the given depth. Norms that are as the
// placement has them anyway are not stated: one configuration has one form.
func (c PlacementConfig) resolve(layers int) PlacementConfig {
	p, err := lookupPlacement(c.Kind)
	if err != nil {
		return c
	}
	if c.QKVNorm == YesIf(p.QKVNorm) {
		c.QKVNorm = Auto
	}
	if c.InnerNorm == YesIf(p.InnerNorm) {
		c.InnerNorm = Auto
	}
	if len(p.Options) == 0 {
		return c
	}
	options := map[string]float64{}
	for _, o := range p.Options {
		x, given := c.Options[o.Key]
		if !given {
			x = o.Auto(layers)
		}
		options[o.Key] = x
	}
	c.Options = options
	return c
}

// placements gives the placement of every block. What a placement of all blocks is
// told about norms holds for each.
func (c *Config) placements() PlacementList {
	whole := c.Placement[0]
	p, err := lookupPlacement(whole.Kind)
	if err == nil && p.Blocks != nil {
		blocks := p.Blocks(c.Layers, whole.Options)
		for l := range blocks {
			blocks[l].QKVNorm = cmp.Or(whole.QKVNorm, blocks[l].QKVNorm)
			blocks[l].InnerNorm = cmp.Or(whole.InnerNorm, blocks[l].InnerNorm)
		}
		return blocks
	}
	blocks := make(PlacementList, c.Layers)
	for l := range blocks {
		blocks[l] = perLayer(c.Placement, l)
	}
	return blocks
}
