package kernel

import (
	"math"
	"testing"
)

// softmaxOf is the definition, in float64.
func softmaxOf(x []float64, mask []bool) []float64 {
	y, m, s := make([]float64, len(x)), math.Inf(-1), 0.
	for i, v := range x {
		if mask == nil || mask[i] {
			m = math.Max(m, v)
		}
	}
	for i, v := range x {
		if mask == nil || mask[i] {
			y[i] = math.Exp(v - m)
			s += y[i]
		}
	}
	for i := range y {
		if s > 0 {
			y[i] /= s
		}
	}
	return y
}

// maskFor leaves a third of the columns, and nothing of row 1.
func maskFor(rows, d int) []bool {
	mask := make([]bool, rows*d)
	for i := range mask {
		mask[i] = i%3 != 1 && i/d != 1
	}
	return mask
}

func TestSoftmax(t *testing.T) {
	const rows = 3
	for _, d := range []int{1, 2, 5, 17} {
		for _, mask := range [][]bool{nil, maskFor(rows, d)} {
			x, dy := normals[float64](1, rows*d), normals[float64](2, rows*d)
			y, dx := make([]float64, rows*d), make([]float64, rows*d)
			Softmax(y, x, mask, rows, d)
			for r := range rows {
				var m []bool
				if mask != nil {
					m = mask[r*d : (r+1)*d]
				}
				near(t, "y", y[r*d:(r+1)*d], softmaxOf(x[r*d:(r+1)*d], m), 1e-13, 0)
			}
			SoftmaxGrad(dx, dy, y, rows, d)
			slope(t, "dx", x, dx, func() float64 {
				Softmax(y, x, mask, rows, d)
				return weighted(y, dy)
			})
		}
	}
}

func TestSoftmaxFloat32(t *testing.T) {
	onEachPath(t, func(t *testing.T) {
		const rows = 3
		for _, d := range ragged[1:] {
			for _, mask := range [][]bool{nil, maskFor(rows, d)} {
				x, dy := normals[float32](1, rows*d), normals[float32](2, rows*d)
				y, dx := make([]float32, rows*d), make([]float32, rows*d)
				want, wantDX := make([]float64, rows*d), make([]float64, rows*d)
				Softmax(y, x, mask, rows, d)
				Softmax(want, widen(x), mask, rows, d)
				near(t, "y", y, want, 2e-6, 1e-9)
				SoftmaxGrad(dx, dy, y, rows, d)
				SoftmaxGrad(wantDX, widen(dy), want, rows, d)
				near(t, "dx", dx, wantDX, 1e-5, 1e-6)
				noAllocs(t, "softmax", func() { Softmax(y, x, mask, rows, d); SoftmaxGrad(dx, dy, y, rows, d) })
			}
		}
	})
}

func TestSoftmaxExtremes(t *testing.T) {
	y := make([]float64, 4)
	Softmax(y, []float64{1e300, -1e300, 1e300, 0}, nil, 1, 4)
	near(t, "float64", y, []float64{.5, 0, .5, 0}, 0, 0)
	onEachPath(t, func(t *testing.T) {
		for _, c := range []struct{ x, want []float32 }{
			{[]float32{3e38, -3e38, 3e38, 0}, []float32{.5, 0, .5, 0}},
			{[]float32{-1e5, -1e5 - 1, -2e5, -3e38}, []float32{.7310586, .26894143, 0, 0}},
		} {
			y := make([]float32, 4)
			Softmax(y, c.x, nil, 1, 4)
			near(t, "float32", y, c.want, 1e-6, 0)
		}
	})
}

func TestSoftcap(t *testing.T) {
	x, dy := append(normals[float64](1, 30), 40, -40, 0), normals[float64](2, 33)
	y, dx := make([]float64, 33), make([]float64, 33)
	Softcap(y, x, 2)
	for i, v := range x {
		near(t, "y", y[i:i+1], []float64{2 * math.Tanh(v/2)}, 1e-14, 0)
	}
	SoftcapGrad(dx, dy, x, 2)
	slope(t, "dx", x, dx, func() float64 {
		Softcap(y, x, 2)
		return weighted(y, dy)
	})
	onEachPath(t, func(t *testing.T) {
		for _, n := range ragged {
			x, dy := normals[float32](1, n), normals[float32](2, n)
			y, dx := make([]float32, n), make([]float32, n)
			want, wantDX := make([]float64, n), make([]float64, n)
			Softcap(y, x, 1.5)
			Softcap(want, widen(x), 1.5)
			near(t, "y", y, want, 1e-6, 1e-7)
			SoftcapGrad(dx, dy, x, 1.5)
			SoftcapGrad(wantDX, widen(dy), widen(x), 1.5)
			near(t, "dx", dx, wantDX, 1e-6, 1e-6)
		}
	})
}
