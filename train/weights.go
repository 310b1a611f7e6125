package train

import (
	"bufio"
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
	w := bufio.NewWriterSize(h, bufferBytes) // a hash takes everything, so nothing here fails
	var b []byte
	for _, s := range p.Specs() {
		b = binary.LittleEndian.AppendUint32(b[:0], uint32(len(s.Name)))
		b = append(b, s.Name...)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(s.Shape)))
		for _, d := range s.Shape {
			b = binary.LittleEndian.AppendUint64(b, uint64(d))
		}
		_, _ = w.Write(b)
		_ = writeFloats(w, p.Value(s.Name))
	}
	_ = w.Flush()
	return hex.EncodeToString(h.Sum(nil))
}
