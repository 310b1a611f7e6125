package sweep

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
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
	for _, want := range []string{"not enough memory", "weights and gradients 1.05e+06 TiB", "1 MiB", "2 cells at once"} {
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
	c := single(t).Cells[0].Config
	if err := fitsDisk(c, 1<<50, t.TempDir()); !errors.As(err, &r) || r.Need != 3*3*4<<50 || !strings.Contains(err.Error(), "not enough disk space") {
		t.Errorf("error is %v", err)
	}
	c.Train.Optimizer = "sgd"
	if err := fitsDisk(c, 1<<50, t.TempDir()); !errors.As(err, &r) || r.Need != 3*2*4<<50 {
		t.Errorf("error is %v", err)
	}
	if err := fitsDisk(c, 1<<8, t.TempDir()); err != nil {
		t.Error(err)
	}
}

func TestProductDoesNotOverflow(t *testing.T) {
	for _, c := range []struct {
		sizes []int
		want  int64
	}{
		{[]int{3, 4, 5}, 60}, {[]int{0, 1 << 62, 1 << 62}, 0}, {[]int{1 << 40, 1 << 40}, unthinkable}, {[]int{1 << 59, 1}, unthinkable}, {[]int{1 << 32, 1 << 32, 0}, unthinkable},
	} {
		if got := product(c.sizes...); got != c.want {
			t.Errorf("product of %v is %d, want %d", c.sizes, got, c.want)
		}
	}
}

// TestRefusedWithoutPlanning: what is ten times too large, in width, depth or batch,
// is refused before anything of its size is built.
func TestRefusedWithoutPlanning(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux says what there is")
	}
	available, known := availableMemory(os.DirFS("/"))
	if !known {
		t.Skip("nobody knows here")
	}
	for _, settings := range [][]string{
		{"model.d_model=8192", fmt.Sprintf("model.layers=%d", 1+10*available/(12*8192*8192*16))},
		{"train.batch=65536", "model.d_model=1024", fmt.Sprintf("model.layers=%d", min(16384, 1+10*available/(65536*16*1024*4)))},
		{"train.batch=65536", fmt.Sprintf("train.accumulate=%d", min(65536, 1+10*available/(65536*16*8)))},
	} {
		c := single(t, settings...).Cells[0]
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		out := RunCell(context.Background(), c, t.TempDir(), Options{Threads: 1})
		var r *Resources
		if !errors.As(out.Err, &r) || r.Need < available || !strings.Contains(r.Breakdown, "optimizer") {
			t.Errorf("%v: %v", settings, out.Err)
		}
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 {
			t.Errorf("%v: refused after %d bytes were allocated", settings, used)
		}
	}
}

// measureRSS is the environment variable that makes this test binary train a model
// of the size that it names, and print what it needed and what was estimated.
const measureRSS = "SWEEP_TEST_MEASURE_RSS"

// TestMemoryEstimate holds the estimate against the peak of a process.
func TestMemoryEstimate(t *testing.T) {
	if runtime.GOOS != "linux" || testing.Short() {
		t.Skip("takes a process with hundreds of megabytes, on Linux")
	}
	for _, settings := range []string{
		"model.d_model=256 model.layers=6 model.heads=4 model.context=128 train.batch=16 train.steps=2",
		"model.d_model=768 model.layers=1 model.heads=4 train.batch=4 train.steps=2 train.accumulate=2 train.optimizer=sgd",
	} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), measureRSS+"="+settings)
		text, err := cmd.Output()
		var estimate, peak float64
		if _, e := fmt.Sscan(string(text), &estimate, &peak); err != nil || e != nil {
			t.Fatalf("%q, %v, %v", text, err, e)
		}
		if ratio := estimate / peak; ratio < 0.8 || ratio > 1.2 {
			t.Errorf("%s: estimated %.1f MB, needed %.1f MB", settings, estimate/1e6, peak/1e6)
		} else {
			t.Logf("%s: estimate/peak = %.3f", settings, ratio)
		}
	}
}

// printMemory trains the run of single with settings, and prints the estimate of a dry
// run and the process's peak.
func printMemory(settings []string) error {
	p, err := singlePlan(settings...)
	if err != nil {
		return err
	}
	rows, err := p.Estimates(Options{Threads: 2})
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "ablate-test-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	out, err := Run(context.Background(), p, dir, Options{Threads: 2})
	if err != nil {
		return err
	}
	fmt.Println(rows[0].Bytes, out[0].Summary.PeakRSSBytes)
	return nil
}
