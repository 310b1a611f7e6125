package nn

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"testing"

	"ablate/graph"
)

// The statements of theory about models at initialisation, measured. They are about
// means over random weights, so they are judged over seeds, and take minutes:
//
//	make theory
//
// prints the tables of docs/theory.md and fails where a statement does not hold;
// make theory SEEDS=40 does it over more than the usual five.

var theorySeeds, _ = strconv.Atoi(os.Getenv("ABLATE_THEORY"))

// profile is what one model at initialisation gives: the mean square of the stream
// at its boundaries, the norms of the gradient there, and the gradient of the last down projection.
type profile struct {
	stream, grad []float64
	top          float64
}

// ratio is how much longer the gradient is at the input than at the top.
func (p profile) ratio() float64 { return p.grad[0] / p.grad[len(p.grad)-1] }

// theory gives the configuration that the statements are about.
func theory(placement string, layers int, init InitName) Config {
	c := Default()
	c.Layers, c.DModel, c.Heads, c.DFF, c.Context, c.Vocab = layers, 64, 4, 256, 64, 64
	c.Placement, c.Norm.Kind, c.Activation, c.Init.Kind = Place(placement), "layernorm", "relu", init
	c.Position = PositionList{NewPosition("sinusoidal")}
	return c
}

// profiles measures a configuration at initialisation, once for each seed.
func profiles(t *testing.T, c Config) []profile {
	t.Helper()
	r := newRunner[float32](t, c, 2, 8)
	out := make([]profile, theorySeeds)
	for seed := range out {
		r.params.Init(uint64(seed), "")
		tokens, targets, rng := r.ints("tokens"), r.ints("targets"), graph.Stream(uint64(seed), "", "tokens")
		for i := range tokens {
			tokens[i], targets[i] = int32(rng.IntN(int(r.m.cfg.Vocab))), int32(rng.IntN(int(r.m.cfg.Vocab)))
		}
		r.prog.Run()
		p := &out[seed]
		for l := range c.Layers + 1 {
			x := r.norm(fmt.Sprint("stream_norm.", l))
			p.stream = append(p.stream, x*x/float64(len(tokens)*c.DModel))
			p.grad = append(p.grad, r.norm(fmt.Sprint("stream_grad_norm.", l)))
		}
		for _, g := range r.params.Grad(fmt.Sprintf("block.%d.ffn.down", c.Layers-1)) {
			p.top += float64(g) * float64(g)
		}
		p.top = math.Sqrt(p.top)
	}
	return out
}

// line is the least-squares line through points, and the share of the variance that it explains.
func line(x, y []float64) (slope, at0, r2 float64) {
	var mx, my, sxx, sxy, syy float64
	n := float64(len(x))
	for i := range x {
		mx, my = mx+x[i]/n, my+y[i]/n
	}
	for i := range x {
		sxx, sxy, syy = sxx+(x[i]-mx)*(x[i]-mx), sxy+(x[i]-mx)*(y[i]-my), syy+(y[i]-my)*(y[i]-my)
	}
	return sxy / sxx, my - sxy/sxx*mx, sxy * sxy / (sxx * syy)
}

// geometric is the geometric mean of a number over seeds.
func geometric(all []profile, of func(profile) float64) float64 {
	sum := 0.0
	for _, p := range all {
		sum += math.Log(of(p))
	}
	return math.Exp(sum / float64(len(all)))
}

func TestTheory(t *testing.T) {
	if theorySeeds < 2 {
		t.Skip("takes minutes; make theory")
	}
	t.Run("top gradient against depth", theoryTopGradient)
	t.Run("top gradient against width", theoryTopGradientWidth)
	t.Run("stream of pre", theoryPreStream)
	t.Run("stream of peri", theoryPeriStream)
	t.Run("ratio under scaled projections", theoryScaledProjections)
	t.Run("gain of depth", theoryDepthGain)
}

// exponent is the slope of log y against log x, where at[i] is what the seeds gave at
// x[i], as a mean over seeds with its standard error.
func exponent(x []float64, at [][]profile, y func(profile) float64) (mean, stderr float64) {
	slopes := make([]float64, theorySeeds)
	for seed := range slopes {
		lx, ly := make([]float64, len(x)), make([]float64, len(x))
		for i := range x {
			lx[i], ly[i] = math.Log(x[i]), math.Log(y(at[i][seed]))
		}
		slopes[seed], _, _ = line(lx, ly)
		mean += slopes[seed] / float64(theorySeeds)
	}
	for _, s := range slopes {
		stderr += (s - mean) * (s - mean) / float64(theorySeeds*(theorySeeds-1))
	}
	return mean, math.Sqrt(stderr)
}

