package kernel

import (
	"fmt"
	"math"
	"testing"
)

// normCase is a norm with all its operands, so that one suite can test every norm.
type normCase[T Float] struct {
	rows, d                int
	x, w, b, alpha, dy, ad []T
	y, dx, dw, db, dalpha  []T
	mean, rstd             []T
}

func newNormCase[T Float](rows, d int) *normCase[T] {
	c := &normCase[T]{rows: rows, d: d, x: normals[T](3, rows*d), w: normals[T](4, d), b: normals[T](5, d), alpha: []T{0.7},
		dy: normals[T](6, rows*d), ad: normals[T](8, rows*d)}
	for i := range c.x {
		c.x[i] = 2*c.x[i] + 0.5
	}
	c.y, c.dx, c.dw, c.db, c.dalpha = make([]T, rows*d), make([]T, rows*d), make([]T, d), make([]T, d), make([]T, 1)
	c.mean, c.rstd = make([]T, rows), make([]T, rows)
	return c
}

const normEps = 1e-5

// norms is every norm: the kernels, and what the formula says about one row.
func norms[T Float]() []struct {
	name    string
	forward func(c *normCase[T])
	grad    func(c *normCase[T])
	formula func(x, w, b []float64, alpha float64) []float64
} {
	ln := func(x, w, b []float64, _ float64) []float64 {
		m, v := 0., 0.
		for _, e := range x {
			m += e / float64(len(x))
		}
		for _, e := range x {
			v += (e - m) * (e - m) / float64(len(x))
		}
		return affineOf(x, w, b, 0, func(e float64) float64 { return (e - m) / math.Sqrt(v+normEps) })
	}
	rms := func(one float64) func(x, w, b []float64, _ float64) []float64 {
		return func(x, w, b []float64, _ float64) []float64 {
			v := 0.
			for _, e := range x {
				v += e * e / float64(len(x))
			}
			return affineOf(x, w, nil, one, func(e float64) float64 { return e / math.Sqrt(v+normEps) })
		}
	}
	return []struct {
		name    string
		forward func(c *normCase[T])
		grad    func(c *normCase[T])
		formula func(x, w, b []float64, alpha float64) []float64
	}{
		{"layernorm", func(c *normCase[T]) { LayerNorm(c.y, c.x, c.w, c.b, c.mean, c.rstd, c.rows, c.d, normEps) },
			func(c *normCase[T]) {
				LayerNormGrad(c.dx, c.dy, c.x, c.w, c.mean, c.rstd, c.dw, c.db, c.ad, c.rows, c.d)
			}, ln},
		{"rmsnorm", func(c *normCase[T]) { RMSNorm(c.y, c.x, c.w, c.rstd, c.rows, c.d, normEps, false) },
			func(c *normCase[T]) { RMSNormGrad(c.dx, c.dy, c.x, c.w, c.rstd, c.dw, c.ad, c.rows, c.d, false) }, rms(0)},
		{"rmsnorm_1p", func(c *normCase[T]) { RMSNorm(c.y, c.x, c.w, c.rstd, c.rows, c.d, normEps, true) },
			func(c *normCase[T]) { RMSNormGrad(c.dx, c.dy, c.x, c.w, c.rstd, c.dw, c.ad, c.rows, c.d, true) }, rms(1)},
		{"dyt", func(c *normCase[T]) { DyT(c.y, c.x, c.w, c.b, c.alpha, c.rows, c.d) },
			func(c *normCase[T]) {
				DyTGrad(c.dx, c.dy, c.x, c.w, c.alpha, c.dw, c.db, c.dalpha, c.ad, c.rows, c.d)
			},
			func(x, w, b []float64, alpha float64) []float64 {
				return affineOf(x, w, b, 0, func(e float64) float64 { return math.Tanh(alpha * e) })
			}},
	}
}

func affineOf(x, w, b []float64, one float64, f func(float64) float64) []float64 {
	y := make([]float64, len(x))
	for i, e := range x {
		y[i] = f(e)
		if w != nil {
			y[i] *= one + w[i]
		}
		if b != nil {
			y[i] += b[i]
		}
	}
	return y
}

