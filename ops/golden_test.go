package ops_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ablate/graph"
	"ablate/graph/graphtest"
	"ablate/ops"
)

// array is a value of a golden file.
type array struct {
	Shape []int
	Data  []float64
}

// golden is a reference vector: results and gradients of an operation,
// computed in float64 by an independent implementation.
type golden struct {
	Op     string
	Inputs map[string]*array
	Output *array
	Dy     *array
	Grads  map[string]*array
	Attrs  struct {
		Eps, Base, Scale, Softcap, Cap, Alpha float64
		Style                                 string
		QKNorm                                string `json:"qk_norm"`
		Window, Buckets                       int
		MaxDistance                           int `json:"max_distance"`
		RotatedDims                           int `json:"rotated_dims"`
		T, D                                  int
		NHead                                 int `json:"n_head"`
		ALiBi                                 bool
		Causal                                *bool
		KeyValid                              [][]int32 `json:"key_valid"`
		Positions                             []int
		QueryPositions                        []int `json:"query_positions"`
		Targets                               []int32
		Indices, Mask                         [][]int32
		BucketTable                           [][]int32 `json:"bucket_table"`
		Scaling                               scaling
		Multiplier                            float64 `json:"cos_sin_multiplier"`
	}
}

func (g *golden) causal() bool { return g.Attrs.Causal == nil || *g.Attrs.Causal }

func readGolden(t *testing.T, name string) *golden {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "golden", "op_"+name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	if err := json.Unmarshal(b, &g); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return &g
}

// operand is an input of a reference, with heads merged into one axis.
func (g *golden) operand(name string) graphtest.Input {
	x := g.Inputs[name]
	return graphtest.Input{Shape: flat(x.Shape), Data: x.Data}
}

func flat(s []int) graph.Shape {
	if len(s) == 4 {
		return graph.Shape{s[0], s[1], s[2] * s[3]}
	}
	return s
}

// kinds says how the operation of a file is built, by the longest prefix of
// its name, which comes first: the inputs that are its operands, further
// operands without a gradient, and the expression.
var kinds = []struct {
	prefix string
	inputs string
	build  func(g *golden) ([]graphtest.Input, graphtest.Expr)
}{
	{"linear", "x w b", of(func(in []*graph.Node) *graph.Node { return ops.Linear(in[0], in[1], in[2]) })},
	{"layernorm_nobias", "x w", withAttrs(func(g *golden, in []*graph.Node) *graph.Node {
		return ops.LayerNorm(in[0], in[1], nil, g.Attrs.Eps)
	})},
	{"layernorm", "x w b", withAttrs(func(g *golden, in []*graph.Node) *graph.Node {
		return ops.LayerNorm(in[0], in[1], in[2], g.Attrs.Eps)
	})},
	{"deepnorm_residual", "x f w b", withAttrs(func(g *golden, in []*graph.Node) *graph.Node {
		return ops.LayerNorm(graph.Add(ops.Scale(in[0], g.Attrs.Alpha), in[1]), in[2], in[3], g.Attrs.Eps)
	})},
	{"rmsnorm_1p", "x w", withAttrs(func(g *golden, in []*graph.Node) *graph.Node {
		return ops.RMSNorm(in[0], in[1], g.Attrs.Eps, true)
	})},
	{"rmsnorm", "x w", withAttrs(func(g *golden, in []*graph.Node) *graph.Node {
		return ops.RMSNorm(in[0], in[1], g.Attrs.Eps, false)
	})},
	{"dyt_nobias", "x alpha w", of(func(in []*graph.Node) *graph.Node { return ops.DyT(in[0], in[1], in[2], nil) })},
	{"dyt", "x alpha w b", of(func(in []*graph.Node) *graph.Node { return ops.DyT(in[0], in[1], in[2], in[3]) })},
	{"relu2", "x", activation(ops.ReLU2)},
	{"relu", "x", activation(ops.ReLU)},
	{"gelu_tanh", "x", activation(ops.GELUTanh)},
	{"gelu_sigmoid", "x", activation(ops.GELUSigmoid)},
	{"gelu_erf", "x", activation(ops.GELU)},
	{"silu", "x", activation(ops.SiLU)},
	{"sigmoid", "x", activation(ops.Sigmoid)},
	{"glu", "gate value", gated(ops.Sigmoid)},
	{"bilinear", "gate value", gated(ops.Identity)},
	{"reglu", "gate value", gated(ops.ReLU)},
	{"geglu_tanh", "gate value", gated(ops.GELUTanh)},
	{"geglu", "gate value", gated(ops.GELU)},
	{"swiglu", "gate value", gated(ops.SiLU)},
	{"softcap", "x", withAttrs(func(g *golden, in []*graph.Node) *graph.Node { return ops.Softcap(in[0], g.Attrs.Cap) })},
	{"softmax_cross_entropy", "logits", goldenCrossEntropy},
	{"softmax_masked", "x", goldenMasked},
	{"softmax", "x", of(func(in []*graph.Node) *graph.Node { return ops.Softmax(in[0]) })},
	{"embedding", "w", goldenEmbedding},
	{"t5_bias", "rel_bias", goldenT5Bias},
	{"rope_half", "x", goldenRoPE},
	{"rope_interleaved", "x", goldenRoPE},
	{"rope_partial", "x", goldenRoPE},
	{"rope_yarn_offset", "x", goldenRoPE},
	{"attention_qknorm", "q k v wq wk", goldenAttention},
	{"attention_t5", "q k v rel_bias", goldenAttention},
	{"attention", "q k v", goldenAttention},
	{"causal_attention", "q k v", goldenAttention},
}

