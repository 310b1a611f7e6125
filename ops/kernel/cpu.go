package kernel

import (
	"fmt"
	"os"
	"strings"
)

// pathEnv names the environment variable that restricts the instruction set. It is meant for
// tests and for bisecting a numeric difference between machines.
const pathEnv = "ABLATE_KERNELS"

// path is an instruction set that float32 kernels are written for. A greater path includes the
// smaller ones: a kernel that has no version for the active path uses the next smaller one.
type path uint8

const (
	pathPortable path = iota // Go, any processor
	pathAVX2                 // AVX2 and FMA
	pathAVX512               // AVX-512 F, BW, DQ, VL
)

var pathNames = [...]string{pathPortable: "portable", pathAVX2: "avx2", pathAVX512: "avx512"}

func (p path) String() string { return pathNames[p] }

var (
	best    = detectPath() // the greatest path of this processor and system
	active  path           // the path in use; kernels read it at every call
	pathErr error          // what was wrong with the environment variable
)

func init() { active, pathErr = choosePath(os.Getenv(pathEnv), best) }

// choosePath returns the path that the environment variable's value asks for. With an unknown or
// unsupported value it returns the best path and an error.
func choosePath(value string, best path) (path, error) {
	if value == "" {
		return best, nil
	}
	p, err := parsePath(value, best)
	if err != nil {
		return best, fmt.Errorf("%s: %w", pathEnv, err)
	}
	return p, nil
}

// parsePath turns a name into a path that best includes.
func parsePath(name string, best path) (path, error) {
	for p := range pathNames {
		if pathNames[p] != name {
			continue
		}
		if path(p) > best {
			return best, fmt.Errorf("this machine does not support %q; supported: %s", name, strings.Join(pathList(best), ", "))
		}
		return path(p), nil
	}
	return best, fmt.Errorf("unknown instruction set %q; supported here: %s", name, strings.Join(pathList(best), ", "))
}

// pathList names the paths up to best, fastest first.
func pathList(best path) []string {
	var names []string
	for p := int(best); p >= 0; p-- {
		names = append(names, pathNames[p])
	}
	return names
}

// Path names the instruction set in use: "avx512", "avx2" or "portable".
func Path() string { return active.String() }

// PathError reports an unknown or unsupported value of the environment variable ABLATE_KERNELS.
// The value is then ignored and the best supported path is in use.
func PathError() error { return pathErr }

// Paths names the instruction sets that this machine supports, fastest first. The last is "portable".
func Paths() []string { return pathList(best) }

// ForcePath makes all kernels use the named instruction set until restore is called. It is for
// tests: it must not run while kernels do.
func ForcePath(name string) (restore func(), err error) {
	p, err := parsePath(name, best)
	if err != nil {
		return func() {}, err
	}
	return usePath(p), nil
}

// usePath switches to p, which best must include, and returns the way back.
func usePath(p path) (restore func()) {
	old := active
	active = p
	return func() { active = old }
}
