package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// panelBytes is the distance between two rows of a panel: 32 columns of 4 bytes.
const panelBytes = 128

// packRows emits the copy of k strided rows of 32 columns into a panel.
func (s *isa) packRows() {
	c := s.c
	name := "packRows" + s.name
	function(c, name, "func(dst, src *float32, ld, k int)",
		name+" copies k rows of 32 columns, ld bytes apart, into a panel.")
	c.Pragma("noescape")
	c.Load(c.Param("dst"), reg.RDI)
	c.Load(c.Param("src"), reg.RSI)
	c.Load(c.Param("ld"), reg.RDX)
	c.Load(c.Param("k"), reg.RCX)
	c.Label("loop")
	n := panelBytes / s.bytes
	for i := 0; i < n; i++ {
		c.VMOVUPS(at(reg.RSI, i*s.bytes), s.regs[i])
	}
	for i := 0; i < n; i++ {
		c.VMOVUPS(s.regs[i], at(reg.RDI, i*s.bytes))
	}
	c.ADDQ(reg.RDX, reg.RSI)
	c.SUBQ(operand.I8(-128), reg.RDI)
	c.DECQ(reg.RCX)
	c.JNZ(operand.LabelRef("loop"))
	c.VZEROUPPER()
	c.RET()
}

// packPieces emits the copy of what a tile reads of Aᵀ: of every row of memory a piece, as long as the tile is high.
// Vectors are stored whole, each over the end of the one before.
func (s *isa) packPieces() {
	c := s.c
	name := "packPieces" + s.name
	function(c, name, "func(dst, src *float32, ld, k, rows int)",
		name+fmt.Sprintf(" copies k > 0 pieces of 1 to %d elements, ld bytes apart, to places %[1]d elements apart.", s.rows),
		fmt.Sprintf("It overwrites %d elements behind the last place.", s.bytes/4-s.rows))
	c.Pragma("noescape")
	load(c, "dst", reg.RDI)
	load(c, "src", reg.RSI)
	load(c, "ld", reg.RDX)
	load(c, "k", reg.RCX)
	load(c, "rows", reg.RBX)
	c.NEGQ(reg.RBX)
	c.LEAQ(s.window.Offset(128), reg.RAX)
	mask := s.regs[1]
	c.VMOVUPS(operand.Mem{Base: reg.RAX, Index: reg.RBX, Scale: 4}, mask)
	c.Label("loop")
	c.VMASKMOVPS(at(reg.RSI, 0), mask, s.regs[0])
	c.VMOVUPS(s.regs[0], at(reg.RDI, 0))
	c.ADDQ(reg.RDX, reg.RSI)
	c.ADDQ(operand.Imm(uint64(4*s.rows)), reg.RDI)
	c.DECQ(reg.RCX)
	c.JNZ(operand.LabelRef("loop"))
	c.VZEROUPPER()
	c.RET()
}

// packCols emits the transposition of one vector's length of rows into a panel's columns. AVX-512 fills whole cache
// lines, and has a second form whose stores pass the caches by.
func (s *isa) packCols() {
	emit := func(name, how string, store func(x, m operand.Op), end func()) {
		function(s.c, name, "func(dst, src *float32, ld, blocks int)",
			name+" transposes a strip of as many rows as a vector has lanes, ld bytes apart and blocks",
			"vectors long, into as many columns of a panel"+how)
		s.strip(panelBytes, nil, store, end)
	}
	emit("packCols"+s.name, ".", s.storeVector, func() {})
	if s.wide() {
		emit("packColsPast"+s.name, " at a cache line, past the caches.", s.c.VMOVNTPS, s.c.SFENCE)
	}
}

func (s *isa) storeVector(x, m operand.Op) { s.c.VMOVUPS(x, m) }

// packTile emits the same for a panel of attention's tiles, every element multiplied by scale.
func (s *isa) packTile() {
	name := "packTile" + s.name
	function(s.c, name, "func(dst, src *float32, ld, blocks int, scale float32)",
		name+" transposes a strip as packCols"+s.name+" does, times scale, into as many columns of a tile.")
	s.strip(panelStride, func(r []reg.VecPhysical) {
		factor := s.regs[len(r)] // free, once all is transposed
		scale, err := s.c.Param("scale").Resolve()
		if err != nil {
			panic(err)
		}
		s.c.VBROADCASTSS(scale.Addr, factor)
		for _, x := range r {
			s.c.VMULPS(factor, x, x)
		}
	}, s.storeVector, func() {})
}

