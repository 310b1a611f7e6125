package kernel

import (
	"math"
	"unsafe"
)

// dropoutArgs are the arguments of the assembly of Dropout. gen/dropout.go knows the order of the fields.
type dropoutArgs struct {
	y, x    *float32
	groups  int // of four vectors
	counter [wordsPerCounter]uint32
	keys    [2 * philoxRounds]uint32
	limit   uint32
	scale   float32
}

// dropoutVector does the beginning of a Dropout whose first element is the first of a counter, and
// returns the number of elements done.
func dropoutVector(y, x []float32, counter uint64, key [2]uint64, limit uint32, scale float32) int {
	lanes := 8
	switch active {
	case pathAVX512:
		lanes = 16
	case pathPortable:
		return 0
	}
	// The assembly counts in the low 32 bits.
	left := int(min(math.MaxUint32-counter&math.MaxUint32, math.MaxInt32)) / lanes
	n := min(len(y)/(wordsPerCounter*lanes), left)
	if n == 0 {
		return 0
	}
	a := dropoutArgs{y: unsafe.SliceData(y), x: unsafe.SliceData(x), groups: n, limit: limit, scale: scale,
		counter: [wordsPerCounter]uint32{uint32(counter), uint32(counter >> 32), uint32(key[1]), uint32(key[1] >> 32)}}
	for r := range uint32(philoxRounds) {
		a.keys[2*r], a.keys[2*r+1] = uint32(key[0])+r*philoxW0, uint32(key[0]>>32)+r*philoxW1
	}
	if active == pathAVX512 {
		dropout512(&a)
	} else {
		dropout256(&a)
	}
	return n * wordsPerCounter * lanes
}
