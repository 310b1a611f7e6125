package sweep

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
)

func TestAvailableMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux says")
	}
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	info := file("MemTotal:       16000 kB\nMemAvailable:   8000 kB\n")
	for _, c := range []struct {
		name  string
		files fstest.MapFS
		want  int64
		known bool
	}{
		{"nothing known", fstest.MapFS{}, 0, false},
		{"no group", fstest.MapFS{"proc/meminfo": info}, 8000 << 10, true},
		{"version 2, limit above", fstest.MapFS{"proc/meminfo": info, "proc/self/cgroup": file("0::/a/b\n"),
			"sys/fs/cgroup/a/memory.max": file("5000000\n"), "sys/fs/cgroup/a/memory.current": file("3000000\n"),
			"sys/fs/cgroup/a/memory.stat": file("anon 1\ninactive_file 1000000\n"), "sys/fs/cgroup/a/b/memory.max": file("max\n")}, 3000000, true},
		{"version 2, root of a container", fstest.MapFS{"proc/meminfo": info, "proc/self/cgroup": file("0::/\n"),
			"sys/fs/cgroup/memory.max": file("4000000\n"), "sys/fs/cgroup/memory.current": file("5000000\n")}, 0, true},
		{"version 1", fstest.MapFS{"proc/meminfo": info, "proc/self/cgroup": file("5:cpu:/x\n4:memory:/x\n"),
			"sys/fs/cgroup/memory/x/memory.limit_in_bytes": file("6000000\n"), "sys/fs/cgroup/memory/x/memory.usage_in_bytes": file("2000000\n")}, 4000000, true},
		{"version 1, no limit", fstest.MapFS{"proc/meminfo": info, "proc/self/cgroup": file("4:memory:/\n"),
			"sys/fs/cgroup/memory/memory.limit_in_bytes": file("9223372036854771712\n")}, 8000 << 10, true},
		{"nonsense", fstest.MapFS{"proc/meminfo": file("MemAvailable:\n"), "proc/self/cgroup": file("what\n")}, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, known := availableMemory(c.files)
			if got != c.want || known != c.known {
				t.Errorf("available is %d, %v; want %d, %v", got, known, c.want, c.known)
			}
		})
	}
}

func TestTooMuchMemoryIsRefused(t *testing.T) {
	err := Memory{Weights: 1 << 60, Arena: 1 << 20}.fits(2)
	if runtime.GOOS != "linux" {
		return
	}
	var r *Resources
	if !errors.As(err, &r) {
		t.Fatalf("error is %v", err)
	}
	for _, want := range []string{"not enough memory", "weights, gradients and optimizer", "1 MiB", "2 cells at once"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	if err := (Memory{Weights: 1}).fits(1); err != nil {
		t.Error(err)
	}
}

func TestTooLargeCheckpointsAreRefused(t *testing.T) {
	if _, known := freeDisk(t.TempDir()); !known {
		t.Skip("nobody knows here")
	}
	var r *Resources
	if err := (Memory{Weights: 1 << 58}).fitsDisk(t.TempDir()); !errors.As(err, &r) || r.Need != 3*(1<<58)/16*12 || !strings.Contains(err.Error(), "not enough disk space") {
		t.Errorf("error is %v", err)
	}
	if err := (Memory{Weights: 1 << 10}).fitsDisk(t.TempDir()); err != nil {
		t.Error(err)
	}
}
