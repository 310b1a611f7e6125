package nn

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"ablate/graph"
)

// twins runs two models of which the second has the parameters of the first under
// other names, and compares the logits. value gives the parameter of b, from a.
func twins(t *testing.T, what string, a, b Config, value func(a *runner[float64], name string) []float64) {
	t.Helper()
	ra, rb := newRunner[float64](t, a, 1, batch), newRunner[float64](t, b, 1, batch)
	for _, s := range rb.params.Specs() {
		copy(rb.params.Value(s.Name), value(ra, s.Name))
	}
	ra.prog.Run()
	rb.prog.Run()
	for i, x := range ra.out("logits") {
		if math.Abs(x-rb.out("logits")[i]) > 1e-10 {
			t.Errorf("%s: logit %d is %v, its twin's %v", what, i, x, rb.out("logits")[i])
			return
		}
	}
}

func same(r *runner[float64], name string) []float64 { return r.params.Value(name) }

// TestSandwichWithoutItsFirstNormIsOutput: what is left of sandwich, when the norms
// before the sub-layers go, is output.
func TestSandwichWithoutItsFirstNormIsOutput(t *testing.T) {
	half := with(func(c *Config) { c.Placement = Place("x + N2(F(x))") })
	output := with(func(c *Config) { c.Placement = Place("output") })
	twins(t, "output", half, output, func(r *runner[float64], name string) []float64 {
		for _, k := range []string{"1", "2"} {
			name = strings.Replace(name, ".norm"+k+".", ".norm"+k+"_post.", 1)
		}
		return same(r, name)
	})
}

// TestPeriOfGainZeroIsTheIdentity: with the gains after its sub-layers at 0, the
// stream leaves a peri model as it enters it.
func TestPeriOfGainZeroIsTheIdentity(t *testing.T) {
	for _, norm := range []NormName{"rmsnorm", "layernorm"} {
		r := newRunner[float64](t, with(func(c *Config) { c.Placement, c.Norm.Kind = Place("peri"), norm }), 1, batch)
		for _, s := range r.params.Specs() {
			if strings.Contains(s.Name, "_post.") {
				clear(r.params.Value(s.Name))
			}
		}
		r.prog.Run()
		for l := range 4 {
			name := fmt.Sprint("stream_norm.", l)
			if got, want := r.norm(name), r.norm("stream_norm.0"); got != want {
				t.Errorf("%s: %s is %v, was %v", norm, name, got, want)
			}
		}
	}
}

// TestWeightsBeforeANorm: a norm erases the scale of the matrix whose output it reads:
// the gradient is orthogonal to the matrix, and half as large where it is doubled.
func TestWeightsBeforeANorm(t *testing.T) {
	for _, c := range []struct {
		what   string
		change func(c *Config)
		erased []string
	}{
		{"output", func(c *Config) { c.Placement = Place("output") }, []string{"block.0.attn.wo", "block.1.ffn.down", "block.2.ffn.down"}},
		{"sandwich", func(c *Config) { c.Placement = Place("sandwich") }, []string{"block.0.attn.wo", "block.1.ffn.down", "block.2.ffn.down"}},
		{"q/k-norm of all heads", func(c *Config) { c.Attention.QKNorm = "full" }, []string{"block.0.attn.wq", "block.1.attn.wk"}},
		{"q/k-norm of every head", func(c *Config) { c.Attention.QKNorm = "head" }, []string{"block.0.attn.wq", "block.1.attn.wk"}},
		{"no norm behind it", func(c *Config) {}, nil},
	} {
		r := newRunner[float64](t, with(func(cfg *Config) { cfg.Norm.Eps = 1e-14; c.change(cfg) }), 1, batch)
		for _, name := range []string{"block.0.attn.wo", "block.1.ffn.down", "block.2.ffn.down", "block.0.attn.wq", "block.1.attn.wk"} {
			r.prog.Run()
			w, g := r.params.Value(name), slices.Clone(r.params.Grad(name))
			cosine := inner(w, g) / math.Sqrt(inner(w, w)*inner(g, g))
			for i := range w {
				w[i] *= 2
			}
			r.prog.Run()
			ratio := math.Sqrt(inner(r.params.Grad(name), r.params.Grad(name)) / inner(g, g))
			for i := range w {
				w[i] /= 2
			}
			if erased := math.Abs(cosine) < 1e-8 && math.Abs(ratio-.5) < 1e-8; erased != slices.Contains(c.erased, name) {
				t.Errorf("%s: %s: cosine with the gradient %g, ratio of the gradients %v", c.what, name, cosine, ratio)
			}
		}
	}
}

