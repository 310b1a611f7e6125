//go:build unix

package cmd

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"ablate/train"
)

// crashTime is the environment variable that says for how long TestCrash is to
// kill: a duration such as 2m. make crash sets it.
const crashTime = "CRASH_TIME"

// failpoints are the places at which a process may be told to die: package train
// has them, in the order of a checkpoint's life.
var failpoints = []string{"checkpoint.begin", "checkpoint.half", "checkpoint.synced", "checkpoint.renamed", "checkpoint.rotate", "checkpoint.rotated"}

// TestCrash kills a real run again and again, at random moments and at random places
// of its checkpoints, until it has ended all the same, and compares every byte that
// is promised with a run that nobody disturbed; and so on with other seeds until the
// time is over, when the last run is left alone. Without CRASH_TIME it survives three deaths.
func TestCrash(t *testing.T) {
	begun, deaths, runs := time.Now(), 0, 0
	over := func() bool { return deaths >= 3 }
	if text := os.Getenv(crashTime); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatalf("%s=%s: %v", crashTime, text, err)
		}
		over = func() bool { return time.Since(begun) > d }
	}
	for seed := 1; !over(); seed++ {
		w := newWorkbench(t)
		line := fmt.Sprintf("train run.yaml seed=%d train.steps=900 train.accumulate=2 model.dropout=0.1 train.eval_every=150 train.checkpoint_every=20 --progress off", seed)
		w.want(exitDone, line+" --out whole")
		for ended := false; !ended; {
			p := w.prepare(strings.Fields(line)...)
			if rand.IntN(2) == 0 {
				p.Env = append(p.Env, fmt.Sprintf("%s=%s:%d", train.FailpointVariable, failpoints[rand.IntN(len(failpoints))], 1+rand.IntN(8)))
			}
			if err := p.Start(); err != nil {
				t.Fatal(err)
			}
			life := time.AfterFunc(time.Duration(20+rand.IntN(400))*time.Millisecond, func() { p.Process.Kill() })
			code := p.code()
			life.Stop()
			switch {
			case code == exitDone:
				ended = true
			case code == -1:
				deaths++
			default:
				t.Fatalf("after %d deaths a process ends with %d: %s", deaths, code, p.stderr.String())
			}
			if !ended && over() {
				w.want(exitDone, line)
				ended = true
			}
		}
		if w.outcome("runs") != w.outcome("whole") {
			t.Fatalf("seed %d: after %d deaths in all, the outcome is another", seed, deaths)
		}
		runs++
	}
	t.Logf("%d deaths in %v, %d runs ended with the bytes of undisturbed ones", deaths, time.Since(begun).Round(time.Second), runs)
}
