package nn

import (
	"fmt"
	"math"
	"math/rand/v2"

	"ablate/graph"
)

// Weight says where a matrix stands, for its initial values.
type Weight struct {
	Module  string // attn.q, attn.k, attn.v, attn.o, ffn.gate, ffn.up, ffn.down, embedding, position, rel_bias or head
	Layer   int    // 0-based block, -1 outside of blocks
	In, Out int    // what it reads and what it gives
}

// residual says whether the matrix writes to the residual stream.
func (w Weight) residual() bool { return w.Module == "attn.o" || w.Module == "ffn.down" }

// hidden says whether both sides of the matrix grow with the width of the model.
func (w Weight) hidden() bool { return w.Layer >= 0 }

// draw is the distribution of one matrix, zero_out included.
func (i InitConfig) draw(c *Config, w Weight) graph.Init {
	if i.ZeroOut && w.residual() {
		return Constant(0)
	}
	return Inits[string(i.Kind)].Draw(c, w)
}

// initActs reports a multiplier of initial values that does nothing: all parameters
// of its role, if there are any, start at 0. Each error starts with its key.
func (c *Config) initActs(specs []*graph.ParamSpec) error {
	err := c.Init.Multipliers.Acts(specs, " that starts at anything but 0", func(p *graph.ParamSpec) bool {
		if c.Init.Multipliers.Of(p.Role) == 0 {
			return true
		}
		x := make([]float64, 1)
		p.Init(graph.Stream(0, "", p.Name), x)
		return x[0] != 0
	})
	if err != nil {
		return fmt.Errorf("init.multipliers.%w", err)
	}
	return nil
}

// Init is a distribution of initial weights, by name. Biases start at 0 and
// gains at 1 under all of them.
type Init struct {
	Name   string
	Doc    string
	Source string
	Std    bool // it reads std
	Zero   bool // its residual projections are 0 with or without zero_out
	// PositionStd is the deviation of a learned position table where position_std is
	// auto; 0 if such a table has none of its own, and position_std is not read.
	PositionStd float64
	// Draw gives the distribution of one matrix.
	Draw func(c *Config, w Weight) graph.Init
}

// Inits is the table of initialisations by name.
var Inits = map[string]*Init{}

func init() {
	for _, i := range []Init{
		{Name: "normal", Std: true, Draw: normalInit, Doc: "N(0, std²) everywhere", Source: "Radford et al. 2018 (GPT)"},
		{Name: "gpt2", Std: true, PositionStd: 0.01, Draw: gpt2Init, Doc: "N(0, std²), position table N(0, position_std²)", Source: "Radford et al. 2019, as released"},
		{Name: "nanogpt", Std: true, PositionStd: 0.01, Draw: nanoGPTInit, Doc: "as gpt2, with std/√(2L) on the residual projections", Source: "Radford et al. 2019, as described; nanoGPT"},
		{Name: "bert", Std: true, Draw: bertInit, Doc: "N(0, std²) cut at two deviations", Source: "Devlin et al. 2018, arXiv:1810.04805"},
		{Name: "truncated_normal", Std: true, Draw: truncatedInit, Doc: "N(0, std²) cut at three deviations", Source: "OLMo 2, 2025, arXiv:2501.00656; allenai/OLMo: init_fn normal, init_cutoff_factor 3"},
		{Name: "full_megatron", Std: true, Draw: fullMegatronInit, Doc: "as truncated_normal, with std/√(2L) on the residual projections; a head of its own N(0, 1/d), cut too", Source: "Shoeybi et al. 2019, arXiv:1909.08053; allenai/OLMo: init_fn full_megatron"},
		{Name: "xavier", Draw: xavierInit, Doc: "uniform, variance 2/(in + out), for each of q, k, v, o, gate, up, down; embeddings N(0, 1/d)", Source: "Glorot and Bengio 2010; Vaswani et al. 2017"},
		{Name: "fan_in", Draw: fanInInit, Doc: "N(0, 1/in), embeddings N(0, 1)", Source: "LeCun et al. 1998, Efficient BackProp"},
		{Name: "small", Draw: smallInit, Doc: "N(0, 2/(5d)) everywhere", Source: "Nguyen and Salazar 2019, arXiv:1910.05895"},
		{Name: "llama", Std: true, Draw: llamaInit, Doc: "N(0, std²), with std/√(2l) on the residual projections of block l; embeddings N(0, 1), head N(0, 1/d) cut at three deviations", Source: "torchtitan's Llama 3"},
		{Name: "t5", Draw: t5Init, Doc: "N(0, 1/in), queries N(0, 1/(d·head_dim)) in place of a scale of the scores, embeddings N(0, 1), position bias and head N(0, 1/d)", Source: "Raffel et al. 2019, arXiv:1910.10683, as transformers draws it"},
		{Name: "nanochat", Zero: true, Draw: nanochatInit, Doc: "uniform, variance 1/in; residual projections 0, embeddings N(0, 0.8²), head N(0, 0.001²)", Source: "nanochat"},
	} {
		RegisterInit(i)
	}
}