func inner(a, b []float64) (sum float64) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

// TestLayoutsOfRoPE: the two layouts are one model with rows of wq and wk moved.
func TestLayoutsOfRoPE(t *testing.T) {
	layout := func(name string) Config {
		return with(func(c *Config) {
			p := NewPosition("rope")
			p.Layout = name
			c.Position = PositionList{p}
		})
	}
	const hd, d = 4, 8
	twins(t, "interleaved", layout("half"), layout("interleaved"), func(r *runner[float64], name string) []float64 {
		w := same(r, name)
		if !strings.HasSuffix(name, ".wq") && !strings.HasSuffix(name, ".wk") {
			return w
		}
		moved := make([]float64, 0, len(w))
		for row := range len(w) / d {
			from := row/hd*hd + row%2*hd/2 + row%hd/2 // entries 2j, 2j+1 of a head come from j, j+hd/2
			moved = append(moved, w[from*d:(from+1)*d]...)
		}
		return moved
	})
}

// TestRepeatedHeadsAreMQA: one head of keys and values is as many copies of it.
func TestRepeatedHeadsAreMQA(t *testing.T) {
	mqa, mha := with(func(c *Config) { c.KVHeads = 1 }), with(func(c *Config) { c.KVHeads = 4 })
	twins(t, "multi-query", mqa, mha, func(r *runner[float64], name string) []float64 {
		if kv(name) {
			return slices.Repeat(same(r, name), 4)
		}
		return same(r, name)
	})
}

// TestPrefixesAlone: the logits of a prefix are those of the sequence that it begins.
func TestPrefixesAlone(t *testing.T) {
	for _, position := range []string{"rope", "learned", "alibi", "t5", "sinusoidal", "none"} {
		at := func(time int) *runner[float64] {
			return newRunner[float64](t, with(func(c *Config) {
				p := NewPosition(position)
				p.Max = 5
				c.Position, c.Context = PositionList{p}, time
			}), 1, 1)
		}
		whole, prefix := at(5), at(3)
		copy(prefix.params.Values(), whole.params.Values())
		copy(prefix.ints("tokens"), whole.ints("tokens"))
		whole.prog.Run()
		prefix.prog.Run()
		for i, x := range prefix.out("logits") {
			if math.Abs(x-whole.out("logits")[i]) > 1e-12 {
				t.Errorf("%s: logit %d is %v, of the whole sequence %v", position, i, x, whole.out("logits")[i])
				break
			}
		}
	}
}

// TestMicroBatchesAddUp: with one over the number of targets of the whole step as the
// seed, the gradients of its parts, of which one is mostly padding, add up to the
// whole's.
func TestMicroBatchesAddUp(t *testing.T) {
	whole, part := newRunner[float64](t, tiny(), 1, 2), newRunner[float64](t, tiny(), 1, 1)
	copy(part.params.Values(), whole.params.Values())
	for i := 5; i < 9; i++ {
		whole.ints("targets")[i] = -100
	}
	seed := 1.0 / 6
	sum, loss := make([]float64, len(whole.params.Grads())), 0.0
	for b := range 2 {
		copy(part.ints("tokens"), whole.ints("tokens")[5*b:])
		copy(part.ints("targets"), whole.ints("targets")[5*b:5*b+5])
		graph.Slice[float64](part.prog.Input("seed"))[0] = seed
		part.prog.Run()
		loss += part.out("loss")[0]
		for i, g := range part.params.Grads() {
			sum[i] += g
		}
	}
	graph.Slice[float64](whole.prog.Input("seed"))[0] = seed
	whole.prog.Run()
	near(t, "loss", loss, whole.out("loss")[0], 1e-12)
	for i, g := range whole.params.Grads() {
		if math.Abs(g-sum[i]) > 1e-12 {
			t.Fatalf("gradient %d is %v, of the parts %v", i, g, sum[i])
		}
	}
}

// TestGatedFFNHasThreeMatrices: 3·d·h parameters against 2·d·h.
func TestGatedFFNHasThreeMatrices(t *testing.T) {
	for name, act := range Activations {
		_, _, a := attested(t, with(func(c *Config) { c.Activation = ActivationName(name) }))
		want := 2
		if act.Gated {
			want = 3
		}
		if got := a.ByRole["ffn"]; got != 3*want*8*6 {
			t.Errorf("%s: %d parameters in 3 FFNs of 8 × 6", name, got)
		}
	}
}