// of is a kind without attributes.
func of(f func(in []*graph.Node) *graph.Node) func(*golden) ([]graphtest.Input, graphtest.Expr) {
	return func(*golden) ([]graphtest.Input, graphtest.Expr) { return nil, one(f) }
}

func withAttrs(f func(g *golden, in []*graph.Node) *graph.Node) func(*golden) ([]graphtest.Input, graphtest.Expr) {
	return func(g *golden) ([]graphtest.Input, graphtest.Expr) {
		return nil, one(func(in []*graph.Node) *graph.Node { return f(g, in) })
	}
}

func activation(u ops.Unary) func(*golden) ([]graphtest.Input, graphtest.Expr) {
	return of(func(in []*graph.Node) *graph.Node { return ops.Activate(in[0], u) })
}

// TestGolden compares every file that holds an operation with a gradient.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/golden/op_*.json")
	if err != nil || len(files) < 60 {
		t.Fatalf("%d reference files, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "op_"), ".json")
		if isTable(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			for _, k := range kinds {
				if strings.HasPrefix(name, k.prefix) {
					g := readGolden(t, name)
					more, f := k.build(g)
					compareGolden[float64](t, g, strings.Fields(k.inputs), more, f, 1e-10, 1e-12)
					compareGolden[float32](t, g, strings.Fields(k.inputs), more, f, 1e-3, 1e-5)
					return
				}
			}
			t.Error("no operation for this file")
		})
	}
}

func compareGolden[T graph.Float](t *testing.T, g *golden, names []string, more []graphtest.Input, f graphtest.Expr, rel, abs float64) {
	t.Helper()
	var in []graphtest.Input
	for _, n := range names {
		x := g.operand(n)
		if graph.DtypeOf[T]() == graph.Float32 {
			x.Data = clamped(x.Data)
		}
		in = append(in, x)
	}
	e, err := graphtest.Compile[T](f, append(in, more...), [][]float64{g.Dy.Data}, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	out, grad := e.All()
	kind := graph.DtypeOf[T]().String()
	near(t, kind+" result", out[0], g.Output.Data, rel, abs)
	for i, n := range names {
		near(t, kind+" gradient of "+n, grad[i], g.Grads[n].Data, rel, abs)
	}
}

// clamped brings numbers into the range of float32.
func clamped(x []float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = math.Max(math.Min(v, math.MaxFloat32), -math.MaxFloat32)
	}
	return y
}
