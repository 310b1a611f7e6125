package graph

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"unsafe"
)

// ParamSpec declares a parameter.
type ParamSpec struct {
	Name  string // full path, such as block.3.attn.wq
	Shape Shape
	Role  string // what the parameter is for, one of Roles
	Layer int    // 0-based block, -1 outside of blocks
	// Module is the part of the block, for gradient norms: attn.q, ffn.up, norm, embedding, head, …
	Module string
	// Decay says whether weight decay applies.
	Decay bool
	// LR multiplies the learning rate, where the model's parametrization wants
	// another for this parameter; 0 stands for 1.
	LR float64
	// Init draws the initial values.
	Init Init
}

// Size is the number of elements.
func (p *ParamSpec) Size() int { return elements(p.Shape) }

// LRFactor is LR with its zero value read.
func (p *ParamSpec) LRFactor() float64 {
	if p.LR == 0 {
		return 1
	}
	return p.LR
}

// Init fills x with initial values drawn from r.
type Init func(r *rand.Rand, x []float64)

// Stream is the source of all randomness that belongs to name: a ChaCha8
// generator keyed by SHA-256 over seed, salt and name. Adding, removing or
// reordering other names does not change it.
func Stream(seed uint64, salt, name string) *rand.Rand {
	b := binary.LittleEndian.AppendUint64(nil, seed)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(salt)))
	b = append(append(b, salt...), name...)
	return rand.New(rand.NewChaCha8(sha256.Sum256(b)))
}

// Params holds the values of a model's parameters, and their gradients, in
// one flat vector each. It lives outside of any graph: a training program, an
// evaluation program and a checkpoint share it. Every parameter starts on a
// cache line; the gaps between them are zero and stay so.
type Params[T Float] struct {
	specs  []*ParamSpec
	spans  map[string]span
	values []T
	grads  []T
}

// span is a run of elements of a flat vector.
type span struct{ from, to int }

// NewParams lays out and allocates the parameters of g, all zero.
func NewParams[T Float](g *Graph) *Params[T] {
	if g.dtype != DtypeOf[T]() {
		panic("graph: parameters of another type than the graph's")
	}
	p := &Params[T]{specs: g.params, spans: map[string]span{}}
	size := 0
	for _, s := range g.params {
		p.spans[s.Name] = span{size, size + s.Size()}
		size += paddedLen(s, g.dtype)
	}
	p.values = aligned[T](size)
	return p
}

// paddedLen is the size of a parameter up to the next cache line.
func paddedLen(s *ParamSpec, dt Dtype) int {
	line := cacheLine / int(dt.Size())
	return (s.Size() + line - 1) / line * line
}

// Init draws every parameter's initial values from its own stream.
func (p *Params[T]) Init(seed uint64, salt string) {
	var buf []float64
	for _, s := range p.specs {
		if n := s.Size(); n > len(buf) {
			buf = make([]float64, n)
		}
		x := buf[:s.Size()]
		clear(x)
		s.Init(Stream(seed, salt, s.Name), x)
		dst := p.Value(s.Name)
		for i, v := range x {
			dst[i] = T(v)
		}
	}
}

// Specs lists the parameters in order.
func (p *Params[T]) Specs() []*ParamSpec { return p.specs }

// Values is the flat vector of all values.
func (p *Params[T]) Values() []T { return p.values }

// Grads is the flat vector of all gradients, with the same layout. A program
// that computes gradients puts other things there while it runs.
func (p *Params[T]) Grads() []T {
	if p.grads == nil {
		p.grads = p.Vector()
	}
	return p.grads
}

// Vector allocates one more flat vector of the same layout, all zero: for an
// optimizer's state.
func (p *Params[T]) Vector() []T { return aligned[T](len(p.values)) }

// Span is where a parameter stands in the flat vectors.
func (p *Params[T]) Span(name string) (from, to int) {
	s, ok := p.spans[name]
	if !ok {
		panic("graph: no parameter " + name)
	}
	return s.from, s.to
}

// Value is the values of one parameter.
func (p *Params[T]) Value(name string) []T {
	a, b := p.Span(name)
	return p.values[a:b:b]
}

// Grad is the gradient of one parameter.
func (p *Params[T]) Grad(name string) []T {
	a, b := p.Span(name)
	return p.Grads()[a:b:b]
}

// fits says whether every parameter of g is here, with the same shape; if g has gradients, in the same places
// too, since what lends their memory knows them from the graph.
func (p *Params[T]) fits(g *Graph) error {
	if g.dtype != DtypeOf[T]() {
		return fmt.Errorf("graph: a graph of %v with parameters of %v", g.dtype, DtypeOf[T]())
	}
	if same := func(a, b *ParamSpec) bool { return a.Name == b.Name }; g.seed != nil && !slices.EqualFunc(p.specs, g.params, same) {
		return fmt.Errorf("graph: gradients of %d parameters are to land among those of %d others, or in another order", len(g.params), len(p.specs))
	}
	have := make(map[string]Shape, len(p.specs))
	for _, s := range p.specs {
		have[s.Name] = s.Shape
	}
	for _, s := range g.params {
		shape, ok := have[s.Name]
		if !ok {
			return fmt.Errorf("graph: parameter %s has no values", s.Name)
		}
		if !shape.Eq(s.Shape) {
			return fmt.Errorf("graph: parameter %s has values of shape %v, the graph wants %v", s.Name, shape, s.Shape)
		}
	}
	return nil
}

func (p *Params[T]) pointer(name string, grad bool) unsafe.Pointer {
	v := p.values
	if grad {
		v = p.Grads()
	}
	return unsafe.Pointer(unsafe.SliceData(v[p.spans[name].from:]))
}

// gaps lists what stands between gradients within the first n bytes of their
// vector.
func (p *Params[T]) gaps(n int) (out [][]byte) {
	var x T
	size := int(unsafe.Sizeof(x))
	for _, s := range p.specs {
		from := p.spans[s.Name].to
		to := p.spans[s.Name].from + paddedLen(s, DtypeOf[T]())
		if from < to && from*size < n {
			out = append(out, unsafe.Slice((*byte)(unsafe.Pointer(&p.Grads()[from])), (to-from)*size))
		}
	}
	return out
}

// Constant is the distribution that is always c: gains start at 1, biases at 0.
func Constant(c float64) Init {
	return func(_ *rand.Rand, x []float64) {
		for i := range x {
			x[i] = c
		}
	}
}
