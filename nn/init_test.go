package nn

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"ablate/graph"
)

// moments are the mean square and the mean fourth power of values, and their largest
// absolute value.
func moments(x []float64) (second, fourth, largest float64) {
	for _, v := range x {
		second += v * v / float64(len(x))
		fourth += v * v * v * v / float64(len(x))
		largest = max(largest, math.Abs(v))
	}
	return second, fourth, largest
}

// cutMoments are the second and the fourth moment of N(0, 1) within ±c:
//
//	1 - 2cφ(c)/Z and 3 - 2c(c² + 3)φ(c)/Z, with Z = 2Φ(c) - 1
func cutMoments(c float64) (second, fourth float64) {
	tail := 2 * c * math.Exp(-c*c/2) / math.Sqrt(2*math.Pi) / math.Erf(c/math.Sqrt2)
	return 1 - tail, 3 - (c*c+3)*tail
}

// TestTruncatedNormal holds a million values against the distribution.
func TestTruncatedNormal(t *testing.T) {
	x := make([]float64, 1_000_000)
	for _, cut := range []float64{2, 3} {
		TruncatedNormal(0.5, cut)(graph.Stream(1, "", fmt.Sprint(cut)), x)
		mean := 0.0
		for _, v := range x {
			mean += v / float64(len(x))
		}
		second, fourth, largest := moments(x)
		want2, want4 := cutMoments(cut)
		if second, fourth = second/0.25, fourth/0.0625; math.Abs(second-want2) > 0.005 || math.Abs(fourth-want4) > 0.03 || math.Abs(mean) > 0.002 {
			t.Errorf("cut at %g: mean %.4f, moments %.4f and %.4f, want 0, %.4f and %.4f", cut, mean, second, fourth, want2, want4)
		}
		if largest > 0.5*cut || largest < 0.499*cut {
			t.Errorf("cut at %g: the largest is %v", cut, largest)
		}
	}
}

// TestTruncatedInits: every matrix has the deviation of its place, and none has a value
// beyond three of them. The scaled projections are cut at three of their own.
func TestTruncatedInits(t *testing.T) {
	const std, scaled = .02, .02 / 2.8284271247461903 // √(2·4)
	second, _ := cutMoments(3)
	for _, c := range []struct {
		init InitName
		std  map[string]float64
	}{
		{"truncated_normal", map[string]float64{"embed.wte": std, "embed.wpe": std, "block.0.attn.wq": std, "block.1.attn.wo": std, "block.2.ffn.gate": std, "block.3.ffn.down": std, "head.w": std}},
		{"full_megatron", map[string]float64{"embed.wte": std, "embed.wpe": std, "block.0.attn.wq": std, "block.1.attn.wo": scaled, "block.2.ffn.gate": std, "block.3.ffn.down": scaled, "head.w": 1. / 8}},
	} {
		cfg := Default()
		cfg.DModel, cfg.DFF, cfg.Vocab, cfg.Init.Kind, cfg.Embedding.Tied = 64, 96, 256, c.init, false
		cfg.Position = PositionList{NewPosition("learned")}
		r := newRunner[float64](t, cfg, 1, 1)
		r.params.Init(1, "")
		for name, want := range c.std {
			x := r.params.Value(name)
			got, _, largest := moments(x)
			if ratio := got / (want * want * second); math.Abs(ratio-1) > 4*math.Sqrt(1.7/float64(len(x))) || largest > 3*want || largest < 2.7*want {
				t.Errorf("%s: %s has the mean square %.4g times %v² and a largest value of %.4g deviations", c.init, name, ratio, want, largest/want)
			}
		}
	}
}

// TestPositionStd: the position table has the deviation that it is given, by its kind
// where it is given none; nothing else changes.
func TestPositionStd(t *testing.T) {
	values := func(kind InitName, std AutoFloat) *graph.Params[float64] {
		r := newRunner[float64](t, with(func(c *Config) {
			c.Position, c.Init.Kind, c.Init.PositionStd = PositionList{NewPosition("learned")}, kind, std
		}), 1, 1)
		r.params.Init(1, "")
		return r.params
	}
	for _, kind := range []InitName{"gpt2", "nanogpt"} {
		auto, same, twice := values(kind, 0), values(kind, 0.01), values(kind, 0.02)
		for _, s := range auto.Specs() {
			factor := 1.0
			if s.Name == "embed.wpe" {
				factor = 2
			}
			for i, x := range auto.Value(s.Name) {
				if same.Value(s.Name)[i] != x || math.Abs(twice.Value(s.Name)[i]-factor*x) > 1e-15 {
					t.Fatalf("%s: %s[%d] is %v, %v for 0.01 and %v for 0.02", kind, s.Name, i, x, same.Value(s.Name)[i], twice.Value(s.Name)[i])
				}
			}
		}
	}
	for _, c := range []struct {
		kind, position string
		read           bool
	}{{"nanogpt", "learned", true}, {"gpt2", "learned", true}, {"nanogpt", "rope", false}, {"nanogpt", "sinusoidal", false}, {"normal", "learned", false}} {
		cfg := Default()
		cfg.Init.Kind, cfg.Position = InitName(c.kind), PositionList{NewPosition(c.position)}
		if got := !strings.Contains(fmt.Sprint(cfg.Unread()), "init.position_std"); got != c.read {
			t.Errorf("%s with %s positions reads init.position_std: %v", c.kind, c.position, got)
		}
	}
	cfg := Default()
	cfg.Init.PositionStd = -1
	if err := cfg.Validate(); err == nil || !strings.HasPrefix(err.Error(), "init.position_std: -1 is not auto or a number from ") {
		t.Error(err)
	}
}
