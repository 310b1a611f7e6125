package ops

import (
	"fmt"
	"math"
)

// T5Bucket is the bucket of the distance i - j from key j to query i in a
// table of relative biases (Raffel et al. 2019, arXiv:1910.10683). Half of the
// buckets are for one distance each, the others widen geometrically up to
// maxDistance, and the last takes all beyond. A model that is not causal uses
// the upper half of the table for keys after the query.
func T5Bucket(distance, buckets, maxDistance int, causal bool) int {
	offset, n := 0, max(distance, 0)
	if !causal {
		buckets /= 2
		if n = distance; n < 0 {
			offset, n = buckets, -n
		}
	}
	exact := buckets / 2
	if n < exact {
		return offset + n
	}
	// The tiny addend keeps exact powers, such as 16, 32 and 64 in a table of 32
	// buckets up to 128, from a logarithm that is one bit low.
	const lift = 1e-9
	share := math.Log(float64(n)/float64(exact)) / math.Log(float64(maxDistance)/float64(exact))
	return offset + min(buckets-1, exact+int(share*float64(buckets-exact)+lift))
}

// checkT5 says what is wrong with the sizes of a table of relative biases: its
// geometric part must have a bucket, and reach further than the exact part.
func checkT5(buckets, maxDistance int, causal bool) error {
	least := 2
	if !causal {
		least = 4
	}
	if exact := buckets / least; buckets < least || maxDistance <= exact {
		return fmt.Errorf("a relative bias of %d buckets up to a distance of %d; at least %d buckets, and a distance above %d, are wanted", buckets, maxDistance, least, exact)
	}
	return nil
}

// T5Buckets lists the buckets of all distances i - j of t queries and s keys,
// each at index i - j + s - 1.
func T5Buckets(t, s, buckets, maxDistance int, causal bool) []int32 {
	all := make([]int32, t+s-1)
	for i := range all {
		all[i] = int32(T5Bucket(i-s+1, buckets, maxDistance, causal))
	}
	return all
}
