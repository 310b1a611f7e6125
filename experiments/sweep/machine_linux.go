package sweep

import (
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// PeakRSS is the largest resident memory that this process has had, in bytes.
func PeakRSS() int64 {
	kib, _ := field(os.DirFS("/"), "proc/self/status", "VmHWM:") // 0 where /proc is not there
	return kib * 1024
}

// freeDisk is what this user may still write to the file system of a directory, in bytes.
func freeDisk(dir string) (bytes int64, known bool) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return 0, false
	}
	return int64(fs.Bavail) * int64(fs.Bsize), true
}

// cpuModel is the processor's name for people.
func cpuModel() string {
	text, _ := os.ReadFile("/proc/cpuinfo") // without it the architecture has to do
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
