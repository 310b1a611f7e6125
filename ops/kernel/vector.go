package kernel

// Element-wise functions. All slices of one call have the length of dst, or are longer; dst may be
// any of the inputs, but must not overlap one partly.

// Add computes dst = a + b.
func Add[T Float](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	if mapped(mapAdd, dst, a, b, 0) {
		return
	}
	for i := range dst {
		dst[i] = a[i] + b[i]
	}
}

// Sub computes dst = a - b.
func Sub[T Float](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	if mapped(mapSub, dst, a, b, 0) {
		return
	}
	for i := range dst {
		dst[i] = a[i] - b[i]
	}
}

// Mul computes dst = a ⊙ b.
func Mul[T Float](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	if mapped(mapMul, dst, a, b, 0) {
		return
	}
	for i := range dst {
		dst[i] = a[i] * b[i]
	}
}

// MulAdd computes dst += a ⊙ b.
func MulAdd[T Float](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	if mapped(mapMulAdd, dst, a, b, 0) {
		return
	}
	for i := range dst {
		dst[i] += a[i] * b[i]
	}
}

// Scale computes dst = c·a.
func Scale[T Float](dst, a []T, c float64) {
	a = a[:len(dst)]
	if mapped(mapScale, dst, a, nil, c) {
		return
	}
	f := T(c)
	for i := range dst {
		dst[i] = f * a[i]
	}
}

// AXPY computes dst += c·a.
func AXPY[T Float](dst []T, c float64, a []T) {
	a = a[:len(dst)]
	if mapped(mapAXPY, dst, a, nil, c) {
		return
	}
	f := T(c)
	for i := range dst {
		dst[i] += f * a[i]
	}
}

// Fill sets every element to c.
func Fill[T Float](dst []T, c float64) {
	f := T(c)
	for i := range dst {
		dst[i] = f
	}
}
