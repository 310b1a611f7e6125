package nn

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Placement is a way of norms and sub-layers around the residual stream, by name.
type Placement struct {
	Name    string
	Formula string // see Formula; "" if Blocks is set
	Source  string

	FinalNorm bool // the default of final_norm
	EmbedNorm bool // the default of embedding.norm
	QKVNorm   bool // q, k and v are RMS-normalised, unless a configuration's qkv_norm says otherwise
	InnerNorm bool // a norm before the attention's output projection and one before the FFN's down projection, unless inner_norm says otherwise

	Options []PlacementOption
	// InitScale names the option that multiplies the initial values of the value
	// and output projections and of the FFN's up and down projections.
	InitScale string
	// Blocks, if set, gives the placement of every block.
	Blocks func(layers int, options map[string]float64) PlacementList
}

// PlacementOption is a number that a placement reads, in its formula or besides.
type PlacementOption struct {
	Key     string
	Doc     string
	Integer bool
	Least   float64                  // the smallest value that is allowed
	Auto    func(layers int) float64 // the value of auto
}

// The options of placements.
var (
	// optionAlpha and optionBeta are those of a decoder in DeepNet, Wang et al.
	// 2022, arXiv:2203.00555.
	optionAlpha = PlacementOption{
		Key: "alpha", Doc: "multiplies the stream; auto is (2L)^(1/4)", Least: math.SmallestNonzeroFloat64,
		Auto: func(layers int) float64 { return math.Pow(2*float64(layers), 0.25) },
	}
	optionBeta = PlacementOption{
		Key: "beta", Doc: "multiplies the initial v, o, up and down; auto is (8L)^(-1/4)", Least: math.SmallestNonzeroFloat64,
		Auto: func(layers int) float64 { return math.Pow(8*float64(layers), -0.25) },
	}
	// optionGamma is that of a decoder in Foundation Transformers, Wang et al.
	// 2022, arXiv:2210.06423.
	optionGamma = PlacementOption{
		Key: "gamma", Doc: "multiplies the initial v, o, up and down; auto is sqrt(ln(2L))", Least: math.SmallestNonzeroFloat64,
		Auto: func(layers int) float64 { return math.Sqrt(math.Log(2 * float64(layers))) },
	}
	// optionInit is where a learned vector starts: small, so that a block starts
	// near the identity.
	optionInit = PlacementOption{
		Key: "init", Doc: "initial value of the learned vector; auto is 0.1", Least: 0,
		Auto: func(int) float64 { return 0.1 },
	}
	// optionK is the number of blocks that Mix-LN places post; a quarter of them,
	// as in its paper.
	optionK = PlacementOption{
		Key: "k", Doc: "number of leading blocks with norms after the sum; auto is a quarter of the blocks", Integer: true,
		Auto: func(layers int) float64 { return math.Round(float64(layers) / 4) },
	}
)

// Placements is the table of placements by name.
var Placements = map[string]*Placement{}

func init() {
	for _, p := range []Placement{
		{Name: "post", Formula: "N1(x + F(x))", Source: "Vaswani et al. 2017, arXiv:1706.03762"},
		{Name: "pre", Formula: "x + F(N1(x))", FinalNorm: true, Source: "Radford et al. 2019 (GPT-2); Xiong et al. 2020, arXiv:2002.04745"},
		{Name: "sandwich", Formula: "x + N2(F(N1(x)))", FinalNorm: true, Source: "Gemma 2, 2024, arXiv:2408.00118"},
		{Name: "peri", Formula: "x + N2(F(N1(x)))", FinalNorm: true, EmbedNorm: true, Source: "Kim et al. 2025, arXiv:2502.02732"},
		{Name: "output", Formula: "x + N1(F(x))", FinalNorm: true, Source: "OLMo 2, 2025, arXiv:2501.00656"},
		{Name: "deepnorm", Formula: "N1(alpha*x + F(x))", Options: []PlacementOption{optionAlpha, optionBeta}, InitScale: "beta", Source: "Wang et al. 2022, arXiv:2203.00555"},
		{Name: "subln", Formula: "x + F(N1(x))", FinalNorm: true, InnerNorm: true, Options: []PlacementOption{optionGamma}, InitScale: "gamma", Source: "Wang et al. 2022, arXiv:2210.06423"},
		{Name: "lns", Formula: "x + F(N1(x)/sqrt(l))", FinalNorm: true, Source: "Sun et al. 2025, arXiv:2502.05795"},
		{Name: "mix", FinalNorm: true, Options: []PlacementOption{optionK}, Blocks: mixBlocks, Source: "Li et al. 2024, arXiv:2412.13795"},
		{Name: "hybrid", Formula: "h = N2(x + A(x)); h + M(h)", FinalNorm: true, QKVNorm: true, Source: "Zhuo et al. 2025, arXiv:2503.04598"},
		{Name: "hybrid_star", FinalNorm: true, QKVNorm: true, Blocks: hybridStarBlocks, Source: "HybridNorm* of Zhuo et al. 2025, arXiv:2503.04598"},
		{Name: "parallel", Formula: "h = N1(x); x + A(h) + M(h)", FinalNorm: true, Source: "Wang and Komatsuzaki 2021 (GPT-J); Chowdhery et al. 2022, arXiv:2204.02311"},
		{Name: "rezero", Formula: "x + a*F(x)", Source: "Bachlechner et al. 2020, arXiv:2003.04887"},
		{Name: "layerscale", Formula: "x + g*F(N1(x))", FinalNorm: true, Options: []PlacementOption{optionInit}, Source: "Touvron et al. 2021, arXiv:2103.17239"},
		{Name: "none", Formula: "x + F(x)", Source: "a control: no norm in any block"},
	} {
		RegisterPlacement(p)
	}
}

