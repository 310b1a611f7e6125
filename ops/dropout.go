package ops

import (
	"fmt"
	"hash/fnv"

	"ablate/graph"
	"ablate/ops/kernel"
)

// Dropout zeroes each element of x, of any shape, with probability p and
// multiplies the others by 1/(1-p) (Srivastava et al. 2014). The mask is a
// function of rng, an int32 input (2) that is set before each run, of name,
// and of the element's place; the gradient uses the same. With p = 0 it is x.
func Dropout(x, rng *graph.Node, p float64, name string) *graph.Node {
	if p == 0 {
		return x
	}
	return graph.Apply1(dropout{p, name}, x, rng)
}

type dropout struct {
	p    float64
	name string
}

func (o dropout) String() string { return fmt.Sprintf("dropout{%v}", o.p) }

func (o dropout) Infer(in []graph.Shape) ([]graph.Shape, error) {
	if !(o.p > 0 && o.p < 1) {
		return nil, fmt.Errorf("a probability of %v; it must be in [0, 1)", o.p)
	}
	return in[:1], wantVector("the source of randomness", in[1], 2)
}

// Alias lets the result take the place of x.
func (dropout) Alias(int) int { return 0 }

func (o dropout) Bind(c *graph.Call) []graph.Task {
	t := c.Rows(graph.Typed(c, runDropout[float32], runDropout[float64])(c, o))
	t.Whole = []*graph.Buffer{c.In(1)}
	return []graph.Task{t}
}

func runDropout[T graph.Float](c *graph.Call, o dropout) func(part, parts int, _ *graph.Worker) {
	hash := nameHash(o.name)
	rows := c.In(0).Shape()[0]
	w := c.In(0).Len() / rows
	return func(part, parts int, _ *graph.Worker) {
		key := dropoutKey(graph.Slice[int32](c.In(1)), hash, 0)
		kernel.Dropout(graph.Part[T](c.Out(0), part, parts), graph.Part[T](c.In(0), part, parts),
			o.p, key, uint64(rows*part/parts*w))
	}
}

// Grad is the same operation on dy.
func (o dropout) Grad(in, _, dout []*graph.Node) []*graph.Node {
	return []*graph.Node{graph.Apply1(o, dout[0], in[1]), nil}
}

// nameHash is the FNV-1a hash of a name.
func nameHash(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum64()
}

// dropoutKey is the key of the generator for what the run's two numbers and
// the hash of a name select; stream tells apart masks of one name.
func dropoutKey(rng []int32, hash, stream uint64) [2]uint64 {
	seed := uint64(uint32(rng[0])) | uint64(uint32(rng[1]))<<32
	return [2]uint64{mix(mix(seed) ^ hash), stream}
}

// mix is the finalizer of SplitMix64 (Steele, Lea and Flood 2014): a bijection
// in which every input bit moves about half of the output's.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
