package ops_test

import (
	"fmt"
	"slices"
	"testing"

	"ablate/graph"
	"ablate/graph/graphtest"
	"ablate/ops"
)

// cacheCase is a form of attention that is fed piece by piece.
type cacheCase struct {
	name    string
	o       ops.AttentionOptions
	buckets int // of a relative bias; 0 for none
}

func cacheCases() []cacheCase {
	return []cacheCase{
		{name: "grouped", o: ops.AttentionOptions{Heads: 6, KVHeads: 2}},
		{name: "one kv head, softcap", o: ops.AttentionOptions{Heads: 6, KVHeads: 1, Softcap: 2, Scale: 0.7}},
		{name: "alibi", o: ops.AttentionOptions{Heads: 6, Slopes: ops.ALiBiSlopes(6)}},
		{name: "t5", o: ops.AttentionOptions{Heads: 6, KVHeads: 3, MaxDistance: 9}, buckets: 6},
		{name: "window", o: ops.AttentionOptions{Heads: 6, KVHeads: 2, Window: 5}},
		{name: "window of one", o: ops.AttentionOptions{Heads: 6, KVHeads: 2, Window: 1}},
		{name: "window, alibi", o: ops.AttentionOptions{Heads: 6, KVHeads: 3, Window: 3, Slopes: ops.ALiBiSlopes(6)}},
		{name: "window, t5", o: ops.AttentionOptions{Heads: 6, KVHeads: 2, Window: 7, MaxDistance: 4}, buckets: 4},
	}
}

const cachedTime, cachedWidth = 61, 5 // of the text, of a head

// fedInPieces runs one program for each size of a piece over shared caches and
// gives the results of all tokens.
func fedInPieces[T graph.Float](t *testing.T, c cacheCase, q, k, v, bias []T, pieces []int, workers int) []T {
	t.Helper()
	team := graph.NewTeam(workers)
	defer team.Close()
	longest, rows, step := slices.Max(pieces), cachedTime, 0
	if w := c.o.Window; w > 0 {
		rows, step = ops.CacheRows(w, longest), longest
	}
	h, g := c.o.Heads*cachedWidth, max(c.o.KVHeads, 1)*cachedWidth
	if c.o.KVHeads == 0 {
		g = h
	}
	programs := map[int]*graph.Program{}
	var opts []graph.Option
	var out []T
	for at, i := 0, 0; at < cachedTime; i++ {
		n := min(pieces[i%len(pieces)], cachedTime-at)
		if programs[n] == nil {
			gr, err := graph.Build(graph.DtypeOf[T](), func(s *graph.Scope) {
				o := c.o
				o.Causal = true
				if c.buckets > 0 {
					o.RelBias = s.Floats("bias", c.buckets, o.Heads)
				}
				cache := ops.Cache{Keys: s.Floats("keys", rows, g), Values: s.Floats("values", rows, g), Position: s.Ints("position", 1), Step: step}
				s.Output("o", ops.CachedAttention(s.Floats("q", 1, n, h), s.Floats("k", 1, n, g), s.Floats("v", 1, n, g), cache, o))
			})
			if err != nil {
				t.Fatal(err)
			}
			p, err := graph.Compile(gr, graph.NewParams[T](gr), team, opts...)
			if err != nil {
				t.Fatal(err)
			}
			programs[n], opts = p, []graph.Option{graph.WithInputsOf(p)}
			if c.buckets > 0 {
				copy(graph.Slice[T](p.Input("bias")), bias)
			}
		}
		p := programs[n]
		graph.Slice[int32](p.Input("position"))[0] = int32(at)
		copy(graph.Slice[T](p.Input("q")), q[at*h:])
		copy(graph.Slice[T](p.Input("k")), k[at*g:])
		copy(graph.Slice[T](p.Input("v")), v[at*g:])
		p.Run()
		out = append(out, graph.Slice[T](p.Output("o"))...)
		at += n
	}
	return out
}

// TestCachedEqualsWhole: however a text is cut into pieces, and with a rolling
// cache past many windows, attention with a cache gives what attention over the
// whole text gives, and the same bytes for any number of workers.
func TestCachedEqualsWhole(t *testing.T) {
	for _, c := range cacheCases() {
		t.Run(c.name, func(t *testing.T) {
			kv := c.o.KVHeads
			if kv == 0 {
				kv = c.o.Heads
			}
			in := []graphtest.Input{
				graphtest.NormalInput(1, "q", 1, cachedTime, c.o.Heads*cachedWidth),
				graphtest.NormalInput(1, "k", 1, cachedTime, kv*cachedWidth),
				graphtest.NormalInput(1, "v", 1, cachedTime, kv*cachedWidth),
			}
			if c.buckets > 0 {
				in = append(in, graphtest.NormalInput(1, "bias", c.buckets, c.o.Heads))
			}
			e, err := graphtest.Compile[float64](one(func(n []*graph.Node) *graph.Node {
				o := c.o
				o.Causal = true
				if c.buckets > 0 {
					o.RelBias = n[3]
				}
				return ops.Attention(n[0], n[1], n[2], o)
			}), in, nil, 1)
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			out, _ := e.All()
			var bias []float64
			if c.buckets > 0 {
				bias = in[3].Data
			}
			for _, pieces := range [][]int{{1}, {61}, {4, 1, 1}, {1, 12, 3}, {40, 1, 1, 1}, {13}} {
				got := fedInPieces(t, c, in[0].Data, in[1].Data, in[2].Data, bias, pieces, 1)
				near(t, fmt.Sprint("pieces ", pieces), got, out[0], 0, 1e-12)
				if again := fedInPieces(t, c, in[0].Data, in[1].Data, in[2].Data, bias, pieces, 3); !slices.Equal(got, again) {
					t.Errorf("pieces %v: other bytes with other workers", pieces)
				}
				short := fedInPieces(t, c, narrow(in[0].Data), narrow(in[1].Data), narrow(in[2].Data), narrow(bias), pieces, 2)
				near(t, fmt.Sprint("float32, pieces ", pieces), short, out[0], 1e-5, 1e-5)
			}
		})
	}
}

func narrow(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}
