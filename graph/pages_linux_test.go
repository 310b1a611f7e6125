package graph

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"unsafe"
)

// Large memory begins on a large page, is zero, and asks for large pages; small
// memory keeps to cache lines.
func TestLargePages(t *testing.T) {
	small := aligned[float32](100)
	if base := address(small); base%cacheLine != 0 {
		t.Errorf("small memory begins at %x", base)
	}
	large := aligned[float32](leastOnLargePages / 4)
	if base := address(large); base%largePage != 0 {
		t.Errorf("large memory begins at %x", base)
	}
	for i, x := range large {
		if x != 0 {
			t.Fatalf("element %d is %v", i, x)
		}
	}
	switch flags, ok := mappingFlags(t, address(large)); {
	case !ok:
		t.Skip("this system has no large pages, or does not tell")
	case !strings.Contains(flags, " hg"):
		t.Errorf("the mapping has the flags%s, without hg", flags)
	}
}

// mappingFlags are the kernel's flags of the mapping that holds an address, if
// it has large pages at all.
func mappingFlags(t *testing.T, address uintptr) (flags string, ok bool) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		return "", false
	}
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return "", false
	}
	inside := false
	for line := range strings.Lines(string(maps)) {
		var from, to uintptr
		if n, _ := fmt.Sscanf(line, "%x-%x ", &from, &to); n == 2 {
			inside = from <= address && address < to
		}
		if flags, ok := strings.CutPrefix(line, "VmFlags:"); ok && inside {
			return strings.TrimRight(flags, "\n"), true
		}
	}
	t.Error("no mapping holds the memory")
	return "", false
}

func address[T any](x []T) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(x))) }
