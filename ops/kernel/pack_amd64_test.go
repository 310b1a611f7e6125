package kernel

import (
	"math/rand/v2"
	"testing"
)

// TestPackPieces compares every height of a tile with a copy element by element, and looks behind the end.
func TestPackPieces(t *testing.T) {
	if active < pathAVX2 {
		t.Skip("needs AVX2")
	}
	const ld, canary = 11, 12345
	r := rand.New(rand.NewPCG(5, 6))
	for rows := 1; rows <= tileRows256; rows++ {
		for k := 1; k < 20; k++ {
			src := randoms[float32](r, (k-1)*ld+rows)
			dst := make([]float32, k*tileRows256+8)
			for i := range dst {
				dst[i] = canary
			}
			packPieces256(&dst[0], &src[0], 4*ld, k, rows)
			for i := range k {
				for j := range rows {
					if got, want := dst[i*tileRows256+j], src[i*ld+j]; got != want {
						t.Fatalf("%d rows, k %d: element %d of piece %d is %v, want %v", rows, k, j, i, got, want)
					}
				}
			}
			for i, x := range dst[k*tileRows256+2:] {
				if x != canary {
					t.Fatalf("%d rows, k %d: writes element %d behind the last place", rows, k, 2+i)
				}
			}
		}
	}
}
