package sweep

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// PeakRSS is the largest resident memory that this process has had, in bytes.
func PeakRSS() int64 {
	var use unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &use); err != nil {
		return 0
	}
	return use.Maxrss
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
	name, err := unix.Sysctl("machdep.cpu.brand_string")
	if err != nil {
		return runtime.GOARCH
	}
	return name
}
