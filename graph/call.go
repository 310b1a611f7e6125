package graph

import "unsafe"

// Call is one application of an Op in a program: its operands, its results
// and the memory it needs besides.
type Call struct {
	op    Op
	in    []*Buffer
	out   []*Buffer
	aux   []*Buffer
	dtype Dtype
	task  []Task
	local int // bytes of worker memory
}

// In is operand i.
func (c *Call) In(i int) *Buffer { return c.in[i] }

// Out is result i.
func (c *Call) Out(i int) *Buffer { return c.out[i] }

// Operands is the number of operands.
func (c *Call) Operands() int { return len(c.in) }

// Dtype is the floating-point type of the graph.
func (c *Call) Dtype() Dtype { return c.dtype }

// Scratch asks for memory that lives as long as the tasks that list it in Reads
// or Writes; one of them must write it.
func (c *Call) Scratch(shape ...int) *Buffer {
	b := newBuffer(Shape(shape), c.dtype)
	c.aux = append(c.aux, b)
	return b
}

// Local asks for n floating-point elements of memory that belongs to one
// worker while it runs one part; tasks take it with Local.
func (c *Call) Local(n int) {
	c.local = max(c.local, n*int(c.dtype.Size()))
}

// Worker is who runs a part of a task. It knows what its chain will touch; see
// kernel.Upcoming.
type Worker struct {
	team  *Team
	local []byte
	lookout
}

// Local gives the first n elements of the worker's own memory. What it holds
// is undefined.
func Local[T Float](w *Worker, n int) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(w.local))), n)
}

// Task is a piece of a call's work that is split in parts.
type Task struct {
	// Parts is the number of parts; they may run in any order, at once.
	Parts int
	// Group is how many consecutive parts gain from being run by one worker, one
	// after the other. Some of them go to others where there is nothing else
	// left to do. 0 is 1; parts of a chain have groups of their own.
	Group int
	// Rows says that part i touches only rows [R·i/Parts, R·(i+1)/Parts) along
	// the first axis of everything that the task reads or writes, except for
	// what Whole lists and for operands that no other call computes. A worker
	// then carries its rows through a chain of such tasks without waiting.
	Rows bool
	// Near says that a Rows task is short and reads what the task before it in its
	// chain has just written: it then runs right behind that, part by part.
	Near bool
	// Whole lists buffers that a Rows task reads beyond its own rows.
	Whole []*Buffer
	// Reads and Writes list what the task touches; nil means all operands, and
	// all results.
	Reads, Writes []*Buffer
	// Run computes one part.
	Run func(part int, w *Worker)
}

// Rows is the task that reads every operand and writes every result row by
// row along the first axis.
func (c *Call) Rows(run func(part, parts int, w *Worker)) Task {
	n := c.Parts()
	return Task{Parts: n, Rows: true, Run: func(i int, w *Worker) { run(i, n, w) }}
}

// Parts is the number of parts in which row-wise work of this call is split:
// one a sequence for values of shape (B, T, …), a few for plain matrices. It
// depends on shapes alone, so that no sum depends on the number of workers.
func (c *Call) Parts() int {
	s := c.out[0].shape
	for _, b := range c.in { // the widest view of the batch rules, e.g. (B,T) tokens
		if len(b.shape) > len(s) && b.dtype != Int32 && b.shape[0] == s[0] {
			s = b.shape
		}
	}
	switch {
	case len(s) >= 3:
		return s[0]
	case len(s) == 2:
		return min(s[0], 4)
	}
	return 1
}

// Squares is where a call may leave Σ x² of its result i, a sum for each of so many parts of it, while it has them in
// hand, if that is the gradient of a parameter. Otherwise it is nil, and nobody asks.
func (c *Call) Squares(i, parts int) []float64 {
	v := c.out[i].v
	if v == nil || !v.home { // v is nil where gorgonia runs the call by itself
		return nil
	}
	v.squares = make([]float64, parts)
	return v.squares
}

// Typed picks the instance of a generic function for the type of the graph.
func Typed[R any](c *Call, f32, f64 R) R {
	if c.dtype == Float64 {
		return f64
	}
	return f32
}
