package graph

import (
	"errors"
	"fmt"
	"strings"

	"gorgonia.org/gorgonia"
)

// Node is a symbolic value.
type Node = gorgonia.Node

// Scope gives names: a parameter called "wq" in the scope "block.3.attn" is
// "block.3.attn.wq". Gorgonia merges inputs of one name in silence, so a name
// that is taken is an error here.
type Scope struct {
	g    *Graph
	path string
}

// Sub is the scope below s whose name is the parts joined by dots, as in
// s.Sub("block", 3).
func (s *Scope) Sub(parts ...any) *Scope {
	words := make([]string, len(parts))
	for i, p := range parts {
		words[i] = fmt.Sprint(p)
	}
	return &Scope{s.g, s.join(strings.Join(words, "."))}
}

// Path is the scope's full name.
func (s *Scope) Path() string { return s.path }

func (s *Scope) join(name string) string {
	if s.path == "" {
		return name
	}
	return s.path + "." + name
}

// Param declares a parameter. Its name is completed by the scope's; its
// values live in a Params.
func (s *Scope) Param(p ParamSpec) *Node {
	p.Name = s.join(p.Name)
	if p.Init == nil {
		panic(&Error{Name: p.Name, Err: errors.New("a parameter needs an initial distribution")})
	}
	if s.g.seed != nil {
		panic(&Error{Name: p.Name, Err: errors.New("a parameter comes too late: the gradients have been asked for")})
	}
	n := s.g.leaf(p.Name, s.g.dtype, p.Shape)
	s.g.params = append(s.g.params, &p)
	s.g.paramOf[n] = &p
	return n
}

// Floats declares an input of floating-point numbers, set before each run.
func (s *Scope) Floats(name string, shape ...int) *Node {
	name = s.join(name)
	n := s.g.leaf(name, s.g.dtype, shape)
	s.g.inputs[name] = n
	return n
}

// Ints declares an input of int32 indices, set before each run.
func (s *Scope) Ints(name string, shape ...int) *Node {
	name = s.join(name)
	n := s.g.leaf(name, Int32, shape)
	s.g.inputs[name] = n
	return n
}

// Table declares an input that never changes, such as the angles of a
// position encoding. It is no Gorgonia constant, because Gorgonia tells those
// apart by their printed, elided form.
func (s *Scope) Table(name string, data []float64, shape ...int) *Node {
	name = s.join(name)
	if elements(shape) != len(data) {
		panic(&Error{Name: name, Shapes: []Shape{shape}, Err: fmt.Errorf("%d numbers do not fit", len(data))})
	}
	n := s.g.leaf(name, s.g.dtype, shape)
	s.g.tables[n] = data
	return n
}

// IntTable is Table for indices.
func (s *Scope) IntTable(name string, data []int32, shape ...int) *Node {
	name = s.join(name)
	if elements(shape) != len(data) {
		panic(&Error{Name: name, Shapes: []Shape{shape}, Err: fmt.Errorf("%d numbers do not fit", len(data))})
	}
	n := s.g.leaf(name, Int32, shape)
	s.g.intTables[n] = data
	return n
}

// Output names a node whose value can be read after a run.
func (s *Scope) Output(name string, n *Node) {
	name = s.join(name)
	if n == nil {
		panic(&Error{Name: name, Err: errors.New("an output needs a node")})
	}
	if _, ok := s.g.outputs[name]; ok {
		panic(&Error{Name: name, Err: errors.New("an output of this name exists")})
	}
	s.g.outputs[name] = n
	s.g.outputOrder = append(s.g.outputOrder, name)
}
