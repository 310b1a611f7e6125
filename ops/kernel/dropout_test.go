package kernel

import (
	"math"
	"testing"
)

// Known answers of Philox4x32-10 published with its reference implementation (Random123, kat_vectors).
func TestPhilox(t *testing.T) {
	for _, c := range []struct {
		key     [2]uint64
		counter uint64
		want    [4]uint32
	}{
		{[2]uint64{0, 0}, 0, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{[2]uint64{math.MaxUint64, math.MaxUint64}, math.MaxUint64, [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{[2]uint64{0x299f31d0a4093822, 0x0370734413198a2e}, 0x85a308d3243f6a88, [4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	} {
		if got := philox(c.key, c.counter); got != c.want {
			t.Errorf("philox(%x, %x) = %08x, want %08x", c.key, c.counter, got, c.want)
		}
	}
}

func TestDropout(t *testing.T) {
	const n, p = 40000, 0.3
	key := [2]uint64{5, 6}
	x, y := make([]float32, n), make([]float32, n)
	Fill(x, 2)
	onEachPath(t, func(t *testing.T) {
		Dropout(y, x, p, key, 17)
		kept := 0
		for i, v := range y {
			switch v {
			case 0:
			case float32(2) * float32(1/(1-p)):
				kept++
			default:
				t.Fatalf("y[%d] = %v", i, v)
			}
		}
		if mean, sd := n*(1-p), math.Sqrt(n*p*(1-p)); math.Abs(float64(kept)-mean) > 4*sd {
			t.Errorf("kept %d of %d, want %.0f ± %.0f", kept, n, mean, sd)
		}
		z := make([]float32, n)
		for i := 0; i < n; i += 37 { // pieces of any size, at any offset, give the same mask
			end := min(i+37, n)
			Dropout(z[i:end], x[i:end], p, key, 17+uint64(i))
		}
		same(t, "dropout in pieces", z, y)
		Dropout(z, x, p, [2]uint64{5, 7}, 17)
		if differing := n - agreeing(y, z); differing < n/4 {
			t.Errorf("another key changes only %d of %d", differing, n)
		}
		noAllocs(t, "Dropout", func() { Dropout(z[:100], x, p, key, 3) })
	})
	// Around an overflow of the low half of the counter, and at any alignment, all paths agree.
	for _, offset := range []uint64{0, 1, 2, 3, 1<<34 - 1000, 1<<34 - 4} {
		var want []float32
		onEachPath(t, func(t *testing.T) {
			Dropout(y[:3000], x, p, key, offset)
			if want == nil {
				want = append(want, y[:3000]...)
			}
			same(t, "dropout", y[:3000], want)
		})
	}
	Dropout(y, x, 0, key, 0)
	same(t, "p = 0", y, x)
	Dropout(y, x, 1, key, 0)
	same(t, "p = 1", y, make([]float32, n))
}

func agreeing(a, b []float32) (n int) {
	for i := range a {
		if a[i] == b[i] {
			n++
		}
	}
	return n
}