// strip emits the body of a function that transposes a strip into rows that are stride bytes apart. What
// is to happen to a block of them, or nil, comes before they are stored; end comes after all.
func (s *isa) strip(stride int, then func([]reg.VecPhysical), store func(x, m operand.Op), end func()) {
	c, n := s.c, s.bytes/4
	c.Pragma("noescape")
	c.Load(c.Param("dst"), reg.RDI)
	c.Load(c.Param("src"), reg.RSI)
	c.Load(c.Param("ld"), rMul[0])
	c.Load(c.Param("blocks"), reg.RCX)
	for i := 1; i < 4; i++ { // 3, 5 and 7 times ld
		c.LEAQ(operand.Mem{Base: rMul[i-1], Index: rMul[0], Scale: 2}, rMul[i])
	}
	c.Label("loop")
	c.LEAQ(operand.Mem{Base: reg.RSI, Index: rMul[0], Scale: 8}, reg.RBX)
	for i := 0; i < n; i++ {
		m := operand.Mem{Base: []reg.Register{reg.RSI, reg.RBX}[i/8]}
		if odd, scale := i%8, 1; odd > 0 {
			for odd%2 == 0 {
				odd, scale = odd/2, scale*2
			}
			m.Index, m.Scale = rMul[odd/2], uint8(scale)
		}
		c.VMOVUPS(m, s.regs[i])
	}
	if s.wide() {
		s.transpose16()
	} else {
		s.transpose8()
	}
	if then != nil {
		then(s.regs[:n])
	}
	for i := 0; i < n; i++ {
		store(s.regs[i], at(reg.RDI, stride*i))
	}
	c.ADDQ(operand.I32(stride*n), reg.RDI)
	c.ADDQ(operand.Imm(uint64(s.bytes)), reg.RSI)
	c.DECQ(reg.RCX)
	c.JNZ(operand.LabelRef("loop"))
	end()
	c.VZEROUPPER()
	c.RET()
}

// transpose16 transposes the 16×16 elements in vectors 0 to 15 in place; it uses 16 to 31.
func (s *isa) transpose16() {
	c, in, out := s.c, s.regs[:16], s.regs[16:]
	s.transposeFours(in, out)
	// Vector 4g+j of in: its 128-bit lane l holds column 4l+j of rows 4g to 4g+3.
	for j := 0; j < 4; j++ {
		c.VSHUFF32X4(operand.Imm(0x88), in[4+j], in[j], out[j])      // lanes 0 and 2 of groups 0, 1
		c.VSHUFF32X4(operand.Imm(0xdd), in[4+j], in[j], out[4+j])    // lanes 1 and 3
		c.VSHUFF32X4(operand.Imm(0x88), in[12+j], in[8+j], out[8+j]) // the same of groups 2, 3
		c.VSHUFF32X4(operand.Imm(0xdd), in[12+j], in[8+j], out[12+j])
	}
	for j := 0; j < 4; j++ {
		c.VSHUFF32X4(operand.Imm(0x88), out[8+j], out[j], in[j])
		c.VSHUFF32X4(operand.Imm(0xdd), out[8+j], out[j], in[8+j])
		c.VSHUFF32X4(operand.Imm(0x88), out[12+j], out[4+j], in[4+j])
		c.VSHUFF32X4(operand.Imm(0xdd), out[12+j], out[4+j], in[12+j])
	}
}

// transpose8 transposes the 8×8 elements in vectors 0 to 7 in place; it uses 8 to 15.
func (s *isa) transpose8() {
	c, in, out := s.c, s.regs[:8], s.regs[8:]
	s.transposeFours(in, out)
	for j := 0; j < 4; j++ {
		c.VMOVAPS(in[j], out[j])
		c.VPERM2F128(operand.Imm(0x20), in[4+j], out[j], in[j])   // low lanes of groups 0, 1
		c.VPERM2F128(operand.Imm(0x31), in[4+j], out[j], in[4+j]) // high lanes
	}
}

// transposeFours transposes 4×4 elements in each 128-bit lane of each group of four vectors.
func (s *isa) transposeFours(in, out []reg.VecPhysical) {
	c := s.c
	for i := 0; i < len(in); i += 2 {
		c.VUNPCKLPS(in[i+1], in[i], out[i])
		c.VUNPCKHPS(in[i+1], in[i], out[i+1])
	}
	for i := 0; i < len(in); i += 4 {
		c.VUNPCKLPD(out[i+2], out[i], in[i])
		c.VUNPCKHPD(out[i+2], out[i], in[i+1])
		c.VUNPCKLPD(out[i+3], out[i+1], in[i+2])
		c.VUNPCKHPD(out[i+3], out[i+1], in[i+3])
	}
}
