package main

import (
	"go/token"
	"go/types"
	"log"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/gotypes"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The vector registers by number.
var (
	ymm = [16]reg.VecPhysical{reg.Y0, reg.Y1, reg.Y2, reg.Y3, reg.Y4, reg.Y5, reg.Y6, reg.Y7,
		reg.Y8, reg.Y9, reg.Y10, reg.Y11, reg.Y12, reg.Y13, reg.Y14, reg.Y15}
	zmm = [32]reg.VecPhysical{reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7,
		reg.Z8, reg.Z9, reg.Z10, reg.Z11, reg.Z12, reg.Z13, reg.Z14, reg.Z15,
		reg.Z16, reg.Z17, reg.Z18, reg.Z19, reg.Z20, reg.Z21, reg.Z22, reg.Z23,
		reg.Z24, reg.Z25, reg.Z26, reg.Z27, reg.Z28, reg.Z29, reg.Z30, reg.Z31}
)

// kernelPackage declares the types of package kernel that signatures mention by name. Functions
// receive pointers to them, so what is in them does not matter here.
var kernelPackage = func() *types.Package {
	pkg := types.NewPackage("kernel", "kernel")
	for _, name := range []string{"tileArgs", "rowArgs", "panelArgs", "panelMulArgs", "dropoutArgs"} {
		obj := types.NewTypeName(token.NoPos, pkg, name, nil)
		types.NewNamed(obj, types.NewStruct(nil, nil), nil)
		pkg.Scope().Insert(obj)
	}
	return pkg
}()

// function starts a function without stack frame, with its Go signature and doc comment.
func function(c *build.Context, name, signature string, doc ...string) {
	c.Function(name)
	c.Attributes(attr.NOSPLIT)
	sig, err := gotypes.ParseSignatureInPackage(kernelPackage, signature)
	if err != nil {
		log.Fatalf("%s: %v", name, err)
	}
	c.Signature(sig)
	c.Doc(doc...)
}

// load moves a parameter into r.
func load(c *build.Context, name string, r reg.Register) { c.Load(c.Param(name), r) }

// at is the memory disp bytes after what base points to.
func at(base reg.Register, disp int) operand.Mem { return operand.Mem{Base: base, Disp: disp} }
