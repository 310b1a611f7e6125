package golden

import (
	"slices"

	"ablate/graph"
	"ablate/nn"
)

// decoding is a text that the reference continued greedily, with the logits
// after every token.
type decoding struct {
	prompt, greedy, tokens []int32
	logits                 tensor // (len(tokens), V)
}

// readDecoding reads the part of a file about a continued text; nil if it has none.
func (f *modelFile) readDecoding(o *object) *decoding {
	s := o.sub("decode")
	if s == nil {
		return nil
	}
	d := &decoding{logits: s.tensor("logits")}
	required(s, "prompt", &d.prompt)
	required(s, "greedy", &d.greedy)
	required(s, "tokens", &d.tokens)
	s.ignored("min_margin")
	s.end()
	f.cfg.boundTokens(s, float64(len(d.tokens)))
	if len(d.prompt) == 0 || !slices.Equal(d.tokens, append(slices.Clone(d.prompt), d.greedy...)) {
		s.bad("tokens: not a prompt of at least one token and what follows it")
	}
	for _, id := range d.tokens {
		if id < 0 || int(id) >= f.cfg.vocab {
			s.bad("tokens: %d is not in a vocabulary of %d", id, f.cfg.vocab)
		}
	}
	if want := []int{len(d.tokens), f.cfg.vocab}; !slices.Equal(d.logits.shape, want) {
		s.bad("logits: shape %v; %v is wanted", d.logits.shape, want)
	}
	return d
}

// compareDecoding continues the prompt in three ways: token by token, with the
// prompt read at once, and without a cache.
func (x *modelRun[T]) compareDecoding(m *nn.Model, team *graph.Team) {
	d := x.f.decode
	if d == nil {
		return
	}
	for _, way := range []struct {
		what    string
		options nn.GeneratorOptions
	}{
		{"decode token by token", nn.GeneratorOptions{Chunk: 1}},
		{"decode with the prompt at once", nn.GeneratorOptions{Chunk: len(d.prompt)}},
		{"decode without a cache", nn.GeneratorOptions{Chunk: 1, NoCache: true}},
	} {
		way.options.Capacity = len(d.tokens)
		g, err := nn.NewGenerator(m, x.params, team, way.options)
		if err == nil {
			err = x.decode(way.what, g, way.options.Chunk)
		}
		if err != nil {
			x.r.problem("%s: %v", way.what, err)
		}
	}
}

// decode feeds the prompt, in pieces of so many tokens, and then what is most
// probable.
func (x *modelRun[T]) decode(what string, g *nn.Generator[T], piece int) error {
	d, r := x.f.decode, x.r
	greedy, err := nn.NewSampler(nn.Sampling{}, 0)
	if err != nil {
		return err
	}
	for rest := range slices.Chunk(d.prompt, piece) {
		if err := g.Feed(rest...); err != nil {
			return err
		}
		x.compareRow(what, g)
	}
	for i, want := range d.greedy {
		token, err := greedy.Next(g.Logits())
		if err != nil {
			return err
		}
		if token != want {
			r.problem("%s: token %d after the prompt is %d, the reference has %d", what, i, token, want)
			return nil
		}
		if err := g.Feed(token); err != nil {
			return err
		}
		x.compareRow(what, g)
	}
	return nil
}

// compareRow compares the logits after the last token.
func (x *modelRun[T]) compareRow(what string, g *nn.Generator[T]) {
	v := x.f.cfg.vocab
	at := len(g.Text()) - 1
	worsen(&x.r.DecodeErr, x.r.compare(what, g.Logits(), x.f.decode.logits.data[at*v:(at+1)*v], x.lim.logits))
}
