package train

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ablate/graph"
)

// checkpointFile is the name of the file in the directory of a checkpoint.
const checkpointFile = "state.ckpt"

// Load reads a checkpoint, a directory step-N or the file in it, and verifies
// every byte. An error is a *CorruptError. Memory is bounded by the size of
// the file.
func Load(path string) (*Checkpoint, error) { return load(path, true) }

// Peek is Load of the header alone: the result says what the checkpoint is of,
// and cannot be continued.
func Peek(path string) (*Checkpoint, error) { return load(path, false) }

func load(path string, whole bool) (*Checkpoint, error) {
	file := path
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		file = filepath.Join(path, checkpointFile)
		info, err = os.Stat(file)
	}
	switch {
	case err != nil:
		return nil, &CorruptError{path, "cannot be opened", err}
	case !info.Mode().IsRegular():
		return nil, &CorruptError{path, "cannot be used", errors.New("it is no regular file")}
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, &CorruptError{path, "cannot be opened", err}
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, &CorruptError{path, "cannot be opened", err}
	}
	c, at, err := parseHeader(f, info.Size())
	if err == nil && whole {
		err = c.readSections(f, at)
	}
	if err != nil {
		return nil, &CorruptError{path, "cannot be used", err}
	}
	c.Path = path
	return c, nil
}

// parseCheckpoint reads and verifies a checkpoint of the given size.
func parseCheckpoint(r io.ReaderAt, size int64) (*Checkpoint, error) {
	c, at, err := parseHeader(r, size)
	if err != nil {
		return nil, err
	}
	return c, c.readSections(r, at)
}

// parseHeader reads and verifies what comes before the sections of a
// checkpoint of the given size, and says where they start.
func parseHeader(r io.ReaderAt, size int64) (c *Checkpoint, sections int64, err error) {
	var prefix [prefixLen]byte
	if size < prefixLen {
		return nil, 0, fmt.Errorf("%d bytes are too few for a checkpoint", size)
	}
	if _, err := r.ReadAt(prefix[:], 0); err != nil {
		return nil, 0, err
	}
	if string(prefix[:8]) != checkpointMagic {
		return nil, 0, errors.New("it is no checkpoint: the first bytes are others")
	}
	if v := binary.LittleEndian.Uint32(prefix[8:]); v != checkpointVersion {
		return nil, 0, fmt.Errorf("it has version %d; this build reads %d", v, checkpointVersion)
	}
	length := int64(binary.LittleEndian.Uint32(prefix[12:]))
	if length > size-prefixLen {
		return nil, 0, fmt.Errorf("it is cut off in its header: %d bytes, the header alone has %d", size, length)
	}
	header := make([]byte, length)
	if _, err := r.ReadAt(header, prefixLen); err != nil {
		return nil, 0, err
	}
	if sum := sha256.Sum256(header); !bytes.Equal(sum[:], prefix[16:]) {
		return nil, 0, errors.New("the checksum of its header does not agree")
	}
	c = new(Checkpoint)
	if err := json.Unmarshal(header, c); err != nil {
		return nil, 0, fmt.Errorf("its header: %w", err)
	}
	if err := c.validate(size - prefixLen - length); err != nil {
		return nil, 0, err
	}
	return c, prefixLen + length, nil
}

// validate checks the header against itself and against the number of bytes
// that follow it, before anything of that size is allocated.
func (c *Checkpoint) validate(rest int64) error {
	size := map[string]int64{"float32": 4, "float64": 8}[c.Dtype]
	if size == 0 {
		return fmt.Errorf("its element type %q is unknown", c.Dtype)
	}
	if c.Step < 0 || c.Tokens < 0 || c.Skipped < 0 || c.Skipped > c.Step {
		return fmt.Errorf("it stands at step %d with %d tokens, of which %d steps were left out", c.Step, c.Tokens, c.Skipped)
	}
	elements := int64(0)
	seen := map[string]bool{}
	for _, p := range c.Params {
		n := int64(1)
		for _, d := range p.Shape {
			if d < 1 || int64(d) > rest/n { // n·d ≤ rest, without overflow
				return fmt.Errorf("parameter %.80q has the impossible shape %v", p.Name, p.Shape)
			}
			n *= int64(d)
		}
		if elements += n; elements > rest || seen[p.Name] {
			return fmt.Errorf("parameter %.80q is there twice or too large", p.Name)
		}
		seen[p.Name] = true
	}
	want := elements * size // elements ≤ rest, so there is no overflow below 2^60 bytes
	if rest > 1<<60 || len(c.Sections) == 0 || c.Sections[0].Name != weightsSection {
		return errors.New("its first section is not that of the weights")
	}
	total := int64(0)
	for _, s := range c.Sections {
		if s.Bytes != want {
			return fmt.Errorf("its section %.80q has %d bytes, its parameters need %d", s.Name, s.Bytes, want)
		}
		if total += s.Bytes; total > rest {
			break
		}
	}
	if total != rest {
		return fmt.Errorf("its sections should have %d bytes each, %d of them; there are %d bytes in all", want, len(c.Sections), rest)
	}
	return nil
}

