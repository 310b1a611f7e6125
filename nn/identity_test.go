package nn

import (
	"math"
	"slices"
	"strings"
	"testing"

	"ablate/graph"
)

// sameModel compares logits and stream of two models whose parameters agree by
// name; values gives those of b that a does not have.
func sameModel(t *testing.T, name string, a, b Config, values func(name string, x []float64)) {
	t.Helper()
	ra, rb := newRunner[float64](t, a, 1, batch), newRunner[float64](t, b, 1, batch)
	known := map[string]bool{}
	for _, s := range ra.params.Specs() {
		known[s.Name] = true
	}
	for _, s := range rb.params.Specs() {
		if known[s.Name] {
			copy(rb.params.Value(s.Name), ra.params.Value(s.Name))
		} else {
			values(s.Name, rb.params.Value(s.Name))
		}
	}
	ra.prog.Run()
	rb.prog.Run()
	for i, x := range ra.out("logits") {
		if math.Abs(x-rb.out("logits")[i]) > 1e-10 {
			t.Errorf("%s: logit %d is %v, its twin's %v", name, i, x, rb.out("logits")[i])
			return
		}
	}
}

func none(name string, _ []float64) { panic(name + " has no twin") }

func ones(_ string, x []float64) {
	for i := range x {
		x[i] = 1
	}
}

// TestPlacementsThatAreEqual holds the placements against each other where they
// come to the same.
func TestPlacementsThatAreEqual(t *testing.T) {
	place := func(p PlacementList, change ...func(c *Config)) Config {
		return with(func(c *Config) {
			c.Placement = p
			for _, f := range change {
				f(c)
			}
		})
	}
	normed := func(c *Config) { c.FinalNorm = Yes }
	plain := func(c *Config) { c.Embedding.Norm = No }
	one := func(c *Config) { c.Layers = 1 }
	mix := func(k float64) PlacementList {
		return PlacementList{{Kind: "mix", Options: map[string]float64{"k": k}}}
	}
	deep := PlacementList{{Kind: "deepnorm", Options: map[string]float64{"alpha": 1, "beta": 1}}}

	sameModel(t, "deepnorm with alpha 1 is post", place(Place("post")), place(deep), none)
	sameModel(t, "peri without the norm of the embedding is sandwich", place(Place("sandwich")), place(Place("peri"), plain), none)
	sameModel(t, "lns of one block is pre", place(Place("pre"), one), place(Place("lns"), one), none)
	sameModel(t, "mix of no post block is pre", place(Place("pre")), place(mix(0)), none)
	sameModel(t, "mix of post blocks alone is post", place(Place("post"), normed), place(mix(3)), none)
	sameModel(t, "a list of one name is that name", place(Place("output")), place(slices.Repeat(Place("output"), 3)), none)
	sameModel(t, "a formula of the table is its name", place(Place("parallel")), place(Place("h=N1(x);x+A(h)+M(h)")), none)
	sameModel(t, "layerscale with g 1 is pre", place(Place("pre")), place(Place("layerscale")), ones)
	sameModel(t, "rezero with a 1 is none", place(Place("none")), place(Place("rezero")), ones)
}

// TestZeroBranches: a ReZero model at its start is the identity, and only its
// scalars have a gradient within the blocks.
func TestZeroBranches(t *testing.T) {
	r := newRunner[float64](t, with(func(c *Config) { c.Placement = Place("rezero") }), 1, batch)
	r.params.Init(1, "")
	r.prog.Run()
	if a, b := r.norm("stream_norm.0"), r.norm("stream_norm.3"); a != b {
		t.Errorf("the stream changes from %v to %v", a, b)
	}
	for _, s := range r.params.Specs() {
		zero := !slices.ContainsFunc(r.params.Grad(s.Name), func(g float64) bool { return g != 0 })
		if want := s.Layer >= 0 && s.Role != "residual_scale"; zero != want {
			t.Errorf("%s: gradient is zero: %v, want %v", s.Name, zero, want)
		}
	}
}

// TestPostNormKeepsTheStreamAtOne: with gain 1 and no bias, every block of a
// post model leaves a stream of mean square 1.
func TestPostNormKeepsTheStreamAtOne(t *testing.T) {
	r := newRunner[float64](t, with(func(c *Config) { c.Placement, c.Norm.Eps = Place("post"), 1e-12 }), 1, batch)
	r.params.Init(1, "")
	r.prog.Run()
	n := float64(batch * r.m.cfg.Context * r.m.cfg.DModel)
	for _, l := range []string{"1", "2", "3"} {
		if ms := r.norm("stream_norm." + l); math.Abs(ms*ms/n-1) > 1e-6 {
			t.Errorf("after block %s the mean square is %v", l, ms*ms/n)
		}
	}
}

