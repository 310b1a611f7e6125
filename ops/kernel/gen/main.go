// Command gen writes the amd64 assembly of package kernel and the Go declarations of its
// functions. Run it in this folder; the output is the same bytes every time.
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
)

// kernelDir is the package that the output belongs to, seen from this folder.
const kernelDir = ".."

// files lists what is generated: NAME_amd64.s and NAME_stubs_amd64.go.
var files = []struct {
	name     string
	generate func(c *build.Context)
}{
	{"gemm", gemm},
	{"vector", vector},
}

func main() {
	for _, f := range files {
		if err := write(f.name, f.generate); err != nil {
			fmt.Fprintf(os.Stderr, "gen: %s: %v\n", f.name, err)
			os.Exit(1)
		}
	}
}

// write assembles one table entry and replaces its two files.
func write(name string, generate func(c *build.Context)) error {
	c := build.NewContext()
	c.ConstraintExpr("amd64")
	generate(c)
	f, err := c.Result()
	if err != nil {
		return err
	}
	conf := printer.Config{Name: "gen (go run . in ops/kernel/gen)", Pkg: "kernel"}
	var asm, stubs output
	err = pass.Concat(
		pass.Compile,
		&pass.Output{Writer: &asm, Printer: printer.NewGoAsm(conf)},
		&pass.Output{Writer: &stubs, Printer: printer.NewStubs(conf)},
	).Execute(f)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(kernelDir, name+"_amd64.s"), asm.Bytes(), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(kernelDir, name+"_stubs_amd64.go"), stubs.Bytes(), 0o644)
}

// output is a buffer with the Close that avo asks for.
type output struct{ bytes.Buffer }

func (*output) Close() error { return nil }
