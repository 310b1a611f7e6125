package kernel

import "math/bits"

// Dropout zeroes each element with probability p and scales the others by 1/(1-p) (Srivastava et al.
// 2014). Whether element i is kept depends on key and on offset + i alone, so a range may be cut
// anywhere, and the gradient is the same call on dy. y may be x. p ≥ 1 keeps nothing.
func Dropout[T Float](y, x []T, p float64, key [2]uint64, offset uint64) {
	x = x[:len(y)]
	d := newDropper[T](p, key)
	if d.none() {
		copy(y, x)
		return
	}
	i := 0
	for ; i < len(x) && (offset+uint64(i))%wordsPerCounter != 0; i++ {
		y[i] = x[i] * d.factor(offset+uint64(i))
	}
	if isFloat32[T]() && d.limit < 1<<32 {
		i += dropoutVector(as32(y[i:]), as32(x[i:]), (offset+uint64(i))/wordsPerCounter, key, uint32(d.limit), float32(d.scale))
	}
	for ; i < len(x); i++ {
		y[i] = x[i] * d.factor(offset+uint64(i))
	}
}

// dropper gives the factors of a dropout mask: 0 or 1/(1-p).
type dropper[T Float] struct {
	key   [2]uint64
	limit uint64 // an element is dropped if its 32 random bits are below limit
	scale T
	block uint64 // the counter that bits belongs to
	bits  [wordsPerCounter]uint32
}

func newDropper[T Float](p float64, key [2]uint64) dropper[T] {
	d := dropper[T]{key: key}
	if p > 0 {
		d.limit = uint64(min(p, 1) * (1 << 32))
	}
	if p < 1 {
		d.scale = T(1 / (1 - max(p, 0)))
	}
	d.bits = philox(key, 0)
	return d
}

// none reports whether every factor is 1.
func (d *dropper[T]) none() bool { return d.limit == 0 }

// factor is that of element i. It is fastest when i grows by one from call to call.
func (d *dropper[T]) factor(i uint64) T {
	if b := i / wordsPerCounter; b != d.block {
		d.block, d.bits = b, philox(d.key, b)
	}
	if uint64(d.bits[i%wordsPerCounter]) < d.limit {
		return 0
	}
	return d.scale
}

// Philox4x32-10 (Salmon, Moraes, Dror and Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3").
const (
	wordsPerCounter = 4
	philoxRounds    = 10

	philoxM0, philoxM1 = 0xD2511F53, 0xCD9E8D57
	philoxW0, philoxW1 = 0x9E3779B9, 0xBB67AE85 // what the key grows by from round to round
)

// philox returns 128 random bits for a counter. key[0] is the generator's 64-bit key; counter and
// key[1] are the low and high half of its 128-bit counter.
func philox(key [2]uint64, counter uint64) [wordsPerCounter]uint32 {
	c := [wordsPerCounter]uint32{uint32(counter), uint32(counter >> 32), uint32(key[1]), uint32(key[1] >> 32)}
	k0, k1 := uint32(key[0]), uint32(key[0]>>32)
	for range philoxRounds {
		h0, l0 := bits.Mul32(philoxM0, c[0])
		h1, l1 := bits.Mul32(philoxM1, c[2])
		c = [wordsPerCounter]uint32{h1 ^ c[1] ^ k0, l1, h0 ^ c[3] ^ k1, l0}
		k0 += philoxW0
		k1 += philoxW1
	}
	return c
}
