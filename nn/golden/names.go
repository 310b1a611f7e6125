package golden

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"ablate/graph"
)

// part is where a parameter of ours stands in one of the file's: rows, counted
// in elements, from an offset.
type part struct {
	name   string
	offset int
	shape  []int // of the file's parameter
}

// The names of whole parameters and of modules, ours to the file's.
var (
	wholeNames = map[string]string{
		"embed.wte": "wte", "embed.wpe": "wpe", "position.rel_bias": "rel_bias", "head.w": "head",
	}
	moduleNames = map[string]string{
		"embed.norm": "norme", "norm": "normf", "attn.inner_norm": "norm_attn_inner", "ffn.inner_norm": "norm_ffn_inner",
		"attn.q_norm": "q_norm", "attn.k_norm": "k_norm", "attn.v_norm": "v_norm",
	}
	leafNames = map[string]string{"w": ".weight", "b": ".bias", "alpha": ".alpha", "gamma": ".gamma"}
	blockName = regexp.MustCompile(`^block\.(\d+)\.(.*)$`)
)

// partOf finds the place of one of our parameters.
func (c *config) partOf(p *graph.ParamSpec) part {
	shape := []int(p.Shape)
	if name := wholeNames[p.Name]; name != "" {
		return part{name: name, shape: shape}
	}
	name, prefix := p.Name, ""
	if m := blockName.FindStringSubmatch(name); m != nil {
		name, prefix = m[2], "blocks."+m[1]+"."
	}
	if at, ok := c.rowsOf(name, prefix, shape); ok {
		return at
	}
	dot := strings.LastIndexByte(name, '.')
	module, leaf := name[:dot], name[dot+1:]
	if m := moduleNames[module]; m != "" {
		module = m
	}
	return part{name: prefix + module + leafNames[leaf], shape: shape}
}

// rowsOf finds projections: q, k, v share the file's qkv, and gate and up of a
// gated FFN its up.
func (c *config) rowsOf(name, prefix string, shape []int) (part, bool) {
	h, g, in := c.heads*c.headDim, c.kvHeads*c.headDim, c.d
	kind := ".weight"
	if len(shape) == 1 {
		in, kind = 1, ".bias"
	}
	rows := func(module string, from, total int) (part, bool) {
		s := slices.Clone(shape)
		s[0] = total
		return part{prefix + module + kind, from * in, s}, true
	}
	switch name {
	case "attn.wq", "attn.bq":
		return rows("qkv", 0, h+2*g)
	case "attn.wk", "attn.bk":
		return rows("qkv", h, h+2*g)
	case "attn.wv", "attn.bv":
		return rows("qkv", h+g, h+2*g)
	case "attn.wo", "attn.bo":
		return rows("proj", 0, c.d)
	case "ffn.gate", "ffn.bgate":
		return rows("up", 0, 2*c.ff)
	case "ffn.up", "ffn.bup":
		if c.gated() {
			return rows("up", c.ff, 2*c.ff)
		}
		return rows("up", 0, c.ff)
	case "ffn.down", "ffn.bdown":
		return rows("down", 0, c.d)
	}
	return part{}, false
}

// layout finds the place of every parameter and makes sure that the file has
// exactly those, in these shapes.
func (c *config) layout(specs []*graph.ParamSpec, params map[string]tensor) ([]part, error) {
	var errs []error
	parts := make([]part, len(specs))
	covered := map[string]int{}
	for i, p := range specs {
		at := c.partOf(p)
		parts[i] = at
		t, ok := params[at.name]
		switch {
		case !ok:
			errs = append(errs, fmt.Errorf("params: %s is missing", at.name))
		case !slices.Equal(t.shape, at.shape):
			errs = append(errs, fmt.Errorf("params: %s has shape %v, the configuration asks for %v", at.name, t.shape, at.shape))
		}
		covered[at.name] += p.Size()
	}
	for _, name := range sortedKeys(params) {
		if n := covered[name]; n == 0 {
			errs = append(errs, fmt.Errorf("params: %s has no place in the model that the configuration describes", name))
		}
	}
	return parts, errorsOf(errs)
}