func (c *Checkpoint) readSections(r io.ReaderAt, at int64) error {
	for _, s := range c.Sections {
		b := make([]byte, s.Bytes)
		if _, err := r.ReadAt(b, at); err != nil && !(errors.Is(err, io.EOF) && len(b) == 0) {
			return fmt.Errorf("section %.80q: %w", s.Name, err)
		}
		sum := sha256.Sum256(b)
		if !strings.EqualFold(hex.EncodeToString(sum[:]), s.SHA256) {
			return fmt.Errorf("the checksum of section %.80q does not agree", s.Name)
		}
		c.vectors = append(c.vectors, b)
		at += s.Bytes
	}
	return nil
}

// Restore copies the weights of a checkpoint into p. A *MismatchError says
// where names, shapes or the type of the elements differ; p is unchanged then.
func Restore[T graph.Float](c *Checkpoint, p *graph.Params[T]) error {
	if err := c.fits(graph.DtypeOf[T]().String(), paramShapes(p.Specs())); err != nil {
		return err
	}
	restoreVector(c.vectors[0], p, p.Values())
	return nil
}

func restoreVector[T graph.Float](b []byte, p *graph.Params[T], dst []T) {
	size := int(graph.DtypeOf[T]().Size())
	for _, s := range p.Specs() {
		from, to := p.Span(s.Name)
		n := (to - from) * size
		readFloats(dst[from:to], b[:n])
		b = b[n:]
	}
}

// maxDifferences bounds a message about two models that have nothing in common.
const maxDifferences = 8

// fits compares names, shapes and type.
func (c *Checkpoint) fits(dtype string, params []ParamShape) error {
	var diff []string
	add := func(format string, args ...any) { diff = append(diff, fmt.Sprintf(format, args...)) }
	if c.Dtype != dtype {
		add("elements are %s in the checkpoint, %s here", c.Dtype, dtype)
	}
	there := map[string][]int{}
	for _, p := range c.Params {
		there[p.Name] = p.Shape
	}
	for _, p := range params {
		shape, ok := there[p.Name]
		delete(there, p.Name)
		switch {
		case !ok:
			add("%s %v is not in the checkpoint", p.Name, p.Shape)
		case fmt.Sprint(shape) != fmt.Sprint(p.Shape):
			add("%s is %v in the checkpoint, %v here", p.Name, shape, p.Shape)
		}
	}
	for _, p := range c.Params {
		if _, left := there[p.Name]; left {
			add("%s %v is only in the checkpoint", p.Name, p.Shape)
		}
	}
	if len(diff) == 0 {
		for i, p := range params {
			if c.Params[i].Name != p.Name {
				add("the order of the parameters, from %s on", p.Name)
				break
			}
		}
	}
	return c.mismatch(diff)
}

func (c *Checkpoint) mismatch(diff []string) error {
	if len(diff) == 0 {
		return nil
	}
	if n := len(diff); n > maxDifferences {
		diff = append(diff[:maxDifferences:maxDifferences], fmt.Sprintf("and %d more", n-maxDifferences))
	}
	return &MismatchError{c.Path, diff}
}

// Belongs says with a *MismatchError in which keys the run that saved the
// checkpoint differs from another one; nil if in none.
func (c *Checkpoint) Belongs(identity map[string]string) error {
	var diff []string
	for _, key := range c.Differing(identity) {
		diff = append(diff, fmt.Sprintf("%s: %s in the checkpoint, %s here", key, valueOr(c.Identity, key), valueOr(identity, key)))
	}
	return c.mismatch(diff)
}

// Differing lists the keys of Belongs, sorted.
func (c *Checkpoint) Differing(identity map[string]string) (keys []string) {
	for _, key := range slices.Sorted(maps.Keys(merged(c.Identity, identity))) {
		if valueOr(c.Identity, key) != valueOr(identity, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

func merged(a, b map[string]string) map[string]string {
	m := maps.Clone(a)
	if m == nil {
		m = map[string]string{}
	}
	maps.Copy(m, b)
	return m
}

func valueOr(m map[string]string, key string) string {
	if v, ok := m[key]; ok {
		return v
	}
	return "nothing"
}
