package kernel

import (
	"slices"
	"strings"
	"testing"
)

func TestChoosePath(t *testing.T) {
	for _, c := range []struct {
		value string
		best  path
		want  path
		err   string
	}{
		{"", pathAVX512, pathAVX512, ""},
		{"", pathPortable, pathPortable, ""},
		{"avx512", pathAVX512, pathAVX512, ""},
		{"avx2", pathAVX512, pathAVX2, ""},
		{"portable", pathAVX2, pathPortable, ""},
		{"avx512", pathAVX2, pathAVX2, `does not support "avx512"; supported: avx2, portable`},
		{"avx2", pathPortable, pathPortable, `does not support "avx2"; supported: portable`},
		{"AVX2", pathAVX512, pathAVX512, `unknown instruction set "AVX2"; supported here: avx512, avx2, portable`},
		{"sse", pathAVX2, pathAVX2, `unknown instruction set "sse"`},
	} {
		got, err := choosePath(c.value, c.best)
		if got != c.want {
			t.Errorf("choosePath(%q, %v) = %v, want %v", c.value, c.best, got, c.want)
		}
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("choosePath(%q, %v): error %v, want one with %q", c.value, c.best, err, c.err)
		}
	}
}

func TestForcePath(t *testing.T) {
	start := Path()
	paths := Paths()
	if len(paths) == 0 || paths[len(paths)-1] != "portable" || !slices.Contains(paths, start) {
		t.Fatalf("Paths() = %v with %q in use", paths, start)
	}
	for _, name := range paths {
		restore, err := ForcePath(name)
		if err != nil {
			t.Fatal(err)
		}
		if Path() != name {
			t.Errorf("after ForcePath(%q) the path is %q", name, Path())
		}
		restore()
	}
	if Path() != start {
		t.Errorf("path is %q after restore, was %q", Path(), start)
	}
	if _, err := ForcePath("mmx"); err == nil {
		t.Error(`ForcePath("mmx") gave no error`)
	}
}
