package train

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"

	"ablate/graph"
	"ablate/train/metrics"
)

// A checkpoint is one file, all numbers little-endian:
//
//	 0  magic    8 bytes
//	 8  version  uint32
//	12  length  uint32, of the header
//	16  SHA-256 of the header
//	48  header, JSON: Checkpoint and the list of sections
//	    the sections, one after the other, nothing between them or after them
//
// A section is one flat vector, float32 or float64, all parameters one after
// the other; the header holds its SHA-256. So every byte is covered, and the
// length of the file follows from the header.
const (
	checkpointMagic   = "ablateCP"
	checkpointVersion = 1
	prefixLen         = 48
)

// Checkpoint is the state of a run between two steps. What is not here is a
// pure function of the configuration and the step.
type Checkpoint struct {
	Path string `json:"-"` // it was read from

	Step     int64         `json:"step"`              // updates made
	Tokens   int64         `json:"tokens"`            // target tokens trained on
	Skipped  int64         `json:"skipped,omitempty"` // updates left out
	Loss     metrics.Value `json:"loss"`              // of the last step
	GradNorm metrics.Value `json:"grad_norm"`         // of the last step

	// Identity is what a run must have in common with this one to continue it,
	// as keys and printed values: "model.layers": "4".
	Identity map[string]string `json:"identity"`
	// Records are the lengths of the files of records; null where there were none.
	Records *metrics.Offsets `json:"records"`

	Kernels   string       `json:"kernels"` // that made the last step; "" in checkpoints of earlier builds
	Dtype     string       `json:"dtype"`
	Optimizer string       `json:"optimizer"`
	Params    []ParamShape `json:"params"`
	Sections  []Section    `json:"sections"`

	vectors [][]byte // by section
}

// ParamShape is a parameter of a checkpoint.
type ParamShape struct {
	Name  string `json:"name"`
	Shape []int  `json:"shape"`
}

// Section is a flat vector of a checkpoint: "weights", or a vector of the
// optimizer.
type Section struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// weightsSection names the section of the weights.
const weightsSection = "weights"

func paramShapes(specs []*graph.ParamSpec) []ParamShape {
	out := make([]ParamShape, len(specs))
	for i, s := range specs {
		out[i] = ParamShape{s.Name, s.Shape.Clone()}
	}
	return out
}

// vector is a flat vector on its way to a file.
type vector struct {
	name  string
	bytes int64
	write func(w *bufio.Writer) error
}

// vectorOf writes the elements of v that belong to parameters.
func vectorOf[T graph.Float](name string, p *graph.Params[T], v []T) vector {
	n := 0
	for _, s := range p.Specs() {
		n += s.Size()
	}
	size := graph.DtypeOf[T]().Size()
	return vector{name, int64(n) * int64(size), func(w *bufio.Writer) error {
		for _, s := range p.Specs() {
			from, to := p.Span(s.Name)
			if err := writeFloats(w, v[from:to]); err != nil {
				return err
			}
		}
		return nil
	}}
}

// bufferBytes is how much is turned into bytes at a time.
const bufferBytes = 1 << 16

// writeFloats writes x in little-endian order, straight into w's buffer.
func writeFloats[T graph.Float](w *bufio.Writer, x []T) error {
	size := int(graph.DtypeOf[T]().Size())
	for len(x) > 0 {
		if w.Available() < size {
			if err := w.Flush(); err != nil {
				return err
			}
		}
		n := min(len(x), w.Available()/size)
		b := w.AvailableBuffer()
		switch x := any(x[:n]).(type) {
		case []float32:
			for _, v := range x {
				b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
			}
		case []float64:
			for _, v := range x {
				b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
			}
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
		x = x[n:]
	}
	return nil
}

// readFloats is the inverse; b must hold exactly the bytes of x.
func readFloats[T graph.Float](x []T, b []byte) {
	switch x := any(x).(type) {
	case []float32:
		for i := range x {
			x[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		}
	case []float64:
		for i := range x {
			x[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
		}
	}
}

// head completes the header with the sums of the sections and gives the bytes
// that come before them, and the size of the whole. It borrows w.
func (c *Checkpoint) head(vectors []vector, w *bufio.Writer) (head []byte, size int64, err error) {
	c.Sections = nil
	for _, v := range vectors {
		h := sha256.New()
		w.Reset(h)
		if err := cmp.Or(v.write(w), w.Flush()); err != nil {
			return nil, 0, err
		}
		c.Sections = append(c.Sections, Section{v.name, v.bytes, hex.EncodeToString(h.Sum(nil))})
		size += v.bytes
	}
	header, err := json.Marshal(c)
	if err != nil {
		return nil, 0, err
	}
	if len(header) > math.MaxUint32 {
		return nil, 0, fmt.Errorf("a header of %d bytes", len(header))
	}
	head = seal(header)
	return head, size + int64(len(head)), nil
}

// seal puts the fixed part before a header.
func seal(header []byte) []byte {
	b := append(make([]byte, 0, prefixLen+len(header)), checkpointMagic...)
	b = binary.LittleEndian.AppendUint32(b, checkpointVersion)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(header)))
	sum := sha256.Sum256(header)
	return append(append(b, sum[:]...), header...)
}
