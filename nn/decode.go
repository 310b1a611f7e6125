package nn

import (
	"errors"
	"fmt"

	"ablate/graph"
	"ablate/ops"
)

// decoding is what a graph that continues a text adds to a net.
type decoding struct {
	position *graph.Node // int32 (1): of the first token of the chunk
	capacity int         // positions that the text may have
	longest  int         // chunk that shares the caches
	every    bool        // logits of every token, not only of the last
	placed   bool        // the hook under way asked where its tokens stand
}

// SharedWith makes the caches of a decoding graph fit those of graphs with
// chunks of up to longest tokens, so that programs can share them
// (graph.WithInputsOf): one that reads a prompt in large chunks, and one that
// takes single tokens.
func SharedWith(longest int) Option { return func(o *options) { o.longest = longest } }

// Decode is the graph that continues one text by chunk tokens; all that came
// before them it finds in its caches. The text has at most capacity tokens.
//
//	inputs   tokens (1,c) int32
//	         position (1) int32: number of tokens before the chunk; 0 begins a text
//	         block.l.attn.cache_k, .cache_v [rows, G·K]: kept from run to run, and
//	         written by them
//	outputs  logits (1,1,V) of what follows the last token or, with WithLogits,
//	         (1,c,V) of what follows each
//
// Runs follow each other without gaps. A layer with a window keeps only the rows
// that a window reaches and two chunks more. A bidirectional model cannot continue
// a text: every token would change what was computed before it.
func (m *Model) Decode(dt graph.Dtype, chunk, capacity int, opts ...Option) (*graph.Graph, error) {
	o := options{longest: chunk}
	for _, opt := range opts {
		opt(&o)
	}
	switch {
	case !m.cfg.Attention.Causal:
		return nil, errBidirectional
	case capacity < 1 || capacity > maxSize || chunk < 1 || chunk > o.longest || o.longest > capacity:
		return nil, fmt.Errorf("nn: chunks of %d tokens, beside chunks of %d, of a text of %d", chunk, o.longest, capacity)
	}
	return graph.Build(dt, func(s *graph.Scope) {
		d := &decoding{position: s.Ints("position", 1), capacity: capacity, longest: o.longest, every: o.logits}
		n := &net{cfg: &m.cfg, root: s, shared: map[string]*graph.Node{}, decode: d}
		logits, _ := m.forward(n, s.Ints("tokens", 1, chunk))
		s.Output("logits", logits)
	})
}

// errBidirectional is why a model cannot generate.
var errBidirectional = errors.New("attention.causal: false: a bidirectional model reads a whole text and cannot continue one")

// Span is the number of positions that the tokens of x (B,T,D) may have: T, or
// the most tokens of a text where a graph continues one. Tables of positions
// have so many rows.
func (s Site) Span(x *graph.Node) int {
	if d := s.net.decode; d != nil {
		d.placed = true
		return d.capacity
	}
	return x.Shape()[1]
}

// Rows gives the rows of a table of positions, [≥ Span(x), ·], that belong to the
// tokens of x (B,T,D): the first T, or those from where the text has come to.
func (s Site) Rows(table, x *graph.Node) *graph.Node {
	d := s.net.decode
	if d == nil {
		return table
	}
	d.placed = true
	return ops.RowsAt(table, d.position, x.Shape()[1])
}

// place runs the hook of a position encoding. In a graph that continues a text,
// one that never asks where the text has come to would take every chunk for its
// beginning, and is refused.
func (n *net) place(kind string, hook func()) {
	if n.decode == nil {
		hook()
		return
	}
	n.decode.placed = false
	hook()
	if !n.decode.placed {
		panic(&graph.Error{Name: "position." + kind, Err: errors.New("it does not read Site.Span and Site.Rows, so that it cannot continue a text")})
	}
}

// attend is attention among the tokens at hand, or with all before them.
func (s Site) attend(q, k, v *graph.Node, o ops.AttentionOptions) *graph.Node {
	d := s.net.decode
	if d == nil {
		return ops.Attention(q, k, v, o)
	}
	rows, step := d.capacity, 0
	if n := ops.CacheRows(o.Window, d.longest); o.Window > 0 && n < rows {
		rows, step = n, d.longest
	}
	return ops.CachedAttention(q, k, v, ops.Cache{
		Keys: s.scope.Floats("cache_k", rows, width(k)), Values: s.scope.Floats("cache_v", rows, width(v)),
		Position: d.position, Step: step,
	}, o)
}

// scored is the tokens whose logits are asked for.
func (n *net) scored(x *graph.Node) *graph.Node {
	if n.decode == nil || n.decode.every || x.Shape()[1] == 1 {
		return x
	}
	return ops.Last(x) // (1,1,D)
}

// KVCacheBytes is the size of the cache of a text of so many tokens, in elements
// of so many bytes, if the model had kvHeads key/value heads:
//
//	2·kvHeads·K·bytes·Σ_l min(tokens, window of layer l)
//
// kvHeads is the number of query heads in multi-head attention, a divisor of it
// where heads are grouped (Ainslie et al. 2023, arXiv:2305.13245), and 1 in
// multi-query attention (Shazeer 2019, arXiv:1911.02150). The configuration must
// be resolved.
func (c *Config) KVCacheBytes(kvHeads, tokens, bytes int) int64 {
	rows := int64(0)
	for l := range c.Layers {
		n := tokens
		if w := perLayer(c.Attention.Window, l); w > 0 {
			n = min(n, w)
		}
		rows += int64(n)
	}
	return 2 * int64(kvHeads) * int64(c.HeadDim) * int64(bytes) * rows
}
