package train

import (
	"errors"
	"fmt"
	"strings"

	"ablate/graph"
)

// Multipliers are factors by the role of a parameter. What the model itself wants
// of a parameter, ParamSpec.LR, is multiplied by them.
type Multipliers struct {
	LR          graph.RoleFactors `key:"lr" default:"{}" doc:"factors of the learning rate, and of the decay that it multiplies, by role: {embedding: 10}; 0 freezes"`
	WeightDecay graph.RoleFactors `key:"weight_decay" default:"{}" doc:"factors of the weight decay by role, of parameters that decay at all: {embedding: 0}"`
}

// Validate reports roles that do not exist and factors that are none.
func (m Multipliers) Validate() error {
	var errs []error
	if err := m.LR.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("lr.%w", err))
	}
	if err := m.WeightDecay.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("weight_decay.%w", err))
	}
	return errors.Join(errs...)
}

// Check reports factors that would do nothing to the parameters of a model; each
// error starts with its key.
func (m Multipliers) Check(specs []*graph.ParamSpec) error {
	var errs []error
	if err := m.LR.Acts(specs, "", func(*graph.ParamSpec) bool { return true }); err != nil {
		errs = append(errs, fmt.Errorf("lr.%w", err))
	}
	if err := m.WeightDecay.Acts(specs, " that decays", func(p *graph.ParamSpec) bool { return p.Decay }); err != nil {
		errs = append(errs, fmt.Errorf("weight_decay.%w", err))
	}
	return errors.Join(errs...)
}

// largest bounds the factor of lr·weight_decay over all roles.
func (m Multipliers) largest() float64 {
	x := 1.0
	for _, role := range graph.Roles {
		x = max(x, m.LR.Of(role)*m.WeightDecay.Of(role))
	}
	return x
}

// times says a factor, unless it is 1.
func times(factor float64) string {
	if factor == 1 {
		return ""
	}
	return fmt.Sprintf(" times %g, of multipliers,", factor)
}

// Factors is what one parameter multiplies the configuration's rates by.
type Factors struct {
	LR    float64 // of the learning rate
	Decay float64 // of the weight decay; 0 for a parameter that has none
}

// Factors are those of a parameter: its own and its role's.
func (c Config) Factors(p *graph.ParamSpec) Factors {
	f := Factors{LR: p.LRFactor() * c.Multipliers.LR.Of(p.Role)}
	if p.Decay {
		f.Decay = c.Multipliers.WeightDecay.Of(p.Role)
	}
	return f
}

// rates are the learning rate of a parameter, and the share of itself that it loses
// in a step: lr·weight_decay, both with their factors.
func (f Factors) rates(lr, decay float64) (rate, shrink float64) {
	rate = lr * f.LR
	return rate, rate * decay * f.Decay
}

// A Group is the parameters that have the same factors.
type Group struct {
	LR      float64  `json:"lr_factor"`
	Decay   float64  `json:"decay_factor"`
	Roles   []string `json:"roles"`
	Tensors int      `json:"tensors"`
	Params  int      `json:"params"`
}

// String is the group in words: "17 tensors (embedding, ffn): lr × 1, weight decay × 1".
func (g Group) String() string {
	return fmt.Sprintf("%d tensors (%s): lr × %.4g, weight decay × %.4g", g.Tensors, strings.Join(g.Roles, ", "), g.LR, g.Decay)
}

// Groups sorts the parameters of a model by their factors, in the order of the first
// parameter of each group; roles stand in the order of graph.Roles.
func (c Config) Groups(specs []*graph.ParamSpec) []Group {
	var groups []Group
	at, roles := map[Factors]int{}, map[Factors]map[string]bool{}
	for _, p := range specs {
		f := c.Factors(p)
		i, known := at[f]
		if !known {
			i, at[f], roles[f] = len(groups), len(groups), map[string]bool{}
			groups = append(groups, Group{LR: f.LR, Decay: f.Decay})
		}
		groups[i].Tensors++
		groups[i].Params += p.Size()
		roles[f][p.Role] = true
	}
	for i := range groups {
		for _, role := range graph.Roles {
			if roles[Factors{groups[i].LR, groups[i].Decay}][role] {
				groups[i].Roles = append(groups[i].Roles, role)
			}
		}
	}
	return groups
}
