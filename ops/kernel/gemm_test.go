package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// forms are the five ways to multiply. B is given as [k,n] and brought to the form's own layout.
var forms = []string{"NN", "NT", "TN", "Packed", "Dots"}

// epilogues says whether a form can add more than C.
func epilogues(form string) bool { return form == "Packed" || form == "Dots" }

// problem is a product with random operands.
type problem[T Float] struct {
	form            string
	m, n, k         int
	a, b, c, packed []T
	lda, ldb, ldc   int
	e               Epilogue[T]
	bColumns        bool               // b is [n,k]
	aIndex, bIndex  func(i, j int) int // where A(i,j) and B(i,j) are in a and b
}

func (p *problem[T]) String() string {
	return fmt.Sprintf("%s m=%d n=%d k=%d lda=%d ldb=%d ldc=%d acc=%v bias=%v addend=%v",
		p.form, p.m, p.n, p.k, p.lda, p.ldb, p.ldc, p.e.Acc, p.e.Bias != nil, p.e.Addend != nil)
}

// newProblem makes a problem whose leading dimensions are pad longer than the rows.
func newProblem[T Float](r *rand.Rand, form string, m, n, k, pad int) *problem[T] {
	p := &problem[T]{form: form, m: m, n: n, k: k}
	shape := func(rows, cols int) ([]T, int) {
		ld := cols + pad
		return randoms[T](r, max(0, (rows-1)*ld+cols)), ld
	}
	byRow := func(ld *int) func(i, j int) int { return func(i, j int) int { return i**ld + j } }
	byCol := func(ld *int) func(i, j int) int { return func(i, j int) int { return j**ld + i } }
	if form == "TN" {
		p.a, p.lda = shape(k, m)
		p.aIndex = byCol(&p.lda)
	} else {
		p.a, p.lda = shape(m, k)
		p.aIndex = byRow(&p.lda)
	}
	p.bColumns = form == "NT" || form == "Dots" || form == "Packed" && r.IntN(2) == 0
	if p.bColumns {
		p.b, p.ldb = shape(n, k)
		p.bIndex = byCol(&p.ldb)
	} else {
		p.b, p.ldb = shape(k, n)
		p.bIndex = byRow(&p.ldb)
	}
	p.c, p.ldc = shape(m, n)
	if form == "Packed" {
		p.packed = make([]T, PackedLen(k, n))
		p.pack()
	}
	return p
}

// pack packs B panel by panel into p.packed, which is not zero before.
func (p *problem[T]) pack() {
	for i := range p.packed {
		p.packed[i] = T(math.NaN())
	}
	for q := range panels(p.n) {
		if p.bColumns {
			PackT(p.packed, p.b, p.ldb, p.k, p.n, q, q+1)
		} else {
			PackN(p.packed, p.b, p.ldb, p.k, p.n, q, q+1)
		}
	}
}

func randoms[T Float](r *rand.Rand, n int) []T {
	s := make([]T, n)
	for i := range s {
		s[i] = T(r.Float64() - 0.5)
	}
	return s
}

// mul computes rows [i0,i1) and columns [j0,j1) into c.
func (p *problem[T]) mul(c []T, i0, i1, j0, j1 int) {
	m, n := i1-i0, j1-j0
	if m == 0 || n == 0 || p.k == 0 && !epilogues(p.form) {
		i0, j0 = 0, 0
	}
	a, cc := p.a[min(p.aIndex(i0, 0), len(p.a)):], c[min(i0*p.ldc, len(c)):]
	switch p.form {
	case "NN":
		MulNN(m, n, p.k, a, p.lda, p.b[min(p.bIndex(0, j0), len(p.b)):], p.ldb, cc[j0:], p.ldc, p.e.Acc)
	case "NT":
		MulNT(m, n, p.k, a, p.lda, p.b[min(p.bIndex(0, j0), len(p.b)):], p.ldb, cc[j0:], p.ldc, p.e.Acc)
	case "TN":
		MulTN(m, n, p.k, a, p.lda, p.b[min(p.bIndex(0, j0), len(p.b)):], p.ldb, cc[j0:], p.ldc, p.e.Acc)
	case "Packed", "Dots":
		e := p.e
		if e.Addend != nil {
			e.Addend = e.Addend[min(i0*e.LdAddend, len(e.Addend)):]
		}
		if p.form == "Dots" {
			MulDots(m, p.n, p.k, a, p.lda, p.b, p.ldb, cc, p.ldc, j0, j1, e)
			return
		}
		MulPacked(m, p.n, p.k, a, p.lda, p.packed, cc, p.ldc, j0, j1, e)
	}
}