// optional returns the case with the operands that may be nil present or not.
func (c *normCase[T]) optional(gain, bias, addend bool) *normCase[T] {
	if !gain {
		c.w, c.dw = nil, nil
	}
	if !bias {
		c.b, c.db = nil, nil
	}
	if !addend {
		c.ad = nil
	}
	return c
}

func TestNormFormulasAndGradients(t *testing.T) {
	for _, n := range norms[float64]() {
		for _, d := range []int{1, 2, 5, 16, 33} {
			for bits := range 8 {
				c := newNormCase[float64](3, d).optional(bits&1 != 0, bits&2 != 0, bits&4 != 0)
				t.Run(fmt.Sprintf("%s/%d/%d", n.name, d, bits), func(t *testing.T) { checkNorm(t, c, n.forward, n.grad, n.formula) })
			}
		}
	}
}

func checkNorm(t *testing.T, c *normCase[float64], forward, grad func(*normCase[float64]), formula func(x, w, b []float64, alpha float64) []float64) {
	forward(c)
	for r := range c.rows {
		near(t, "y", c.y[r*c.d:(r+1)*c.d], formula(c.x[r*c.d:(r+1)*c.d], c.w, c.b, c.alpha[0]), 1e-12, 1e-13)
	}
	grad(c)
	loss := func() float64 {
		forward(c)
		l := weighted(c.y, c.dy)
		if c.ad != nil {
			l += weighted(c.x, c.ad)
		}
		return l
	}
	if c.d > 1 { // one column: the norm is a step function of width sqrt(eps)
		slope(t, "dx", c.x, c.dx, loss)
	}
	if c.w != nil {
		slope(t, "dw", c.w, c.dw, loss)
	}
	if c.b != nil && c.db[0] != 0 {
		slope(t, "db", c.b, c.db, loss)
	}
	if c.dalpha[0] != 0 {
		slope(t, "dalpha", c.alpha, c.dalpha, loss)
	}
}

// Worked example: x = [1.2, -.8, .5, -1.5].
func TestNormValues(t *testing.T) {
	x := []float64{1.2, -.8, .5, -1.5}
	y, mean, rstd := make([]float64, 4), make([]float64, 1), make([]float64, 1)
	LayerNorm(y, x, nil, nil, mean, rstd, 1, 4, 0)
	near(t, "layernorm", y, []float64{1.2742087810941236, -.6135079316379114, .6135079316379114, -1.2742087810941236}, 1e-14, 0)
	near(t, "mean", mean, []float64{-.15}, 1e-14, 0)
	RMSNorm(y, x, nil, rstd, 1, 4, 1e-6, false)
	near(t, "rmsnorm", y, []float64{1.1214458627241508, -.747630575149434, .4672691094683962, -1.4018073284051886}, 1e-14, 0)
}

func TestNormFloat32(t *testing.T) {
	onEachPath(t, func(t *testing.T) {
		n32, n64 := norms[float32](), norms[float64]()
		for i := range n32 {
			for _, d := range ragged[1:] {
				for bits := range 8 {
					c := newNormCase[float32](5, d).optional(bits&1 != 0, bits&2 != 0, bits&4 != 0)
					ref := wideCase(c)
					n32[i].forward(c)
					n32[i].grad(c)
					n64[i].forward(ref)
					n64[i].grad(ref)
					if d == 1 && i == 0 { // (x - m)·rstd of one column: 0 up to rounding times 300
						continue
					}
					what := fmt.Sprintf("%s d=%d %03b ", n32[i].name, d, bits)
					near(t, what+"y", c.y, ref.y, 1e-5, 1e-5)
					near(t, what+"dx", c.dx, ref.dx, 1e-4, 2e-5)
					near(t, what+"dw", c.dw, ref.dw, 1e-5, 1e-5)
					near(t, what+"db", c.db, ref.db, 1e-5, 1e-5)
					near(t, what+"dalpha", c.dalpha, ref.dalpha, 1e-4, 1e-4)
				}
			}
		}
	})
}

func wideCase(c *normCase[float32]) *normCase[float64] {
	return &normCase[float64]{rows: c.rows, d: c.d, x: widen(c.x), w: widen(c.w), b: widen(c.b), alpha: widen(c.alpha), dy: widen(c.dy), ad: widen(c.ad),
		y: widen(c.y), dx: widen(c.dx), dw: widen(c.dw), db: widen(c.db), dalpha: widen(c.dalpha), mean: widen(c.mean), rstd: widen(c.rstd)}
}

