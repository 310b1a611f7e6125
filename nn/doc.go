// Package nn turns a configuration into a language model: a symbolic graph over
// package ops.
//
//	Config ─ Resolve → Config without autos ─ New → Model ─ Train, Eval → graph.Graph ─ Attest → what was built
//
// A variant is a value in a table: Norms, Activations, Positions, Inits and
// Placements. Register functions add to the tables, so that a program around
// this one brings variants of its own. Names are looked up in one place, where
// a configuration becomes a Model.
//
// A placement, the way of norms and sub-layers around the residual stream, is a
// formula such as x + F(N1(x)); see Formula.
//
// Shapes: B batch, T time, D model, H heads, G key/value heads, K head width,
// F ffn width, V vocabulary, L layers. Activations are (B,T,D); weights are
// [out,in].
package nn