// reference is the product in float64, and the sum of magnitudes that bounds its error.
func (p *problem[T]) reference(i, j int) (sum, magnitude float64) {
	add := func(x float64) { sum += x; magnitude += math.Abs(x) }
	for l := range p.k {
		add(float64(p.a[p.aIndex(i, l)]) * float64(p.b[p.bIndex(l, j)]))
	}
	if p.e.Bias != nil {
		add(float64(p.e.Bias[j]))
	}
	if p.e.Acc {
		add(float64(p.c[i*p.ldc+j]))
	}
	if p.e.Addend != nil {
		add(float64(p.e.Addend[i*p.e.LdAddend+j]))
	}
	return sum, magnitude
}

// check computes the product and compares every element of C, and the gaps between its rows.
func (p *problem[T]) check(t *testing.T) {
	t.Helper()
	got := slices.Clone(p.c)
	p.mul(got, 0, p.m, 0, p.n)
	eps := 1.2e-7
	if !isFloat32[T]() {
		eps = 2.3e-16
	}
	for x, v := range got {
		i, j := x/p.ldc, x%p.ldc
		if j >= p.n {
			if v != p.c[x] {
				t.Fatalf("%v: wrote between the rows of C at (%d,%d)", p, i, j)
			}
			continue
		}
		want, magnitude := p.reference(i, j)
		if !(math.Abs(float64(v)-want) <= eps*(magnitude*8+1e-30)) {
			t.Fatalf("%v: C(%d,%d) = %v, want %v", p, i, j, v, want)
		}
	}
}

// eachPath runs f once with every instruction set of this machine.
func eachPath(t *testing.T, f func(t *testing.T)) {
	for _, name := range Paths() {
		t.Run(name, func(t *testing.T) {
			restore, err := ForcePath(name)
			if err != nil {
				t.Fatal(err)
			}
			defer restore()
			f(t)
		})
	}
}

// raggedShapes are m, n, k around the sizes of tiles, panels, vectors and blocks.
var raggedShapes = [][3]int{
	{1, 1, 1}, {3, 5, 7}, {14, 32, 16}, {15, 33, 17}, {13, 31, 15}, {64, 64, 32}, {28, 65, 64}, {29, 48, 3},
	{100, 70, 130}, {1, 200, 40}, {7, 1, 300}, {20, 40, 512}, {20, 40, 513}, {15, 40, 1025}, {420, 5, 512}, {210, 66, 512},
	{6, 16, 4}, {5, 47, 9}, {2, 9, 2}, {4, 3, 0}, {4, 97, 0}, {0, 3, 4}, {3, 0, 4},
}

func testMul[T Float](t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, s := range raggedShapes {
		for _, form := range forms {
			for variant := range 8 {
				if !epilogues(form) && variant > 1 {
					break // the others have no epilogue
				}
				p := newProblem[T](r, form, s[0], s[1], s[2], r.IntN(3)*r.IntN(20))
				p.e.Acc = variant&1 != 0
				if epilogues(form) && variant&2 != 0 {
					p.e.Bias = randoms[T](r, p.n)
				}
				if epilogues(form) && variant&4 != 0 {
					p.e.LdAddend = p.n + 5
					p.e.Addend = randoms[T](r, max(0, (p.m-1)*p.e.LdAddend+p.n))
				}
				p.check(t)
			}
		}
	}
}

func TestMul(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		testMul[float32](t)
	})
	t.Run("float64", testMul[float64])
}