// TestTiedGradientIsTheSum: the gradient of a tied embedding is that of the
// embedding plus that of the head of an untied twin.
func TestTiedGradientIsTheSum(t *testing.T) {
	tied := newRunner[float64](t, tiny(), 1, batch)
	twin := newRunner[float64](t, with(func(c *Config) { c.Embedding.Tied = false }), 1, batch)
	copy(twin.params.Value("head.w"), twin.params.Value("embed.wte"))
	tied.prog.Run()
	twin.prog.Run()
	for i, g := range tied.params.Grad("embed.wte") {
		if sum := twin.params.Grad("embed.wte")[i] + twin.params.Grad("head.w")[i]; math.Abs(g-sum) > 1e-12 {
			t.Errorf("element %d: %v tied, %v as a sum", i, g, sum)
		}
	}
}

// TestGroupedHeads: a model whose key/value heads are copies of a grouped one's,
// each beside its original, is the same; the gradient of a shared head is the
// sum of its copies'. Copies in the order of a tile are another model.
func TestGroupedHeads(t *testing.T) {
	grouped := newRunner[float64](t, tiny(), 1, batch) // 4 heads, 2 of keys and values
	full := newRunner[float64](t, with(func(c *Config) { c.KVHeads = 4 }), 1, batch)
	head := 4 * 8 // elements of one head of wk: head_dim × d_model
	fill := func(source func(h int) int) {
		for _, s := range full.params.Specs() {
			src, dst := grouped.params.Value(s.Name), full.params.Value(s.Name)
			if !kv(s.Name) {
				copy(dst, src)
				continue
			}
			for h := range 4 {
				copy(dst[h*head:(h+1)*head], src[source(h)*head:])
			}
		}
	}
	fill(func(h int) int { return h / 2 })
	grouped.prog.Run()
	full.prog.Run()
	for i, x := range grouped.out("logits") {
		if math.Abs(x-full.out("logits")[i]) > 1e-12 {
			t.Fatalf("logit %d is %v grouped, %v in full", i, x, full.out("logits")[i])
		}
	}
	for _, s := range grouped.params.Specs() {
		if !kv(s.Name) {
			continue
		}
		for i, g := range grouped.params.Grad(s.Name) {
			copies := full.params.Grad(s.Name)[i/head*2*head+i%head:]
			if sum := copies[0] + copies[head]; math.Abs(g-sum) > 1e-12 {
				t.Fatalf("d %s[%d] is %v, its copies' sum %v", s.Name, i, g, sum)
			}
		}
	}
	fill(func(h int) int { return h % 2 })
	full.prog.Run()
	if slices.Equal(grouped.out("logits"), full.out("logits")) {
		t.Error("tiled heads give the same model")
	}
}

func kv(name string) bool { return strings.HasSuffix(name, ".wk") || strings.HasSuffix(name, ".wv") }

// TestOrderOfTokens: without positions and mask the model is equivariant under
// permutations; a causal mask alone breaks that.
func TestOrderOfTokens(t *testing.T) {
	for _, causal := range []bool{false, true} {
		r := newRunner[float64](t, with(func(c *Config) { c.Position, c.Attention.Causal = PositionList{{Kind: "none"}}, causal }), 1, 1)
		T, V := r.m.cfg.Context, int(r.m.cfg.Vocab)
		copy(r.ints("tokens"), []int32{1, 4, 2, 6, 0})
		r.prog.Run()
		before := slices.Clone(r.out("logits"))
		slices.Reverse(r.ints("tokens"))
		r.prog.Run()
		worst := 0.0
		for i := range T {
			for v := range V {
				worst = max(worst, math.Abs(before[i*V+v]-r.out("logits")[(T-1-i)*V+v]))
			}
		}
		if causal != (worst > 1e-6) || !causal && worst > 1e-12 {
			t.Errorf("causal %v: reversed logits differ by %v", causal, worst)
		}
	}
}

func TestDropout(t *testing.T) {
	cfg := with(func(c *Config) { c.Dropout = 0.3 })
	r := newRunner[float64](t, cfg, 1, batch)
	losses := map[float64]bool{}
	for step := range int32(4) {
		copy(r.ints("rng"), []int32{step, 7})
		a := r.mean()
		if b := r.mean(); a != b {
			t.Errorf("one key gives %v and %v", a, b)
		}
		losses[a] = true
	}
	if len(losses) != 4 {
		t.Errorf("4 keys give %d losses", len(losses))
	}
	copy(r.ints("rng"), []int32{3, 1})
	r.prog.Run()
	checkDifferences(t, r)
	g, err := r.m.Eval(graph.Float64, batch, r.m.cfg.Context)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(g.Inputs(), " "); got != "targets tokens" {
		t.Errorf("evaluation has inputs %s", got)
	}
	a := r.m.Attest(r.g)
	if want := []string{"0-2 x + F(N1(x))"}; !slices.Equal(a.Placements(), want) {
		t.Errorf("dropout changes the placement to %v", a.Placements())
	}
}
