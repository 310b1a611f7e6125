package ops_test

import (
	"strings"
	"testing"

	"ablate/graph/graphtest"
)

// TestHiddenIsExactlyZero: queries without a visible key give zeros and have no
// gradient, and keys that are hidden have none, to the last bit.
func TestHiddenIsExactlyZero(t *testing.T) {
	for _, name := range []string{"attention_causal_key_padding_kv2", "attention_whole_row_of_batch_masked"} {
		g := readGolden(t, name)
		more, f := goldenAttention(g)
		in := append([]graphtest.Input{g.operand("q"), g.operand("k"), g.operand("v")}, more...)
		e, err := graphtest.Compile[float32](f, in, [][]float64{g.Dy.Data}, 1)
		if err != nil {
			t.Fatal(err)
		}
		out, grad := e.All()
		e.Close()
		zeros := 0
		for _, c := range []struct {
			what string
			got  []float32
			want []float64
		}{
			{"result", out[0], g.Output.Data}, {"dq", grad[0], g.Grads["q"].Data},
			{"dk", grad[1], g.Grads["k"].Data}, {"dv", grad[2], g.Grads["v"].Data},
		} {
			for i, w := range c.want {
				if w == 0 {
					zeros++
					if c.got[i] != 0 {
						t.Errorf("%s: %s[%d] = %v, want exactly 0", name, c.what, i, c.got[i])
					}
				}
			}
		}
		if zeros < 100 {
			t.Errorf("%s has %d zeros", name, zeros)
		}
	}
}

// TestCausality: a later token changes nothing before it, in any variant.
func TestCausality(t *testing.T) {
	for _, c := range attentionCases() {
		if !strings.Contains(c.name, "causal") && !strings.Contains(c.name, "alibi") {
			continue
		}
		e, err := graphtest.Compile[float32](c.f, c.in, nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		before, _ := e.All()
		time, cut := c.in[0].Shape[1], 4
		for k := range 3 {
			w := c.in[k].Shape[2]
			x := e.In(k)
			for i := range x {
				if i/w%time >= cut {
					x[i] += 3
				}
			}
		}
		after, _ := e.All()
		w := c.in[0].Shape[2]
		changed := false
		for i := range before[0] {
			same := before[0][i] == after[0][i]
			if i/w%time < cut && !same {
				t.Fatalf("%s: element %d depends on a later token", c.name, i)
			}
			changed = changed || !same
		}
		if !changed {
			t.Errorf("%s: nothing changed", c.name)
		}
		e.Close()
	}
}
