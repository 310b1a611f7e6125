package train

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"ablate/train/metrics"
)

// crashDir names the variable by which a test tells the process that it starts
// where to run; it then kills it, or lets it kill itself.
const crashDir = "ABLATE_TEST_CRASH_DIR"

// TestCrashChild is that process.
func TestCrashChild(t *testing.T) {
	dir := os.Getenv(crashDir)
	if dir == "" {
		t.Skip("only as a child of the crash tests")
	}
	d := &runDir{dir: dir}
	r, err := d.run(t, t.Context(), nil)
	if err != nil || r.Status != metrics.Done {
		t.Fatal(r, err)
	}
}

// child is a process that runs or continues the run in dir.
func child(dir, failpoint string) *exec.Cmd {
	c := exec.Command(os.Args[0], "-test.run=^TestCrashChild$")
	c.Env = append(os.Environ(), crashDir+"="+dir, FailpointVariable+"="+failpoint)
	return c
}

// finishes continues the run in dir and compares its outcome.
func (d *runDir) finishes(t *testing.T, want string) {
	t.Helper()
	r, err := d.run(t, t.Context(), nil)
	if err != nil || d.outcome(t, r) != want {
		t.Errorf("the continued run ends %+v, %v, with another outcome", r, err)
	}
	if len(d.rejected) > 0 {
		t.Errorf("half a checkpoint was visible: %v", d.rejected)
	}
}

// TestDeathAtEveryFailpoint kills the run at each point of each checkpoint; it
// continues at the last good one, to the same bytes.
func TestDeathAtEveryFailpoint(t *testing.T) {
	t.Parallel()
	want := unbroken(t)
	// Five checkpoints, of steps 4, 8, … 20, of three sections each; from the third on, one is rotated away.
	for point, times := range map[string]int{pointBegin: 5, pointHalf: 15, pointSynced: 5, pointRenamed: 5, pointRotate: 5, pointRotated: 3} {
		for n := 1; n <= times; n += 2 {
			t.Run(fmt.Sprintf("%s:%d", point, n), func(t *testing.T) {
				t.Parallel()
				d := &runDir{dir: t.TempDir()}
				if out, err := child(d.dir, fmt.Sprintf("%s:%d", point, n)).CombinedOutput(); err == nil {
					t.Fatalf("the process survived: %s", out)
				}
				d.finishes(t, want)
			})
		}
	}
}

// TestRandomDeaths kills one run again and again at random moments.
func TestRandomDeaths(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	want := unbroken(t)
	d := &runDir{dir: t.TempDir()}
	const deaths = 15
	for range deaths {
		c := child(d.dir, "")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rand.IntN(100)) * time.Millisecond)
		if err := c.Process.Kill(); err != nil {
			t.Log(err) // it had ended
		}
		c.Wait() // reports the kill
	}
	d.finishes(t, want)
}
