package graph

import (
	"fmt"
	"unsafe"

	"gorgonia.org/tensor"
)

// Shape is the size of every axis, outermost first; values are row-major.
type Shape = tensor.Shape

// Dtype is the type of a value's elements.
type Dtype = tensor.Dtype

// The element types of a graph: floating-point values are all of one of the
// first two, indices are Int32.
var (
	Float32 = tensor.Float32
	Float64 = tensor.Float64
	Int32   = tensor.Int32
)

// Float is the element type of a graph's floating-point values.
type Float interface{ float32 | float64 }

// Elem is the element type of any value.
type Elem interface{ float32 | float64 | int32 }

// DtypeOf gives the Dtype of T.
func DtypeOf[T Elem]() Dtype {
	var x T
	switch any(x).(type) {
	case float32:
		return Float32
	case float64:
		return Float64
	}
	return Int32
}

// Buffer is the memory of one value. It is empty until the program that it
// belongs to has been laid out.
type Buffer struct {
	ptr   unsafe.Pointer
	n     int // elements
	rows  int // along the first axis, 1 if there is none
	width int // elements of a row
	dtype Dtype
	shape Shape
	v     *value // the planner's record of this buffer
}

// Shape is the buffer's shape.
func (b *Buffer) Shape() Shape { return b.shape }

// Len is the number of elements.
func (b *Buffer) Len() int { return b.n }

// Dtype is the type of the elements.
func (b *Buffer) Dtype() Dtype { return b.dtype }

// Same says whether two buffers share their memory, as a result that was
// written over an operand does.
func (b *Buffer) Same(o *Buffer) bool { return b.ptr == o.ptr && b.ptr != nil }

// Slice views all elements of b. It panics if T is not b's element type.
func Slice[T Elem](b *Buffer) []T {
	if b.dtype != DtypeOf[T]() {
		panic("graph: buffer of " + b.dtype.String() + " read as " + DtypeOf[T]().String())
	}
	return unsafe.Slice((*T)(b.ptr), b.n)
}

// Part views part i of n along the first axis: rows [R·i/n, R·(i+1)/n) of R.
func Part[T Elem](b *Buffer, i, n int) []T {
	lo, hi := b.part(i, n)
	return Slice[T](b)[lo:hi]
}

// part gives the elements [lo, hi) of part i of n.
func (b *Buffer) part(i, n int) (lo, hi int) {
	lo, hi = i, i+1
	if n != b.rows {
		lo, hi = b.rows*i/n, b.rows*(i+1)/n
	}
	return lo * b.width, hi * b.width
}

// bufferOf wraps memory that somebody else owns.
func bufferOf[T Elem](shape Shape, x []T) *Buffer {
	b := newBuffer(shape, DtypeOf[T]())
	if len(x) != b.n {
		panic("graph: memory does not fit the shape")
	}
	b.ptr = unsafe.Pointer(unsafe.SliceData(x))
	return b
}

func newBuffer(shape Shape, dt Dtype) *Buffer {
	b := &Buffer{shape: shape, n: elements(shape), rows: 1, dtype: dt}
	if len(shape) > 0 {
		b.rows = shape[0]
	}
	b.width = b.n / max(b.rows, 1)
	return b
}

// bytes is the size of the buffer in memory.
func (b *Buffer) bytes() int { return b.n * int(b.dtype.Size()) }

func elements(s Shape) int {
	n := 1
	for _, d := range s {
		n *= d
	}
	return n
}

// cacheLine is the alignment of every value, and of every parameter in its
// flat vector: one AVX-512 register, one cache line.
const cacheLine = 64

// alignedBytes allocates n zeroed bytes that start on a cache line or, where
// they fill some, on a large page.
func alignedBytes(n int) []byte {
	align := cacheLine
	if n >= leastOnLargePages {
		align = largePage
	}
	s := make([]byte, n+align)
	o := int(-uintptr(unsafe.Pointer(unsafe.SliceData(s))) & uintptr(align-1))
	s = s[o : o+n : o+n]
	if align == largePage {
		adviseLargePages(s)
	}
	return s
}

// aligned allocates n zeroed elements that start on a cache line.
func aligned[T Elem](n int) []T {
	var x T
	b := alignedBytes(n * int(unsafe.Sizeof(x)))
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

func base(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }

func addBytes(p unsafe.Pointer, n int) unsafe.Pointer { return unsafe.Add(p, n) }

// denseBuffer views a Gorgonia value without copying it.
func denseBuffer(v interface{ Data() interface{} }, shape Shape) (*Buffer, error) {
	switch x := v.Data().(type) {
	case []float32:
		return bufferOf(shape, x), nil
	case []float64:
		return bufferOf(shape, x), nil
	case []int32:
		return bufferOf(shape, x), nil
	}
	return nil, fmt.Errorf("graph: no view of a %T", v)
}
