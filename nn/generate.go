package nn

import (
	"errors"
	"fmt"
	"slices"

	"ablate/graph"
)

// GeneratorOptions say how a Generator works; none but Capacity changes what
// it gives, up to rounding.
type GeneratorOptions struct {
	Capacity int  // most tokens of a text, its beginning included
	Chunk    int  // most tokens that are read at once; 0: defaultChunk
	NoCache  bool // compute the whole text anew for every token
}

// defaultChunk is large enough that the products of a chunk are bound by
// arithmetic, not by reading the weights.
const defaultChunk = 64

// chunkStep is the ratio between the sizes of chunks: a text is read in as many
// of the largest as fit, then in smaller ones, and at last in single tokens.
const chunkStep = 8

// Generator continues one text at a time with a model. It is not safe for
// concurrent use.
type Generator[T graph.Float] struct {
	m        *Model
	params   *graph.Params[T]
	team     *graph.Team
	capacity int

	sizes    []int // of the chunks, the largest first; the last is 1
	programs map[int]*graph.Program
	whole    *graph.Program // without a cache: of all tokens that a text can have

	text   []int32
	logits []float64
}

// NewGenerator prepares a generator for texts of up to Capacity tokens. The
// values of params are read at every token.
func NewGenerator[T graph.Float](m *Model, params *graph.Params[T], team *graph.Team, o GeneratorOptions) (*Generator[T], error) {
	if !m.cfg.Attention.Causal {
		return nil, errBidirectional
	}
	if o.Capacity < 1 || o.Chunk < 0 {
		return nil, fmt.Errorf("nn: a generator of %d tokens, read %d at once", o.Capacity, o.Chunk)
	}
	if o.Chunk == 0 {
		o.Chunk = defaultChunk
	}
	g := &Generator[T]{m: m, params: params, team: team, capacity: o.Capacity, programs: map[int]*graph.Program{}}
	if o.NoCache {
		return g, g.compileWhole()
	}
	for n := min(o.Chunk, o.Capacity); n > 1; n /= chunkStep {
		g.sizes = append(g.sizes, n)
	}
	g.sizes = append(g.sizes, 1)
	_, err := g.program(1)
	return g, err
}

func (g *Generator[T]) compileWhole() error {
	gr, err := g.m.Eval(graph.DtypeOf[T](), 1, g.capacity, WithLogits())
	if err != nil {
		return err
	}
	if g.whole, err = graph.Compile(gr, g.params, g.team); err != nil {
		return err
	}
	targets := graph.Slice[int32](g.whole.Input("targets"))
	for i := range targets {
		targets[i] = ignored
	}
	return nil
}

// ignored is the target that is not counted.
const ignored = -100

// program gives the program for a chunk of n tokens, which shares the caches
// with the others.
func (g *Generator[T]) program(n int) (*graph.Program, error) {
	if p := g.programs[n]; p != nil {
		return p, nil
	}
	gr, err := g.m.Decode(graph.DtypeOf[T](), n, g.capacity, SharedWith(g.sizes[0]))
	if err != nil {
		return nil, err
	}
	var opts []graph.Option
	if first := g.programs[1]; first != nil {
		opts = append(opts, graph.WithInputsOf(first))
	}
	p, err := graph.Compile(gr, g.params, g.team, opts...)
	if err == nil {
		g.programs[n] = p
	}
	return p, err
}

// Reset begins a new text.
func (g *Generator[T]) Reset() { g.text = g.text[:0] }

// Text is the tokens so far. It is overwritten after Reset.
func (g *Generator[T]) Text() []int32 { return g.text }

// Logits is what the model expects after the last token: one number for every
// token of the vocabulary, overwritten by Feed; nil before the first.
func (g *Generator[T]) Logits() []float64 {
	if len(g.text) == 0 {
		return nil
	}
	return g.logits
}

// Feed adds tokens to the text. Tokens that are refused change nothing.
func (g *Generator[T]) Feed(tokens ...int32) error {
	if len(g.text)+len(tokens) > g.capacity {
		return g.full(len(tokens))
	}
	for _, id := range tokens {
		if id < 0 || int(id) >= int(g.m.cfg.Vocab) {
			return fmt.Errorf("nn: token %d is not in a vocabulary of %d", id, g.m.cfg.Vocab)
		}
	}
	if len(tokens) == 0 {
		return nil
	}
	if g.whole != nil {
		g.runWhole(tokens)
		return nil
	}
	for len(tokens) > 0 {
		n := g.sizes[slices.IndexFunc(g.sizes, func(n int) bool { return n <= len(tokens) })]
		p, err := g.program(n)
		if err != nil {
			return err
		}
		graph.Slice[int32](p.Input("position"))[0] = int32(len(g.text))
		copy(graph.Slice[int32](p.Input("tokens")), tokens[:n])
		p.Run()
		g.text = append(g.text, tokens[:n]...)
		if tokens = tokens[n:]; len(tokens) == 0 {
			g.keep(graph.Slice[T](p.Output("logits")))
		}
	}
	return nil
}

// runWhole computes the logits of the whole text. What stands behind it in the
// program does not matter: no token sees a later one.
func (g *Generator[T]) runWhole(tokens []int32) {
	g.text = append(g.text, tokens...)
	copy(graph.Slice[int32](g.whole.Input("tokens")), g.text)
	g.whole.Run()
	v := int(g.m.cfg.Vocab)
	g.keep(graph.Slice[T](g.whole.Output("logits"))[(len(g.text)-1)*v:][:v])
}

func (g *Generator[T]) keep(logits []T) {
	g.logits = g.logits[:0]
	for _, z := range logits {
		g.logits = append(g.logits, float64(z))
	}
}

// Generate adds n tokens, each chosen by s from the logits, to a text that has
// been begun. emit, which may be nil, is told each before the next one is
// computed; when it returns false, the text ends there.
func (g *Generator[T]) Generate(n int, s *Sampler, emit func(token int32) bool) error {
	switch {
	case len(g.text) == 0:
		return errors.New("nn: an empty text cannot be continued; feed at least one token")
	case len(g.text)+n > g.capacity:
		return g.full(n)
	}
	for more := true; n > 0 && more; n-- {
		token, err := s.Next(g.logits)
		if err != nil {
			return fmt.Errorf("after %d tokens: %w", len(g.text), err)
		}
		if emit != nil {
			more = emit(token)
		}
		if err := g.Feed(token); err != nil {
			return err
		}
	}
	return nil
}

// full is the error of n tokens too many.
func (g *Generator[T]) full(n int) error {
	return fmt.Errorf("nn: %d tokens and %d more; this generator holds %d", len(g.text), n, g.capacity)
}
