package kernel

// mapping numbers the element-wise functions that have assembly: dst = f(a, b, c). A gradient takes
// dy as a and x as b.
type mapping int

// The order is that of the table in gen/map.go.
const (
	mapAdd mapping = iota
	mapSub
	mapMul
	mapMulAdd
	mapScale
	mapAXPY
	mapReLU
	mapReLUGrad
	mapReLU2
	mapReLU2Grad
	mapSigmoid
	mapSigmoidGrad
	mapTanh
	mapTanhGrad
	mapSiLU // x·σ(c·x)
	mapSiLUGrad
	mapGELU
	mapGELUGrad
	mapGELUTanh
	mapGELUTanhGrad
	mapSoftcap // c·tanh(x/c)
	mapSoftcapGrad
	mapSiLUBoth // a function of b, and a times its derivative
	mapGELUBoth
	mapGELUTanhBoth
)

// mapped computes f with assembly and reports whether it could. a and b must be as long as dst.
func mapped[T Float](f mapping, dst, a, b []T, c float64) bool {
	return isFloat32[T]() && mapVector(f, as32(dst), nil, as32(a), as32(b), float32(c))
}

// mappedBoth is mapped for a function with two results, of equal length.
func mappedBoth[T Float](f mapping, dst, also, a, b []T, c float64) bool {
	return isFloat32[T]() && mapVector(f, as32(dst), as32(also), as32(a), as32(b), float32(c))
}
