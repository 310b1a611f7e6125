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

// cacheMisfits are operands that attention with a cache does not take, and what it
// lacks.
func cacheMisfits() []misfit {
	q, kv := normal("q", []int{1, 3}, 12), normal("k", []int{1, 3}, 6)
	cache, at, bias := normal("cache", nil, 9, 6), ints([]int32{0}, 1), normal("bias", nil, 8, 5)
	call := func(step int, o ops.AttentionOptions) func(in []*graph.Node) *graph.Node {
		o.Heads, o.KVHeads = 4, 2
		return func(in []*graph.Node) *graph.Node {
			if len(in) > 5 {
				o.RelBias, o.MaxDistance = in[5], 16
			}
			return ops.CachedAttention(in[0], in[1], in[1], ops.Cache{Keys: in[2], Values: in[3], Position: in[4], Step: step}, o)
		}
	}
	causal := ops.AttentionOptions{Causal: true}
	all := []graphtest.Input{q, kv, cache, cache, at}
	with := func(i int, in graphtest.Input) []graphtest.Input {
		c := slices.Clone(all)
		c[i] = in
		return c
	}
	return []misfit{
		{"attention with a cache is causal", all, call(0, ops.AttentionOptions{})},
		{"has neither dropout", all, call(0, ops.AttentionOptions{Causal: true, Dropout: 0.1})},
		{"caches have shapes (2, 6) and (9, 6), at least 3 rows of 6 are wanted", with(2, normal("cache", nil, 2, 6)), call(0, causal)},
		{"caches have shapes (9, 6) and (9, 4)", with(3, normal("cache", nil, 9, 4)), call(0, causal)},
		{"the position has shape (2), (1) is wanted", with(4, ints([]int32{0, 1}, 2)), call(0, causal)},
		{"k and v have shapes (1, 3, 12)", with(1, q), call(0, causal)},
		{"a cache of 9 rows moves by 3; that needs a window, here 0", all, call(3, causal)},
		{"a cache of 9 rows moves by 3; that needs a window, here 6, and 10 rows", all, call(3, ops.AttentionOptions{Causal: true, Window: 6})},
		{"the relative bias has shape (8, 5), (buckets, 4) is wanted", append(slices.Clone(all), bias), call(0, causal)},
		{"2 sequences, one is wanted", []graphtest.Input{normal("q", []int{2, 3}, 12), normal("k", []int{2, 3}, 6), cache, cache, at}, call(0, causal)},
		{"the table has shape (9, 6), at least 10 rows are wanted", []graphtest.Input{cache, at},
			func(in []*graph.Node) *graph.Node { return ops.RowsAt(in[0], in[1], 10) }},
		{"the place has shape (2), (1) is wanted", []graphtest.Input{cache, ints([]int32{0, 1}, 2)},
			func(in []*graph.Node) *graph.Node { return ops.RowsAt(in[0], in[1], 3) }},
		{"x has shape (9, 6), (B, T, D) is wanted", []graphtest.Input{cache},
			func(in []*graph.Node) *graph.Node { return ops.Last(in[0]) }},
	}
}

// TestRowsAtAndLast: what generation picks out of tables and chunks.
func TestRowsAtAndLast(t *testing.T) {
	table, x := graphtest.NormalInput(1, "table", 7, 3), graphtest.NormalInput(1, "x", 2, 4, 3)
	for at := range 5 {
		e, err := graphtest.Compile[float64](func(in []*graph.Node) []*graph.Node {
			return []*graph.Node{ops.RowsAt(in[0], in[1], 3), ops.Last(in[2])}
		}, []graphtest.Input{table, ints([]int32{int32(at)}, 1), x}, nil, 2)
		if err != nil {
			t.Fatal(err)
		}
		out, _ := e.All()
		e.Close()
		if !slices.Equal(out[0], table.Data[3*at:3*at+9]) {
			t.Errorf("rows from %d: %v", at, out[0])
		}
		if want := append(slices.Clone(x.Data[9:12]), x.Data[21:24]...); !slices.Equal(out[1], want) {
			t.Errorf("last tokens %v, want %v", out[1], want)
		}
	}
}
