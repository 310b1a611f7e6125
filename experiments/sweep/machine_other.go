//go:build !linux && !darwin

package sweep

import (
	"cmp"
	"os"
	"runtime"
)

// cpuModel is the processor's name for people; Windows has it in the environment.
func cpuModel() string { return cmp.Or(os.Getenv("PROCESSOR_IDENTIFIER"), runtime.GOARCH) }

// PeakRSS is the largest resident memory that this process has had, in bytes; 0, unknown.
func PeakRSS() int64 { return 0 }

// freeDisk does not know.
func freeDisk(string) (bytes int64, known bool) { return 0, false }