// TestNormOverflow: a row whose squares are beyond the largest number has no finite norm. 1/√∞ = 0 would make zeros of it
// and of its gradient, and a model that has exploded would look as if it had settled.
func TestNormOverflow(t *testing.T) {
	onEachPath(t, overflows[float32])
	overflows[float64](t)
}

func overflows[T Float](t *testing.T) {
	huge := T(math.Sqrt(float64(largest[T]())))
	for _, n := range norms[T]()[:3] { // dyt has no sum
		for _, d := range ragged[2:] {
			for r := range 5 {
				c := newNormCase[T](5, d)
				for i := range d {
					c.x[r*d+i] *= 20 * huge
				}
				n.forward(c)
				n.grad(c)
				for i, y := range c.y {
					for what, v := range map[string]float64{"y": float64(y), "dx": float64(c.dx[i])} {
						if math.IsNaN(v) != (i/d == r) || math.IsInf(v, 0) {
							t.Fatalf("%s d=%d: %s[%d,%d] is %v with row %d beyond all numbers", n.name, d, what, i/d, i%d, v, r)
						}
					}
				}
			}
		}
	}
}

// largest is the largest number.
func largest[T Float]() T {
	if isFloat32[T]() {
		return math.MaxFloat32
	}
	x := math.MaxFloat64
	return T(x)
}

// A norm over rows is the norm over each row, to the bit; in place; and without allocation.
func TestNormRowsAreIndependent(t *testing.T) {
	onEachPath(t, func(t *testing.T) {
		for _, n := range norms[float32]() {
			independentRows(t, n.name, n.forward, n.grad, 40)
			independentRows(t, n.name, n.forward, n.grad, 400)
		}
	})
}

func independentRows(t *testing.T, name string, forward, grad func(c *normCase[float32]), d int) {
	t.Helper()
	c, rows := newNormCase[float32](7, d), newNormCase[float32](7, d)
	forward(c)
	grad(c)
	for r := range 7 {
		one := *rows
		one.rows = 1
		for _, s := range []*[]float32{&one.x, &one.y, &one.dx, &one.dy, &one.ad} {
			*s = (*s)[r*d : (r+1)*d]
		}
		one.mean, one.rstd = one.mean[r:], one.rstd[r:]
		forward(&one)
		grad(&one)
	}
	same(t, name+" y", rows.y, c.y)
	same(t, name+" dx", rows.dx, c.dx)
	same(t, name+" dw", rows.dw, c.dw)
	same(t, name+" db", rows.db, c.db)
	same(t, name+" dalpha", rows.dalpha, c.dalpha)

	for _, alias := range []func(c *normCase[float32]){
		func(c *normCase[float32]) { c.dx = c.dy },
		func(c *normCase[float32]) { c.dx = c.x },
		func(c *normCase[float32]) { c.dx = c.ad },
	} {
		in := newNormCase[float32](7, d)
		alias(in)
		forward(in)
		grad(in)
		same(t, name+" dx in place", in.dx, c.dx)
	}
	in := newNormCase[float32](7, d)
	in.y = in.x
	forward(in)
	same(t, name+" y in place", in.y, c.y)
	noAllocs(t, name, func() { forward(c); grad(c) })
}

func BenchmarkNorms(b *testing.B) {
	for _, s := range [][2]int{{16, 64}, {64, 64}, {128, 128}, {256, 512}} { // the first in the first-level cache
		for _, n := range norms[float32]() {
			c := newNormCase[float32](s[0], s[1])
			b.Run(fmt.Sprintf("%s/%dx%d", n.name, s[0], s[1]), func(b *testing.B) {
				for b.Loop() {
					n.forward(c)
				}
				elementsPerNs(b, len(c.x))
			})
			b.Run(fmt.Sprintf("%s_grad/%dx%d", n.name, s[0], s[1]), func(b *testing.B) {
				for b.Loop() {
					n.grad(c)
				}
				elementsPerNs(b, len(c.x))
			})
		}
	}
}
