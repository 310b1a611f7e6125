package metrics

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
)

// maxLine bounds a line, and so the memory of a reader, whatever the file
// holds. Rows are a few hundred bytes.
const maxLine = 64 << 10

// ReadSteps streams the rows of a metrics.jsonl. A last line that was cut off
// by the death of its writer is passed over; any other fault ends the sequence
// with an error that names the line.
func ReadSteps(r io.Reader) iter.Seq2[Step, error] { return rows(r, nil, decode[Step]) }

// ReadTiming streams the rows of a timing.jsonl, as ReadSteps does.
func ReadTiming(r io.Reader) iter.Seq2[Timing, error] { return rows(r, nil, decode[Timing]) }

// ReadLayers streams the rows of a layers.jsonl, as ReadSteps does. With
// quantities given, only their rows; the others are not even decoded, which is
// most of the cost of such a file.
func ReadLayers(r io.Reader, quantities ...string) iter.Seq2[Layer, error] {
	if len(quantities) == 0 {
		return rows(r, nil, layerDecoder())
	}
	quoted := make([][]byte, len(quantities))
	for i, q := range quantities {
		quoted[i] = appendString(nil, q)
	}
	mention := func(line []byte) bool {
		for _, q := range quoted {
			if bytes.Contains(line, q) {
				return true
			}
		}
		return false
	}
	return func(yield func(Layer, error) bool) {
		for l, err := range rows(r, mention, layerDecoder()) {
			// A mention may stand in another field.
			if err == nil && !slices.Contains(quantities, l.Quantity) {
				continue
			}
			if !yield(l, err) {
				return
			}
		}
	}
}

func decode[T any](line []byte, row *T) error { return json.Unmarshal(line, row) }

// layerDecoder decodes one line after another.
func layerDecoder() func([]byte, *Layer) error {
	s := new(scanner)
	return func(line []byte, l *Layer) error {
		if s.layer(line, l) {
			return nil
		}
		return json.Unmarshal(line, l)
	}
}

// rows decodes the lines of r that keep accepts (nil: all).
func rows[T any](r io.Reader, keep func([]byte) bool, decode func([]byte, *T) error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		br := bufio.NewReaderSize(r, maxLine)
		for n := 1; ; n++ {
			var row T
			line, end := br.ReadSlice('\n')
			if end != nil && end != io.EOF {
				if errors.Is(end, bufio.ErrBufferFull) {
					end = fmt.Errorf("metrics: line %d is longer than %d bytes", n, maxLine)
				}
				yield(row, end)
				return
			}
			line = bytes.TrimSpace(line)
			if len(line) > 0 && (keep == nil || keep(line)) {
				err := decode(line, &row)
				if err != nil && end == io.EOF {
					return // torn
				}
				if err != nil {
					yield(row, fmt.Errorf("metrics: line %d: %w", n, err))
					return
				}
				if !yield(row, nil) {
					return
				}
			}
			if end == io.EOF {
				return
			}
		}
	}
}
