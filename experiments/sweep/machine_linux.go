package sweep

import (
	"os"
	"runtime"
	"strings"
)

// peakRSS is the largest resident memory that this process has had, in bytes.
func peakRSS() int64 {
	kib, _ := field(os.DirFS("/"), "proc/self/status", "VmHWM:") // 0 where /proc is not there
	return kib * 1024
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
