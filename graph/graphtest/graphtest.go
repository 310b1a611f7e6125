// Package graphtest evaluates and checks operations in tests: it runs an
// expression on given numbers in either precision, and compares its symbolic
// gradient with central differences.
package graphtest

import (
	"errors"
	"fmt"

	"ablate/graph"
)

// Input is an operand of an expression under test.
type Input struct {
	Shape graph.Shape
	Data  []float64
	Ints  []int32 // instead of Data, for an operand of indices
	Fixed bool    // a table: the expression has no gradient for it
}

// differentiable says whether a gradient is wanted for the input.
func (in *Input) differentiable() bool { return in.Ints == nil && !in.Fixed }

// Expr builds the results of an expression from its operands.
type Expr func(in []*graph.Node) []*graph.Node

// Eval is a compiled expression. Its gradients are those of Σ dy ⊙ y over all
// results y whose dy is not nil.
type Eval[T graph.Float] struct {
	in      []Input
	outputs int
	prog    *graph.Program
	team    *graph.Team
	hasGrad bool
}

// Compile builds f on the inputs' shapes, compiles it for a team of workers
// and writes the inputs' numbers. dy has an entry for every result, nil where
// the result does not enter the gradient; a nil dy asks for no gradient. Close
// ends the workers.
func Compile[T graph.Float](f Expr, in []Input, dy [][]float64, workers int, opts ...graph.Option) (*Eval[T], error) {
	e := &Eval[T]{in: in}
	g, err := graph.Build(graph.DtypeOf[T](), func(s *graph.Scope) { e.build(s, f, dy) })
	if err != nil {
		return nil, err
	}
	e.team = graph.NewTeam(workers)
	if e.prog, err = graph.Compile(g, graph.NewParams[T](g), e.team, opts...); err != nil {
		e.Close()
		return nil, err
	}
	e.fill(dy)
	return e, nil
}

// build declares the operands, the results and, if dy asks for them, the
// gradients.
func (e *Eval[T]) build(s *graph.Scope, f Expr, dy [][]float64) {
	e.hasGrad = false
	var nodes, wrt []*graph.Node
	var at []int
	for i, in := range e.in {
		n := e.operand(s, i)
		nodes = append(nodes, n)
		if in.differentiable() {
			wrt, at = append(wrt, n), append(at, i)
		}
	}
	out := f(nodes)
	e.outputs = len(out)
	for i, n := range out {
		s.Output(fmt.Sprint("out.", i), n)
	}
	if dy == nil {
		return
	}
	if len(dy) != len(out) {
		panic(&graph.Error{Op: "graphtest", Err: fmt.Errorf("%d results with %d gradients", len(out), len(dy))})
	}
	var loss *graph.Node
	for i, n := range out {
		if dy[i] == nil {
			continue
		}
		term := graph.Apply1(weigh{}, n, s.Floats(fmt.Sprint("dy.", i), n.Shape()...))
		if loss != nil {
			term = graph.Add(loss, term)
		}
		loss = term
	}
	if loss == nil {
		panic(&graph.Error{Op: "graphtest", Err: errors.New("no result enters the gradient")})
	}
	e.hasGrad = true
	for k, d := range s.Gradients(loss, s.Floats("seed", 1), wrt...) {
		s.Output(fmt.Sprint("grad.", at[k]), d)
	}
}

func (e *Eval[T]) operand(s *graph.Scope, i int) *graph.Node {
	name, in := fmt.Sprint("in.", i), e.in[i]
	if in.Ints != nil {
		return s.Ints(name, in.Shape...)
	}
	return s.Floats(name, in.Shape...)
}

// fill writes the numbers of operands and gradients.
func (e *Eval[T]) fill(dy [][]float64) {
	for i, in := range e.in {
		name := fmt.Sprint("in.", i)
		switch {
		case !e.prog.HasInput(name):
		case in.Ints != nil:
			copy(graph.Slice[int32](e.prog.Input(name)), in.Ints)
		default:
			write(graph.Slice[T](e.prog.Input(name)), in.Data)
		}
	}
	for i, d := range dy {
		if name := fmt.Sprint("dy.", i); e.prog.HasInput(name) {
			write(graph.Slice[T](e.prog.Input(name)), d)
		}
	}
	if e.prog.HasInput("seed") {
		graph.Slice[T](e.prog.Input("seed"))[0] = 1
	}
}

func write[T graph.Float](dst []T, src []float64) {
	if len(dst) != len(src) {
		panic(fmt.Sprintf("graphtest: %d numbers for %d elements", len(src), len(dst)))
	}
	for i, v := range src {
		dst[i] = T(v)
	}
}

// Run runs the expression once.
func (e *Eval[T]) Run() { e.prog.Run() }

// Outputs is the number of results.
func (e *Eval[T]) Outputs() int { return e.outputs }

// In is the memory of operand i, nil if the program does not read it.
func (e *Eval[T]) In(i int) []T {
	if name := fmt.Sprint("in.", i); e.prog.HasInput(name) {
		return graph.Slice[T](e.prog.Input(name))
	}
	return nil
}

// Out is result i.
func (e *Eval[T]) Out(i int) []T { return graph.Slice[T](e.prog.Output(fmt.Sprint("out.", i))) }

// Shape is the shape of result i.
func (e *Eval[T]) Shape(i int) graph.Shape { return e.prog.Output(fmt.Sprint("out.", i)).Shape() }

// Grad is the gradient with respect to operand i, nil if there is none.
func (e *Eval[T]) Grad(i int) []T {
	if !e.hasGrad || !e.in[i].differentiable() {
		return nil
	}
	return graph.Slice[T](e.prog.Output(fmt.Sprint("grad.", i)))
}

// Stats says what the planner did.
func (e *Eval[T]) Stats() graph.Stats { return e.prog.Stats() }

// Close ends the workers.
func (e *Eval[T]) Close() { e.team.Close() }

// All runs the expression once and returns copies of every result and, nil
// where there is none, of every operand's gradient.
func (e *Eval[T]) All() (out, grad [][]T) {
	e.Run()
	for i := range e.outputs {
		out = append(out, append([]T(nil), e.Out(i)...))
	}
	for i := range e.in {
		grad = append(grad, append([]T(nil), e.Grad(i)...))
	}
	return out, grad
}
