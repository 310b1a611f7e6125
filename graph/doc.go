// Package graph turns a symbolic expression over Gorgonia's ExprGraph into a
// program that runs it.
//
// The way through the package is the way of the data:
//
//	Build      names inputs and parameters (Scope) and applies operations (Apply)
//	Gradients  asks Gorgonia's symbolic differentiation for every derivative in one call
//	Compile    lowers nodes to calls, fuses them, schedules them in phases,
//	           lays their results out in one arena and binds them to workers
//	Program    runs the result, allocating nothing, with the same bytes for any number of workers
//
// The graph knows no operation by name: an Op brings its shape rule, its
// gradient, its work and its fusion rules as values.
package graph