func topGradient(p profile) float64    { return p.top }
func streamGradient(p profile) float64 { return p.grad[len(p.grad)-1] }

// theoryTopGradient: Xiong et al. 2020, arXiv:2002.04745: the gradient of the last
// FFN's second matrix does not depend on L under post, and falls as 1/√L under pre.
func theoryTopGradient(t *testing.T) {
	for _, c := range []struct {
		placement  string
		want, span float64
	}{{"post", 0, 0.1}, {"pre", -0.5, 0.15}} {
		var at [][]profile
		depths := []float64{8, 16, 32, 64}
		for _, layers := range depths {
			all := profiles(t, theory(c.placement, int(layers), "xavier"))
			fmt.Printf("top gradient    %-5s L %2g   %.5f\n", c.placement, layers, geometric(all, topGradient))
			at = append(at, all)
		}
		slope, stderr := exponent(depths, at, topGradient)
		fmt.Printf("top gradient    %-5s slope  %.3f ± %.3f, theory %g ± %g\n", c.placement, slope, stderr, c.want, c.span)
		if math.Abs(slope-c.want) > c.span {
			t.Errorf("%s: slope %.3f, theory %g ± %g", c.placement, slope, c.want, c.span)
		}
	}
}

// theoryTopGradientWidth: the same gradient against d. It is a sum over tokens of outer
// products of what arrives from the head and of the hidden layer. The hidden layer is as
// long as √d; what arrives, as a row of the head: √d for a head of N(0, 1), so that the
// product goes like d, as the bounds O(d√ln d) and O(d√(ln d/L)) of Xiong et al. do; and
// 1 for a head of N(0, 1/d), which xavier draws. √ln d adds 0.1 to a slope over these
// widths, too little to be told.
func theoryTopGradientWidth(t *testing.T) {
	for _, c := range []struct {
		placement, head string
		want            float64
	}{{"post", "1", 1}, {"pre", "1", 1}, {"post", "1/d", 0.5}, {"pre", "1/d", 0.5}} {
		var at [][]profile
		widths := []float64{64, 128, 256, 512}
		for _, d := range widths {
			cfg := theory(c.placement, 8, "xavier")
			cfg.DModel, cfg.DFF, cfg.Embedding.Tied = int(d), AutoInt(4*d), false
			if c.head == "1" {
				cfg.Init.Multipliers = graph.RoleFactors{"head": math.Sqrt(d)}
			}
			all := profiles(t, cfg)
			fmt.Printf("top gradient    %-5s head N(0, %s) d %3g   %.5f, of the stream %.5f\n", c.placement, c.head, d, geometric(all, topGradient), geometric(all, streamGradient))
			at = append(at, all)
		}
		top, topErr := exponent(widths, at, topGradient)
		stream, streamErr := exponent(widths, at, streamGradient)
		fmt.Printf("top gradient    %-5s head N(0, %s) slope  %.3f ± %.3f, theory %g ± 0.2; of the stream %.3f ± %.3f, theory %g ± 0.1\n",
			c.placement, c.head, top, topErr, c.want, stream, streamErr, c.want-0.5)
		if math.Abs(top-c.want) > 0.2 || math.Abs(stream-(c.want-0.5)) > 0.1 {
			t.Errorf("%s, head N(0, %s): slope %.3f, of the stream %.3f", c.placement, c.head, top, stream)
		}
	}
}

// theoryPreStream: under pre every block adds the same to the mean square.
func theoryPreStream(t *testing.T) {
	for _, init := range []InitName{"xavier", "fan_in"} {
		slope, at0, r2 := streamLine(profiles(t, theory("pre", 32, init)))
		fmt.Printf("stream of pre   %-7s mean square %.3f + %.3f l, R² %.4f, theory R² > 0.98\n", init, at0, slope, r2)
		if r2 < 0.98 || slope <= 0 {
			t.Errorf("%s: slope %.3f, R² %.4f", init, slope, r2)
		}
	}
}

// streamLine is the line through the mean over seeds of the stream's mean squares.
func streamLine(all []profile) (slope, at0, r2 float64) {
	x, y := make([]float64, len(all[0].stream)), make([]float64, len(all[0].stream))
	for l := range x {
		x[l] = float64(l)
		for _, p := range all {
			y[l] += p.stream[l] / float64(len(all))
		}
	}
	return line(x, y)
}

