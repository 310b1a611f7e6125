// Package ops is the differentiable operations that models are made of. Every
// operation has a file: its formula, shapes and source, the constructor, the
// shape rule, the work, the gradient, and the rules by which it takes others
// into itself.
//
// Constructors take and return nodes of a graph under construction and panic
// with a *graph.Error, which graph.Build turns into an error. Activations are
// (B, T, D), or (N, D) where no axis of time is needed; weights are [out, in].
// Letters: B batch, T time, D model, H heads, K head width, G key/value heads,
// F ffn width, V vocabulary, N rows. dx is ∂loss/∂x.
//
// Work is split by sequences where it goes row by row, and by columns or rows
// of a weight where it sums over all of them; no sum depends on the number of
// workers.
package ops
