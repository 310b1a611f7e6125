package train

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"ablate/graph"
)

// WeightsSHA256 is the SHA-256, in hexadecimal, of all parameters in order,
// everything little-endian: for each the length of its name as uint32, the
// name, its rank as uint32, its sizes as uint64, and its values.
func WeightsSHA256[T graph.Float](p *graph.Params[T]) string {
	h := sha256.New()
	var b []byte
	buf := make([]byte, 0, chunkBytes)
	for _, s := range p.Specs() {
		b = binary.LittleEndian.AppendUint32(b[:0], uint32(len(s.Name)))
		b = append(b, s.Name...)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(s.Shape)))
		for _, d := range s.Shape {
			b = binary.LittleEndian.AppendUint64(b, uint64(d))
		}
		h.Write(b) // a hash takes everything
		_ = writeFloats(h, p.Value(s.Name), buf)
	}
	return hex.EncodeToString(h.Sum(nil))
}