// RegisterInit adds i to the table. It panics if the name is taken or no name.
func RegisterInit(i Init) {
	mustBeFree("initialisation", i.Name, Inits[i.Name] != nil)
	Inits[i.Name] = &i
}

func normalInit(c *Config, w Weight) graph.Init { return Normal(c.Init.Std) }

func gpt2Init(c *Config, w Weight) graph.Init {
	if w.Module == "position" {
		return Normal(float64(c.Init.PositionStd))
	}
	return Normal(c.Init.Std)
}

func nanoGPTInit(c *Config, w Weight) graph.Init {
	if w.residual() {
		return Normal(c.Init.Std / math.Sqrt(2*float64(c.Layers)))
	}
	return gpt2Init(c, w)
}

func bertInit(c *Config, w Weight) graph.Init { return TruncatedNormal(c.Init.Std, 2) }

func truncatedInit(c *Config, w Weight) graph.Init { return TruncatedNormal(c.Init.Std, 3) }

func fullMegatronInit(c *Config, w Weight) graph.Init {
	switch {
	case w.Module == "head":
		return TruncatedNormal(1/math.Sqrt(float64(c.DModel)), 3)
	case w.residual():
		return TruncatedNormal(c.Init.Std/math.Sqrt(2*float64(c.Layers)), 3)
	}
	return truncatedInit(c, w)
}

// xavierInit draws the head as the embedding that it would be if tied.
// Position biases start without a preference.
func xavierInit(c *Config, w Weight) graph.Init {
	switch w.Module {
	case "embedding", "position", "head":
		return Normal(1 / math.Sqrt(float64(c.DModel)))
	case "rel_bias":
		return Constant(0)
	}
	return Uniform(math.Sqrt(6 / float64(w.In+w.Out)))
}

func fanInInit(_ *Config, w Weight) graph.Init {
	switch w.Module {
	case "embedding", "position":
		return Normal(1)
	case "rel_bias":
		return Constant(0)
	}
	return Normal(1 / math.Sqrt(float64(w.In)))
}

// t5Init draws the head, if it is not the embedding, as T5's own is with its factor
// of 1/√d.
func t5Init(c *Config, w Weight) graph.Init {
	switch w.Module {
	case "attn.q":
		return Normal(1 / math.Sqrt(float64(w.In)*float64(c.HeadDim)))
	case "embedding", "position":
		return Normal(1)
	case "rel_bias":
		return Normal(1 / math.Sqrt(float64(c.DModel)))
	}
	return Normal(1 / math.Sqrt(float64(w.In)))
}

func smallInit(c *Config, w Weight) graph.Init { return Normal(math.Sqrt(2 / (5 * float64(c.DModel)))) }

func llamaInit(c *Config, w Weight) graph.Init {
	switch {
	case w.Module == "embedding":
		return Normal(1)
	case w.Module == "head":
		return TruncatedNormal(1/math.Sqrt(float64(c.DModel)), 3)
	case w.residual():
		return Normal(c.Init.Std / math.Sqrt(2*float64(w.Layer+1)))
	}
	return Normal(c.Init.Std)
}

func nanochatInit(_ *Config, w Weight) graph.Init {
	switch {
	case w.residual(), w.Module == "rel_bias":
		return Constant(0)
	case w.Module == "embedding", w.Module == "position":
		return Normal(0.8)
	case w.Module == "head":
		return Normal(0.001)
	}
	return Uniform(math.Sqrt(3 / float64(w.In)))
}

// Constant fills with one value.
func Constant(c float64) graph.Init {
	return func(_ *rand.Rand, x []float64) {
		for i := range x {
			x[i] = c
		}
	}
}

// Normal draws from N(0, std²).
func Normal(std float64) graph.Init {
	return func(r *rand.Rand, x []float64) {
		for i := range x {
			x[i] = std * r.NormFloat64()
		}
	}
}

// TruncatedNormal draws from N(0, std²) until a value lies within cut deviations, so
// that the deviation of what it gives is less than std: 0.880 of it for a cut at 2,
// 0.987 for one at 3. std means the same in PyTorch's trunc_normal_.
func TruncatedNormal(std, cut float64) graph.Init {
	return func(r *rand.Rand, x []float64) {
		for i := range x {
			z := r.NormFloat64()
			for math.Abs(z) > cut {
				z = r.NormFloat64()
			}
			x[i] = std * z
		}
	}
}

// Uniform draws from [-limit, limit).
func Uniform(limit float64) graph.Init {
	return func(r *rand.Rand, x []float64) {
		for i := range x {
			x[i] = limit * (2*r.Float64() - 1)
		}
	}
}

// scaled multiplies what init draws.
func scaled(init graph.Init, c float64) graph.Init {
	if c == 1 {
		return init
	}
	return func(r *rand.Rand, x []float64) {
		init(r, x)
		for i := range x {
			x[i] *= c
		}
	}
}
