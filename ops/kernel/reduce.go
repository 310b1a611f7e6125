package kernel

import "math"

// lanes is the number of partial sums of the float64 reductions. It is that of the assembly (eight registers of
// four), so that every path adds in the same order.
const lanes = 32

// reduction numbers the sums that have assembly.
type reduction uint8

const (
	reduceSum reduction = iota
	reduceSquares
	reduceDot
)

// SumSquares returns Σ x², added in float64, in an order that depends on len(x) alone.
func SumSquares[T Float](x []T) float64 { return reduce(reduceSquares, x, x) }

// SumSquaresRows is Σ x² over rows of cols elements that are ld apart, added in float64, in an order that depends on
// these three alone.
func SumSquaresRows[T Float](x []T, rows, cols, ld int) float64 {
	checkMatrix("SumSquaresRows", "x", len(x), rows, cols, ld)
	if cols == ld {
		return SumSquares(x[:rows*cols])
	}
	var s [lanes]float64
	for i := range rows {
		addReduction(reduceSquares, &s, x[i*ld:i*ld+cols], x[i*ld:])
	}
	return fold(&s)
}

// narrowRun is the number of elements whose squares are added in float32, before such sums are added in float64;
// narrowLanes divides it.
const (
	narrowRun   = 4096
	narrowLanes = 64
)

// SumSquaresNarrow is SumSquares to the precision of a float32, whatever the size of the elements, and takes less
// time. Its relative error is at most 130·2⁻²⁴, where all elements are equal, and as a rule 1e-7.
func SumSquaresNarrow[T Float](x []T) (sum float64) {
	for len(x) >= narrowLanes && isFloat32[T]() {
		run := x[:min(len(x), narrowRun)&^(narrowLanes-1)]
		var s float64
		if !sumSquaresNarrowVector(&s, as32(run)) || !precise(s) {
			s = SumSquares(run)
		}
		sum, x = sum+s, x[len(run):]
	}
	return sum + SumSquares(x)
}

// precise reports whether a sum of squares that were rounded to float32 each has that precision: none has
// overflowed, and those below its normal numbers do not count. If not, as with zeros, the sum is to be taken in
// float64.
func precise(sum float64) bool { return sum >= 0x1p-80 && sum <= 0x1p120 }

// Sum returns Σ x, added in float64, in an order that depends on len(x) alone.
func Sum[T Float](x []T) float64 { return reduce(reduceSum, x, x) }

// Dot returns Σ a·b, added in float64, in an order that depends on len(a) alone.
func Dot[T Float](a, b []T) float64 { return reduce(reduceDot, a, b[:len(a)]) }

// reduce adds to lanes partial sums, element i to sum i mod lanes, and folds those in halves. A product
// of two float32 numbers is exact in float64, so that fused additions make no difference.
func reduce[T Float](kind reduction, x, y []T) float64 {
	var s [lanes]float64
	addReduction(kind, &s, x, y)
	return fold(&s)
}

// addReduction adds to partial sums.
func addReduction[T Float](kind reduction, s *[lanes]float64, x, y []T) {
	n := len(x) &^ (lanes - 1)
	if n == 0 || !isFloat32[T]() || !sumVector(kind, s, as32(x[:n]), as32(y[:n])) {
		n = 0
	}
	for i := n; i < len(x); i++ {
		a, b := float64(x[i]), float64(y[i])
		if kind == reduceSum {
			b = 1
		}
		s[i%lanes] += a * b
	}
}

// fold adds partial sums in halves.
func fold(s *[lanes]float64) float64 {
	for n := lanes / 2; n > 0; n /= 2 {
		for i := range n {
			s[i] += s[i+n]
		}
	}
	return s[0]
}

// Max returns the greatest element: -Inf for no element, NaN if there is one.
func Max[T Float](x []T) T {
	m := T(math.Inf(-1))
	for _, v := range x {
		m = max(m, v)
	}
	return m
}

// AllFinite reports whether x holds neither an infinity nor a NaN.
func AllFinite[T Float](x []T) bool {
	for _, v := range x {
		if v-v != 0 {
			return false
		}
	}
	return true
}

// sum adds x in its own type, in four partial sums.
func sum[T Float](x []T) T {
	var s0, s1, s2, s3 T
	for ; len(x) >= 4; x = x[4:] {
		s0 += x[0]
		s1 += x[1]
		s2 += x[2]
		s3 += x[3]
	}
	for _, v := range x {
		s0 += v
	}
	return (s0 + s1) + (s2 + s3)
}

// dot adds a ⊙ b in their own type, in four partial sums.
func dot[T Float](a, b []T) T {
	b = b[:len(a)]
	var s0, s1, s2, s3 T
	for ; len(a) >= 4; a, b = a[4:], b[4:] {
		s0 += a[0] * b[0]
		s1 += a[1] * b[1]
		s2 += a[2] * b[2]
		s3 += a[3] * b[3]
	}
	for i := range a {
		s0 += a[i] * b[i]
	}
	return (s0 + s1) + (s2 + s3)
}
