package train

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
)

// FailpointVariable names the environment variable of the crash tests. Its
// value NAME, or NAME:N, kills the process without any ceremony at the first,
// or the N-th, time that it comes to the point of that name.
const FailpointVariable = "ABLATE_FAILPOINT"

// The points at which a checkpoint can be cut short, in their order.
const (
	pointBegin   = "checkpoint.begin"   // nothing written
	pointHalf    = "checkpoint.half"    // a part of the file written
	pointSynced  = "checkpoint.synced"  // the file is on disk under its temporary name
	pointRenamed = "checkpoint.renamed" // the new name is there, the directory not synced
	pointRotate  = "checkpoint.rotate"  // saved; older ones are about to go
	pointRotated = "checkpoint.rotated" // an older one has lost its name but not its bytes
)

// failpoints is what the variable asks for.
var failpoints = parseFailpoint(os.Getenv(FailpointVariable))

type armed struct {
	name string
	left atomic.Int64 // times to pass
}

func parseFailpoint(s string) *armed {
	name, n, _ := strings.Cut(s, ":")
	a := &armed{name: name}
	if count, err := strconv.Atoi(n); err == nil {
		a.left.Store(int64(count))
	} else {
		a.left.Store(1)
	}
	return a
}

// failpoint dies here if the variable says so.
func failpoint(name string) {
	if name != failpoints.name || failpoints.left.Add(-1) > 0 {
		return
	}
	p, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		os.Exit(137) // as a shell reports a kill
	}
	select {} // until it has happened
}
