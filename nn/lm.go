package nn

import (
	"fmt"
	"slices"
	"sync"

	"ablate/graph"
	"ablate/ops"
)

// Model is a language model: the plan of its graphs. Weights live elsewhere, in
// a graph.Params.
type Model struct {
	cfg    Config
	blocks []blockPlan

	mu      sync.Mutex
	streams map[*graph.Graph][]*graph.Node // where each graph's blocks begin and end
}

// New makes the plan of a resolved configuration.
func New(cfg Config) (*Model, error) {
	if err := cfg.resolved(); err != nil {
		return nil, err
	}
	m := &Model{cfg: cfg, streams: map[*graph.Graph][]*graph.Node{}}
	return m, m.plan()
}

// Config is the model's configuration.
func (m *Model) Config() Config { return m.cfg }

// forward is the model on a page. It gives the logits, and the residual stream
// before every block and after the last.
//
//	tokens (B,T) int32 → logits (B,T,V), stream L+1 times (B,T,D)
func (m *Model) forward(n *net, tokens *graph.Node) (logits *graph.Node, stream []*graph.Node) {
	c := n.cfg
	embed := Site{net: n, scope: n.root.Sub("embed"), layer: -1, role: "embedding", module: "embedding", gain: 1}
	wte := embed.matrix("wte", Weight{"embedding", -1, int(c.Vocab), c.DModel}, int(c.Vocab), c.DModel)

	x := embed.scale(ops.Embedding(wte, tokens)) // (B,T,D)
	if p := Positions[c.Position[0].Kind]; p.Embed != nil {
		at := Site{net: n, scope: embed.scope, layer: -1, role: "embedding", module: "position", gain: 1}
		n.place(p.Name, func() { x = p.Embed(at, x, c.Position[0]) })
	}
	if c.Embedding.Norm == Yes {
		x = embed.Norm("norm", x)
	}
	x = n.dropout(x, "embed.dropout")

	for l := range m.blocks {
		stream = append(stream, x)
		x = m.block(n, l, x) // (B,T,D)
	}
	stream = append(stream, x)
	x = n.scored(x)

	top := Site{net: n, scope: n.root, layer: -1, role: "head", module: "head", gain: 1}
	if c.FinalNorm == Yes {
		x = top.Norm("norm", x)
	}
	head := wte
	if !c.Embedding.Tied {
		head = top.sub("head", "head", "head").matrix("w", Weight{"head", -1, c.DModel, int(c.Vocab)}, int(c.Vocab), c.DModel)
	}
	z := ops.Scale(ops.Linear(x, head, nil), float64(c.Logits.Scale)/c.width()) // (B,T,V)
	if c.Logits.Softcap > 0 {
		z = ops.Softcap(z, c.Logits.Softcap)
	}
	return z, stream
}

// scale multiplies the embedding by its factor: a constant, or a learned number, as
// DyT's language models need one (Zhu et al. 2025, arXiv:2503.10622, appendix A).
func (s Site) scale(x *graph.Node) *graph.Node {
	c := s.net.cfg.Embedding
	if !c.LearnScale {
		return ops.Scale(x, float64(c.Scale))
	}
	s.role, s.module = "residual_scale", "embedding_scale"
	return ops.MulScalar(x, s.Param("scale", Constant(float64(c.Scale)), 1))
}

// dropout drops a share of x while training.
func (n *net) dropout(x *graph.Node, name string) *graph.Node {
	if n.rng == nil {
		return x
	}
	return ops.Dropout(x, n.rng, n.cfg.Dropout, name)
}

// Option changes what a graph computes besides the loss.
type Option func(*options)

type options struct {
	logits  bool
	longest int
}

// WithLogits adds the output logits (B,T,V).
func WithLogits() Option { return func(o *options) { o.logits = true } }

// Train is the graph of a training step on batch sequences of time tokens.
//
//	inputs   tokens (B,T) int32
//	         targets (B,T) int32; -100 is not counted
//	         seed (1): 1 over the number of targets of the whole step
//	         rng (2) int32: key of the step's dropout; only with dropout
//	         skip_norms (1) int32: not 0 where nobody wants the norms of this run
//	outputs  loss (1): Σ nll of this batch
//	         nll (B,T): -log p(target), 0 where not counted
//	         stream_norm.l (B), l = 0 … L: ‖x_l‖ of every sequence; x_l enters block l, x_L leaves the last
//	         stream_grad_norm.l (B): ‖∂(seed·loss)/∂x_l‖ of every sequence
//	         logits (B,T,V), if asked for
//
// The gradients of seed·loss land in the parameters' store.
func (m *Model) Train(dt graph.Dtype, batch, time int, opts ...Option) (*graph.Graph, error) {
	return m.build(dt, batch, time, true, opts)
}

// Eval is the graph of an evaluation: inputs tokens and targets, outputs loss,
// nll and, if asked for, logits, as in Train. Nothing is dropped.
func (m *Model) Eval(dt graph.Dtype, batch, time int, opts ...Option) (*graph.Graph, error) {
	return m.build(dt, batch, time, false, opts)
}

func (m *Model) build(dt graph.Dtype, batch, time int, train bool, opts []Option) (*graph.Graph, error) {
	if batch < 1 || time < 1 || batch > maxSize || time > maxSize {
		return nil, fmt.Errorf("nn: a batch of %d sequences of %d tokens", batch, time)
	}
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	var stream []*graph.Node
	g, err := graph.Build(dt, func(s *graph.Scope) {
		n := &net{cfg: &m.cfg, root: s, shared: map[string]*graph.Node{}}
		tokens, targets := s.Ints("tokens", batch, time), s.Ints("targets", batch, time)
		if train && m.cfg.Dropout > 0 {
			n.rng = s.Ints("rng", 2)
		}
		logits, x := m.forward(n, tokens)
		loss, nll := ops.CrossEntropy(logits, targets)
		s.Output("loss", loss)
		s.Output("nll", nll)
		if o.logits {
			s.Output("logits", logits)
		}
		if train {
			n.differentiate(loss, x)
		}
		stream = slices.Clone(x)
	})
	if err != nil {
		return nil, err
	}
	if err := m.cfg.initActs(g.Params()); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.streams[g] = stream
	return g, nil
}

// differentiate asks for all gradients in one call, and for the norms of the
// residual stream and of its gradient, sequence by sequence.
func (n *net) differentiate(loss *graph.Node, stream []*graph.Node) {
	for _, x := range stream {
		n.root.Boundary(x)
	}
	seed := n.root.Floats("seed", 1)
	skip := n.root.Ints("skip_norms", 1)
	for l, dx := range n.root.Gradients(loss, seed, stream...) {
		n.root.Sub("stream_norm").Output(fmt.Sprint(l), ops.L2Norm(stream[l], skip))
		n.root.Sub("stream_grad_norm").Output(fmt.Sprint(l), ops.L2Norm(dx, skip))
	}
}
