package data

import (
	"encoding/binary"
	"fmt"
)

// Tokens is a read-only sequence of token ids, stored as it lies in a file: one byte a token, or two in little-endian order. So a
// corpus takes no more memory than its file, and is the same on every kind of processor. The zero value is empty.
type Tokens struct {
	raw   []byte // its capacity ends with its length: nothing past the end is reachable
	shift uint8  // a token takes 1<<shift bytes
}

// ByteTokens takes each byte for a token. The memory is shared, and must not be written any more.
func ByteTokens(raw []byte) Tokens { return Tokens{raw: raw[:len(raw):len(raw)]} }

// Uint16Tokens takes each two bytes for a token in little-endian order. The memory is shared, and must not be written any more.
// An odd length panics.
func Uint16Tokens(raw []byte) Tokens {
	if len(raw)%2 != 0 {
		panic(fmt.Sprintf("data: %d bytes are not a whole number of uint16 tokens", len(raw)))
	}
	return Tokens{raw: raw[:len(raw):len(raw)], shift: 1}
}

// Len returns the number of tokens.
func (t Tokens) Len() int { return len(t.raw) >> t.shift }

// At returns token i; outside [0, Len) it panics.
func (t Tokens) At(i int) int32 {
	if t.shift == 0 {
		return int32(t.raw[i])
	}
	return int32(binary.LittleEndian.Uint16(t.raw[2*i : 2*i+2]))
}

// Slice returns tokens [from, to), in the same memory; a range outside [0, Len) panics.
func (t Tokens) Slice(from, to int) Tokens {
	return Tokens{raw: t.raw[from<<t.shift : to<<t.shift : to<<t.shift], shift: t.shift}
}

// Copy writes the tokens [offset, offset+len(dst)) into dst; a range outside [0, Len) panics. It allocates nothing.
func (t Tokens) Copy(dst []int32, offset int) {
	raw := t.raw[offset<<t.shift : (offset+len(dst))<<t.shift]
	if t.shift == 0 {
		for i, b := range raw {
			dst[i] = int32(b)
		}
		return
	}
	for i := range dst {
		dst[i] = int32(binary.LittleEndian.Uint16(raw[2*i:]))
	}
}

// rowsOf returns B, the number of rows of T tokens in a batch, and panics where the two slices are no (B,T).
func rowsOf(tokens, targets []int32, context int) int {
	if len(tokens) != len(targets) || len(tokens)%context != 0 {
		panic(fmt.Sprintf("data: a batch of rows of %d tokens cannot have %d tokens and %d targets", context, len(tokens), len(targets)))
	}
	return len(tokens) / context
}