func TestMulPanics(t *testing.T) {
	x := make([]float32, 100)
	for name, f := range map[string]func(){
		"a short":           func() { MulNN(3, 4, 5, x[:14], 5, x, 4, x, 4, false) },
		"b short":           func() { MulNT(3, 4, 5, x, 5, x[:19], 5, x, 4, false) },
		"c short":           func() { MulTN(3, 4, 5, x, 3, x, 4, x[:11], 4, false) },
		"narrow lda":        func() { MulNN(3, 4, 5, x, 4, x, 4, x, 4, false) },
		"negative":          func() { MulNN(-1, 4, 5, x, 5, x, 4, x, 4, false) },
		"packed short":      func() { MulPacked(1, 4, 4, x, 4, x, x, 4, 0, 4, Epilogue[float32]{}) },
		"n0 in a panel":     func() { MulPacked(1, 40, 1, x, 1, x, x, 40, 8, 40, Epilogue[float32]{}) },
		"n1 too large":      func() { MulPacked(1, 4, 1, x, 1, x, x, 4, 0, 5, Epilogue[float32]{}) },
		"bias short":        func() { MulPacked(1, 4, 1, x, 1, x, x, 4, 0, 4, Epilogue[float32]{Bias: x[:3]}) },
		"addend short":      func() { MulPacked(2, 4, 1, x, 1, x, x, 4, 0, 4, Epilogue[float32]{Addend: x[:7], LdAddend: 4}) },
		"dots, b short":     func() { MulDots(1, 4, 5, x, 5, x[:19], 5, x, 4, 0, 4, Epilogue[float32]{}) },
		"dots, bias short":  func() { MulDots(1, 4, 1, x, 1, x, 1, x, 4, 0, 4, Epilogue[float32]{Bias: x[:3]}) },
		"dots, n1 large":    func() { MulDots(1, 4, 1, x, 1, x, 1, x, 4, 0, 5, Epilogue[float32]{}) },
		"dst of pack short": func() { PackN(x[:90], x, 3, 3, 3, 0, 1) },
		"no such panel":     func() { PackT(x, x, 3, 3, 3, 0, 2) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

func TestPack(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(17, 18))
		for _, s := range [][2]int{{1, 1}, {16, 32}, {17, 33}, {8, 24}, {100, 65}, {3, 95}} {
			k, n := s[0], s[1]
			b, bt := randoms[float32](r, k*n), make([]float32, k*n)
			for i := range k {
				for j := range n {
					bt[j*k+i] = b[i*n+j]
				}
			}
			rows, cols := make([]float32, PackedLen(k, n)), make([]float32, PackedLen(k, n))
			for i := range rows {
				rows[i], cols[i] = -1, -1
			}
			PackN(rows, b, n, k, n, 0, panels(n))
			PackT(cols, bt, k, k, n, 0, panels(n))
			for x, v := range rows {
				i, j := x/PanelWidth%k, x/(PanelWidth*k)*PanelWidth+x%PanelWidth
				want := float32(0)
				if j < n {
					want = b[i*n+j]
				}
				if v != want || cols[x] != want {
					t.Fatalf("k=%d n=%d: B(%d,%d) packed as %v by rows, %v by columns, want %v", k, n, i, j, v, cols[x], want)
				}
			}
			for _, off := range []int{0, 1} { // from the start of a cache line
				past := atLine(len(cols) + off + 1)[off:]
				past[len(cols)] = -1
				PackTPast(past[:len(cols)], bt, k, k, n, 0, panels(n))
				if !slices.Equal(past[:len(cols)], cols) || past[len(cols)] != -1 {
					t.Fatalf("k=%d n=%d, %d behind a cache line: past the caches B is packed differently", k, n, off)
				}
			}
		}
	})
}

func TestBlockK(t *testing.T) {
	for k := range 5000 {
		if b := blockK(k); b < 1 || b > maxBlockK || k > maxBlockK && b%16 != 0 {
			t.Fatalf("blockK(%d) = %d", k, b)
		}
	}
}
