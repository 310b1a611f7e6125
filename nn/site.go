package nn

import (
	"strings"

	"ablate/graph"
)

// net is a model under construction in one graph.
type net struct {
	cfg    *Config
	root   *graph.Scope
	rng    *graph.Node            // key of the step's dropout; nil if nothing is dropped
	shared map[string]*graph.Node // nodes that several places use, by name
	decode *decoding              // nil unless the graph continues a text
}

// Site is a place in a model under construction, where a variant declares its
// parameters.
type Site struct {
	net    *net
	scope  *graph.Scope
	layer  int // 0-based block, -1 outside of blocks
	role   string
	module string
	gain   float64 // multiplies the initial values of its matrices
}

// sub is the site of a part of s.
func (s Site) sub(name, role, module string) Site {
	s.scope, s.role, s.module = s.scope.Sub(name), role, module
	return s
}

// Config is the resolved configuration of the model.
func (s Site) Config() Config { return *s.net.cfg }

// Layer is the 0-based block, -1 outside of blocks.
func (s Site) Layer() int { return s.layer }

// Param declares a parameter of the site. Weight decay applies to matrices, not
// to gains, biases and scalars.
func (s Site) Param(name string, init graph.Init, shape ...int) *graph.Node {
	return s.param(name, init, 1, shape)
}

// param declares a parameter whose learning rate has a factor; the configuration's
// multiplier for the role scales what init draws.
func (s Site) param(name string, init graph.Init, lr float64, shape graph.Shape) *graph.Node {
	return s.scope.Param(graph.ParamSpec{
		Name: name, Shape: shape, Role: s.role, Layer: s.layer, Module: s.module, Decay: len(shape) >= 2, LR: lr,
		Init: scaled(init, s.net.cfg.Init.Multipliers.Of(s.role)),
	})
}

// matrix declares a matrix that the configuration's initialisation draws.
func (s Site) matrix(name string, w Weight, shape ...int) *graph.Node {
	c := s.net.cfg
	std, lr := 1.0, 1.0
	if w.hidden() {
		std, lr = c.Parametrization.hidden(c.DModel)
	}
	return s.param(name, scaled(scaled(c.Init.draw(c, w), s.gain), std), lr, shape)
}

// Shared gives the node of this name, which build makes when it is first asked
// for. It belongs to the model as a whole; build is given its site and the name
// to declare it under.
func (s Site) Shared(name string, build func(s Site, name string) *graph.Node) *graph.Node {
	if n, ok := s.net.shared[name]; ok {
		return n
	}
	at := Site{net: s.net, scope: s.net.root.Sub("position"), layer: -1, role: s.role, module: s.module, gain: 1}
	n := build(at, strings.ReplaceAll(name, " ", "_"))
	s.net.shared[name] = n
	return n
}

// Norm applies the configuration's norm, with parameters below the given name.
func (s Site) Norm(name string, x *graph.Node) *graph.Node {
	c := s.net.cfg.Norm
	return Norms[string(c.Kind)].Build(s.sub(name, "norm", "norm"), x, c)
}