// theoryPeriStream: under peri (Kim et al. 2025, arXiv:2502.02732) the two branches of
// a block have mean square 1 each, so that the stream has x_0 + 2l. Two things are
// against it. Where tokens are alike, a branch is one direction of d for all of them,
// and its product with the stream averages out over seeds only, the slower the narrower
// the model. And a branch as small as √eps is not brought to 1.
func theoryPeriStream(t *testing.T) {
	for _, c := range []struct {
		init InitName
		eps  float64
		d    int
		hold bool
	}{{"xavier", 1e-5, 256, true}, {"fan_in", 1e-5, 256, true}, {"nanogpt", 1e-12, 256, true}, {"xavier", 1e-5, 64, false}, {"nanogpt", 1e-12, 64, false}, {"nanogpt", 1e-5, 64, false}} {
		for _, layers := range []int{8, 32} {
			cfg := theory("peri", layers, c.init)
			cfg.DModel, cfg.DFF, cfg.Norm.Eps = c.d, AutoInt(4*c.d), c.eps
			off := periOff(profiles(t, cfg))
			fmt.Printf("stream of peri  %-7s d %3d eps %-5g L %2d   within %4.1f %% of x0 + 2l, theory 10 %%\n", c.init, c.d, c.eps, layers, 100*off)
			if c.hold && off > 0.1 {
				t.Errorf("%s, L %d: %.1f %% from x0 + 2l", c.init, layers, 100*off)
			}
		}
	}
}

// periOff is the largest share by which the mean over seeds of the stream's mean
// squares is off x_0 + 2l.
func periOff(all []profile) float64 {
	worst := 0.0
	for l := range all[0].stream {
		mean, want := 0.0, 0.0
		for _, p := range all {
			mean, want = mean+p.stream[l], want+p.stream[0]+2*float64(l)
		}
		worst = max(worst, math.Abs(mean/want-1))
	}
	return worst
}

// theoryScaledProjections: with 0.02/√(2L) on what writes to the stream, the ratio of
// the gradients at the input and at the top does not depend on L.
func theoryScaledProjections(t *testing.T) {
	least, most := math.Inf(1), 0.0
	for _, layers := range []int{4, 8, 16, 32, 64} {
		ratio := geometric(profiles(t, theory("pre", layers, "nanogpt")), profile.ratio)
		fmt.Printf("ratio           nanogpt pre L %2d   %.4f\n", layers, ratio)
		least, most = min(least, ratio), max(most, ratio)
	}
	if most/least > 1.05 {
		t.Errorf("ratios from %.4f to %.4f", least, most)
	}
}

// theoryDepthGain: where a branch passes gradients as it passes values, b = f, the
// gradient grows from the top to the input of a pre model as the stream does:
//
//	‖g_0‖/‖g_L‖ = √(1 + Σ f²) = √(‖x_L‖²/‖x_0‖²)
//
// and under post not at all. All that is safe to assert of post is that more arrives
// than along its identity path, ∏ (1 + f²)^-½ over 2L branches; f = 1, which is more
// than they have here, makes that 2^-L.
func theoryDepthGain(t *testing.T) {
	for _, layers := range []int{4, 8, 16, 32} {
		all := profiles(t, theory("pre", layers, "xavier"))
		ratio := geometric(all, profile.ratio)
		want := geometric(all, func(p profile) float64 { return math.Sqrt(p.stream[layers] / p.stream[0]) })
		fmt.Printf("gain of depth   pre   L %2d   g0/gL %.3f, theory %.3f, measured/theory %.2f\n", layers, ratio, want, ratio/want)
		if math.Abs(math.Log(ratio/want)) > math.Log(1.35) {
			t.Errorf("pre, L %d: %.3f, theory %.3f", layers, ratio, want)
		}
	}
	for _, layers := range []int{4, 8, 16, 32} {
		ratio := geometric(profiles(t, theory("post", layers, "xavier")), profile.ratio)
		bound := math.Pow(2, -float64(layers))
		fmt.Printf("gain of depth   post  L %2d   g0/gL %.3f, identity path alone %.2g\n", layers, ratio, bound)
		if ratio < bound {
			t.Errorf("post, L %d: %.3f is below the identity path's %.2g", layers, ratio, bound)
		}
	}
}
