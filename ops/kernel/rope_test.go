package kernel

import (
	"fmt"
	"math"
	"testing"
)

func ropeTables[T Float](rows, rotated int) (cos, sin []T) {
	for p := range rows {
		for j := range rotated / 2 {
			a := float64(p) * math.Pow(100, -2*float64(j)/float64(rotated))
			cos, sin = append(cos, T(math.Cos(a))), append(sin, T(math.Sin(a)))
		}
	}
	return cos, sin
}

// ropeOf turns one head by complex multiplication.
func ropeOf(x, cos, sin []float64, interleaved bool) []float64 {
	y := append([]float64(nil), x...)
	half := len(cos)
	for j := range half {
		a, b := j, j+half
		if interleaved {
			a, b = 2*j, 2*j+1
		}
		z := complex(x[a], x[b]) * complex(cos[j], sin[j])
		y[a], y[b] = real(z), imag(z)
	}
	return y
}

func TestRoPE(t *testing.T) {
	for _, s := range []RoPEShape{
		{Rows: 5, Heads: 2, HeadDim: 8, Rotated: 8},
		{Rows: 5, Heads: 2, HeadDim: 8, Rotated: 8, Interleaved: true},
		{Rows: 3, Heads: 3, HeadDim: 7, Rotated: 4, LdX: 30, LdY: 25},
		{Rows: 3, Heads: 3, HeadDim: 7, Rotated: 4, Interleaved: true, LdX: 30, LdY: 25},
		{Rows: 2, Heads: 1, HeadDim: 64, Rotated: 64},
		{Rows: 2, Heads: 1, HeadDim: 40, Rotated: 38, Interleaved: true},
		{Rows: 1, Heads: 2, HeadDim: 5},
	} {
		t.Run(fmt.Sprintf("%+v", s), func(t *testing.T) {
			ldx, ldy := max(s.LdX, s.Heads*s.HeadDim), max(s.LdY, s.Heads*s.HeadDim)
			x, cos, sin := normals[float64](1, s.Rows*ldx), []float64(nil), []float64(nil)
			cos, sin = ropeTables[float64](s.Rows, s.Rotated)
			y := normals[float64](2, s.Rows*ldy)
			want, half := append([]float64(nil), y...), s.Rotated/2
			for r := range s.Rows {
				for h := range s.Heads {
					at := h * s.HeadDim
					copy(want[r*ldy+at:], ropeOf(x[r*ldx+at:][:s.HeadDim], cos[r*half:][:half], sin[r*half:][:half], s.Interleaved))
				}
			}
			RoPE(y, x, cos, sin, &s)
			near(t, "y", y, want, 1e-14, 1e-14)

			onEachPath(t, func(t *testing.T) {
				y32 := narrow(want)
				RoPE(y32, narrow(x), narrow(cos), narrow(sin), &s)
				near(t, "y float32", y32, want, 1e-6, 1e-6)
				noAllocs(t, "RoPE", func() { RoPE(y32, y32[:0:0], nil, nil, &RoPEShape{}) })
			})

			dense := s
			dense.LdX, dense.LdY = 0, 0
			n := s.Rows * s.Heads * s.HeadDim
			a, dy, dx := normals[float64](3, n), normals[float64](4, n), make([]float64, n)
			RoPEGrad(dx, dy, cos, sin, &dense)
			b := make([]float64, n)
			slope(t, "dx", a, dx, func() float64 {
				RoPE(b, a, cos, sin, &dense)
				return weighted(b, dy)
			})
			RoPEGrad(dy, dy, cos, sin, &dense)
			same(t, "dx in place", dy, dx)
		})
	}
}