// mixBlocks places the first k blocks post and the others pre.
func mixBlocks(layers int, options map[string]float64) PlacementList {
	k := min(int(options["k"]), layers)
	return slices.Concat(slices.Repeat(Place("post"), k), slices.Repeat(Place("pre"), layers-k))
}

// hybridStarBlocks places the first block pre, with q, k and v normalised as in
// the others, which are hybrid.
func hybridStarBlocks(layers int, _ map[string]float64) PlacementList {
	blocks := slices.Repeat(Place("hybrid"), layers)
	blocks[0] = PlacementConfig{Kind: "pre", QKVNorm: Yes}
	return blocks
}

// RegisterPlacement adds p to the table. It panics if the name is taken or no
// name, or if the formula is wrong: it is called while a program starts.
func RegisterPlacement(p Placement) {
	mustBeFree("placement", p.Name, Placements[p.Name] != nil)
	if p.Blocks == nil {
		if _, err := ParseFormula(p.Formula, p.optionKeys()...); err != nil {
			panic(fmt.Sprintf("nn: placement %s: %v", p.Name, err))
		}
	}
	Placements[p.Name] = &p
}

// mustBeFree checks a name before it enters a table.
func mustBeFree(table, name string, taken bool) {
	if name == "" || taken || strings.ContainsAny(name, " ,;:()[]{}+*/=") {
		panic(fmt.Sprintf("nn: %s %q: the name is taken, empty or holds signs of configurations", table, name))
	}
}

func (p *Placement) optionKeys() []string {
	keys := make([]string, len(p.Options))
	for i, o := range p.Options {
		keys[i] = o.Key
	}
	return keys
}

// customPlacement is the placement of a formula that a configuration states.
// It ends in a final norm unless it has no norm or its value is one. With alpha
// it takes DeepNet's constants, with a learned vector its initial value.
func customPlacement(formula string) (*Placement, error) {
	f, err := ParseFormula(formula, optionAlpha.Key)
	if err != nil {
		return nil, err
	}
	p := &Placement{Name: f.String(), Formula: f.String(), FinalNorm: len(f.norms) > 0 && !f.endNorm}
	if f.uses["alpha"] {
		p.Options = append(p.Options, optionAlpha, optionBeta)
		p.InitScale = optionBeta.Key
	}
	if f.uses["g"] || f.uses["g1"] || f.uses["g2"] {
		p.Options = append(p.Options, optionInit)
	}
	return p, nil
}

// lookupPlacement finds a placement by its name, or reads it as a formula.
func lookupPlacement(kind string) (*Placement, error) {
	if p := Placements[kind]; p != nil {
		return p, nil
	}
	if strings.ContainsAny(kind, "()+*/;= ") {
		return customPlacement(kind)
	}
	return nil, unknown("placement", kind, slices.Collect(maps.Keys(Placements)))
}

// unknown is the error of a name that is not in a table.
func unknown(what, name string, known []string) error {
	slices.Sort(known)
	return fmt.Errorf("unknown %s %q; known: %s", what, name, strings.Join(known, ", "))
}
