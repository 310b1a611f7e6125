package main

import (
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// vec writes code that is the same for vectors of both widths. Its instructions work on groups of
// registers: several independent vectors whose instructions are interleaved, to hide latency.
type vec struct {
	*isa
	group  int                        // vectors in a group
	held   map[uint32]reg.VecPhysical // constants (by their bits) that the current function keeps in registers
	values map[uint32]operand.Mem     // constants in memory, 4 bytes each
	labels int
}

// group is one operand of an instruction for every vector of a group.
type group []operand.Op

// temporaries is the number of registers that groups are made of; constants and the mask use the rest.
func (v *vec) temporaries() int {
	if v.wide() {
		return 20
	}
	return 10
}

// spare is the register for a constant that is not held, laneMask that of the AVX2 mask.
func (v *vec) spare() reg.VecPhysical    { return v.regs[len(v.regs)-2] }
func (v *vec) laneMask() reg.VecPhysical { return v.regs[len(v.regs)-1] }

// lanes is the number of elements of a vector.
func (v *vec) lanes() int { return v.bytes / 4 }

// at returns the i-th group of registers.
func (v *vec) at(i int) group { return v.from(i * v.group) }

// from returns the group of registers that begins with number i.
func (v *vec) from(i int) group {
	g := make(group, v.group)
	for u := range g {
		g[u] = v.regs[i+u]
	}
	return g
}

// same is a group of one operand.
func (v *vec) same(op operand.Op) group {
	g := make(group, v.group)
	for u := range g {
		g[u] = op
	}
	return g
}

// memory is a group of consecutive vectors at p.
func (v *vec) memory(p reg.Register, disp int) group {
	g := make(group, v.group)
	for u := range g {
		g[u] = at(p, disp+u*v.bytes)
	}
	return g
}

// begin starts a function.
func (v *vec) begin(name, signature, doc string) {
	function(v.c, name+v.name, signature, name+v.name+" "+doc)
	v.c.Pragma("noescape")
	v.held, v.labels = nil, 0
}

// hold loads constants to the registers behind the temporaries and reserved ones, as far as they go.
func (v *vec) hold(reserved int, values ...float32) {
	v.held = map[uint32]reg.VecPhysical{}
	next := v.temporaries() + reserved
	for _, f := range values {
		if v.regs[next] == v.spare() {
			return
		}
		v.c.VBROADCASTSS(v.value(f), v.regs[next])
		v.held[math.Float32bits(f)] = v.regs[next]
		next++
	}
}

// value is the constant f in memory.
func (v *vec) value(f float32) operand.Mem {
	b := math.Float32bits(f)
	m, ok := v.values[b]
	if !ok {
		m = v.c.StaticGlobal(fmt.Sprintf("f%08x", b))
		v.c.DataAttributes(attr.RODATA | attr.NOPTR)
		v.c.AddDatum(0, operand.U32(b))
		v.values[b] = m
	}
	return m
}

// bits is the constant with these bits.
func bits(b uint32) float32 { return math.Float32frombits(b) }

// k is the constant f as an operand. It may be the spare register: use it before the next k.
func (v *vec) k(f float32) group {
	if r, ok := v.held[math.Float32bits(f)]; ok {
		return v.same(r)
	}
	v.c.VBROADCASTSS(v.value(f), v.spare())
	return v.same(v.spare())
}

// scalar broadcasts a float32 parameter.
func (v *vec) scalar(name string, r reg.VecPhysical) {
	b, err := v.c.Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	v.c.VBROADCASTSS(b.Addr, r)
}

// label returns a fresh label.
func (v *vec) label(name string) string {
	v.labels++
	return fmt.Sprintf("%s%d", name, v.labels)
}

// two and three apply an instruction to every vector of a group.
func two(f func(a, b operand.Op), a, b group) {
	for u := range b {
		f(a[u], b[u])
	}
}

func three(f func(a, b, c operand.Op), a, b, c group) {
	for u := range c {
		f(a[u], b[u], c[u])
	}
}

// The arithmetic of groups, operands in the order of the formula: d = a - b is sub(a, b, d).
func (v *vec) mov(a, d group)    { two(func(a, d operand.Op) { v.c.VMOVUPS(a, d) }, a, d) }
func (v *vec) add(a, b, d group) { three(func(a, b, d operand.Op) { v.c.VADDPS(b, a, d) }, a, b, d) }
func (v *vec) sub(a, b, d group) { three(func(a, b, d operand.Op) { v.c.VSUBPS(b, a, d) }, a, b, d) }
func (v *vec) mul(a, b, d group) { three(func(a, b, d operand.Op) { v.c.VMULPS(b, a, d) }, a, b, d) }
func (v *vec) div(a, b, d group) { three(func(a, b, d operand.Op) { v.c.VDIVPS(b, a, d) }, a, b, d) }
func (v *vec) max(a, b, d group) { three(func(a, b, d operand.Op) { v.c.VMAXPS(b, a, d) }, a, b, d) }
func (v *vec) min(a, b, d group) { three(func(a, b, d operand.Op) { v.c.VMINPS(b, a, d) }, a, b, d) }
func (v *vec) and(a, b, d group) { three(func(a, b, d operand.Op) { v.c.VANDPS(b, a, d) }, a, b, d) }
func (v *vec) xor(a, b, d group) { three(func(a, b, d operand.Op) { v.c.VXORPS(b, a, d) }, a, b, d) }
func (v *vec) sqrt(a, d group)   { two(func(a, d operand.Op) { v.c.VSQRTPS(a, d) }, a, d) }

// addMul is d += a·b, subMul d -= a·b, mulAdd d = d·a + b, mulSub d = d·a - b.
func (v *vec) addMul(a, b, d group) {
	three(func(a, b, d operand.Op) { v.c.VFMADD231PS(b, a, d) }, a, b, d)
}
func (v *vec) subMul(a, b, d group) {
	three(func(a, b, d operand.Op) { v.c.VFNMADD231PS(b, a, d) }, a, b, d)
}
func (v *vec) mulAdd(a, b, d group) {
	three(func(a, b, d operand.Op) { v.c.VFMADD213PS(b, a, d) }, a, b, d)
}
func (v *vec) mulSub(a, b, d group) {
	three(func(a, b, d operand.Op) { v.c.VFMSUB213PS(b, a, d) }, a, b, d)
}

// round rounds to the nearest integer.
func (v *vec) round(a, d group) {
	two(func(a, d operand.Op) {
		if v.wide() {
			v.c.VRNDSCALEPS(operand.Imm(8), a, d)
		} else {
			v.c.VROUNDPS(operand.Imm(8), a, d)
		}
	}, a, d)
}

// Predicates of comparisons, quiet.
const (
	greater  = 0x1e // false for NaN
	notEqual = 0x04 // true for NaN
)

// where clears the lanes of d unless a compares so with zero. t is overwritten.
func (v *vec) where(predicate uint64, a, t, d group) {
	for u := range d {
		v.zero(t[u].(reg.VecPhysical))
		if v.wide() {
			v.c.VCMPPS(operand.Imm(predicate), t[u], a[u], reg.K2)
			v.c.VMOVAPS_Z(d[u], reg.K2, d[u])
		} else {
			v.c.VCMPPS(operand.Imm(predicate), t[u], a[u], t[u])
			v.c.VANDPS(t[u], d[u], d[u])
		}
	}
}

// maxMasked is m = max(m, a), with masked in the lanes of the mask alone. With AVX2 it overwrites a
// then. A NaN in a is passed over.
func (v *vec) maxMasked(masked bool, a, m group) {
	for u := range m {
		switch {
		case !masked:
			v.c.VMAXPS(m[u], a[u], m[u])
		case v.wide():
			v.c.VMAXPS(m[u], a[u], reg.K1, m[u])
		default:
			v.c.VBLENDVPS(v.laneMask(), a[u], m[u], a[u])
			v.c.VMAXPS(m[u], a[u], m[u])
		}
	}
}

// maskFor prepares the mask for the first n lanes, n in a register from 0 to 32. It overwrites RCX and tmp.
func (v *vec) maskFor(n, tmp reg.GPPhysical) {
	if v.wide() {
		if n != reg.RCX {
			v.c.MOVQ(n, reg.RCX)
		}
		v.c.MOVQ(operand.I32(-1), tmp)
		v.c.SHLQ(reg.CL, tmp)
		v.c.NOTQ(tmp)
		v.c.KMOVW(tmp.As32(), reg.K1)
		return
	}
	v.c.MOVQ(n, reg.RCX)
	v.c.NEGQ(reg.RCX)
	v.c.LEAQ(v.window.Offset(128), tmp)
	v.c.VMOVUPS(operand.Mem{Base: tmp, Index: reg.RCX, Scale: 4}, v.laneMask())
}

// load reads a group of vectors from memory; with masked, only the lanes of the mask, the others
// becoming zero.
func (v *vec) load(masked bool, from, to group) {
	two(func(m, d operand.Op) {
		switch {
		case !masked:
			v.c.VMOVUPS(m, d)
		case v.wide():
			v.c.VMOVUPS_Z(m, reg.K1, d)
		default:
			v.c.VMASKMOVPS(m, v.laneMask(), d)
		}
	}, from, to)
}

// store writes a group of vectors to memory; with masked, only the lanes of the mask.
func (v *vec) store(masked bool, from, to group) {
	two(func(a, m operand.Op) {
		switch {
		case !masked:
			v.c.VMOVUPS(a, m)
		case v.wide():
			v.c.VMOVUPS(a, reg.K1, m)
		default:
			v.c.VMASKMOVPS(a, v.laneMask(), m)
		}
	}, from, to)
}

// keep clears the lanes outside the mask.
func (v *vec) keep(masked bool, a group) {
	if !masked {
		return
	}
	for _, r := range a {
		if v.wide() {
			v.c.VMOVAPS_Z(r, reg.K1, r)
		} else {
			v.c.VANDPS(v.laneMask(), r, r)
		}
	}
}

// xmmOf is the low part of a vector register.
func xmmOf(r reg.VecPhysical) reg.VecPhysical { return r.AsX().(reg.VecPhysical) }
