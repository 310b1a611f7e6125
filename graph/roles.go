package graph

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Roles lists the values of ParamSpec.Role: what a parameter is for, whatever block
// it stands in.
//
//	embedding       tables of tokens and of learned positions
//	position_bias   numbers added to the scores by distance
//	attention, ffn  projections of the sub-layers, with their biases
//	norm            gains, biases and slopes of norms
//	residual_scale  learned factors of sub-layers and of the embedding
//	head            the head, where it is not the embedding
var Roles = []string{"embedding", "position_bias", "attention", "ffn", "norm", "residual_scale", "head"}

// RoleFactors holds factors by role; 1 for a role that is absent. As a value of a
// configuration it is a mapping, {embedding: 10, norm: 0}.
type RoleFactors map[string]float64

// Of is the factor of a role.
func (f RoleFactors) Of(role string) float64 {
	if x, ok := f[role]; ok {
		return x
	}
	return 1
}

// FromConfig reads a mapping from roles to numbers of at least 0. A factor of 1 is
// as good as none and is not kept.
func (f *RoleFactors) FromConfig(v any) error {
	*f = nil
	if v == nil {
		return nil
	}
	values, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("allowed: a mapping from roles to factors, such as {embedding: 10}; roles are %s", strings.Join(Roles, ", "))
	}
	got := RoleFactors{}
	for _, role := range slices.Sorted(maps.Keys(values)) {
		switch x := values[role].(type) {
		case int64:
			got[role] = float64(x)
		case float64:
			got[role] = x
		default:
			return fmt.Errorf("%s: not a number", role)
		}
	}
	maps.DeleteFunc(got, func(role string, x float64) bool { return x == 1 && slices.Contains(Roles, role) })
	if err := got.Validate(); err != nil || len(got) == 0 {
		return err
	}
	*f = got
	return nil
}

// Validate reports a role that does not exist, or a factor that is no number of at
// least 0; the error starts with the role.
func (f RoleFactors) Validate() error {
	for _, role := range slices.Sorted(maps.Keys(f)) {
		if !slices.Contains(Roles, role) {
			return fmt.Errorf("%s: no role of a parameter; roles are %s", role, strings.Join(Roles, ", "))
		}
		if x := f[role]; !(x >= 0) || math.IsInf(x, 0) {
			return fmt.Errorf("%s: %g is no number of at least 0", role, x)
		}
	}
	return nil
}

// ConfigValue is the mapping of the factors that are not 1.
func (f RoleFactors) ConfigValue() any {
	out := map[string]any{}
	for role, x := range f {
		if x != 1 {
			out[role] = x
		}
	}
	return out
}

// ConfigSchema describes the value as JSON Schema.
func (RoleFactors) ConfigSchema() map[string]any {
	properties := map[string]any{}
	for _, role := range Roles {
		properties[role] = map[string]any{"type": "number", "minimum": 0}
	}
	return map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
}

// Acts reports a factor of f that would do nothing: no parameter that acts accepts
// has its role. what says in words what those parameters do.
func (f RoleFactors) Acts(specs []*ParamSpec, what string, acts func(*ParamSpec) bool) error {
	for _, role := range slices.Sorted(maps.Keys(f)) {
		if f[role] != 1 && !slices.ContainsFunc(specs, func(p *ParamSpec) bool { return p.Role == role && acts(p) }) {
			return fmt.Errorf("%s: this model has no parameter of that role%s", role, what)
		}
	}
	return nil
}
