package kernel

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// pieces is memory to fetch. It fails the test where more is fetched than there was.
type pieces struct {
	t    *testing.T
	left [][]byte
}

func (p *pieces) Ahead() []byte {
	if len(p.left) == 0 {
		return nil
	}
	return p.left[0]
}

func (p *pieces) Fetched(n int) {
	if n < 0 || n > len(p.left[0]) {
		p.t.Fatalf("%d bytes fetched of a piece of %d", n, len(p.left[0]))
	}
	if p.left[0] = p.left[0][n:]; len(p.left[0]) == 0 {
		p.left = p.left[1:]
	}
}

// TestMulAhead: products that fetch other memory give the bits of those that do not, and those in assembly
// fetch all of it, if they go on for long enough.
func TestMulAhead(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(23, 24))
		ahead := &pieces{t: t}
		for _, n := range []int{1, 64, 512, 512 + 1, 512 + 64, 4096, 100_001} {
			ahead.left = append(ahead.left, make([]byte, n))
		}
		for _, s := range append(slices.Clone(raggedShapes), [3]int{64, 256, 64}) {
			p := newProblem[float32](r, "Packed", s[0], s[1], s[2], 0)
			want := slices.Clone(p.c)
			p.mul(want, 0, p.m, 0, p.n)
			p.e.Ahead = ahead
			p.mul(p.c, 0, p.m, 0, p.n)
			if !slices.Equal(p.c, want) {
				t.Fatalf("%v: fetching changes the product", s)
			}
		}
		if n := len(ahead.left); active >= pathAVX2 && n > 0 {
			t.Errorf("%d pieces are left, %d bytes of the first", n, len(ahead.left[0]))
		}
	})
}
