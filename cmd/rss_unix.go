//go:build unix

package cmd

import (
	"runtime"
	"syscall"
)

// peakRSS is the largest resident size of the process so far, in bytes; 0
// where it is not known.
func peakRSS() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return int64(u.Maxrss) // bytes there, KiB elsewhere
	}
	return int64(u.Maxrss) << 10
}
