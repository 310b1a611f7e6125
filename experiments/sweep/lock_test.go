package sweep

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// holdLock is the environment variable that makes this test binary lock the
// directory it names, say so, and hold the lock until its input ends.
const holdLock = "SWEEP_TEST_HOLD_LOCK"

// runSlowly is the environment variable that makes this test binary run the cells of
// small below the directory it names, slowly enough to be killed on the way.
const runSlowly = "SWEEP_TEST_RUN_SLOWLY"

func TestMain(m *testing.M) {
	if dir := os.Getenv(holdLock); dir != "" {
		if _, err := lockDir(dir, false); err != nil {
			panic(err)
		}
		os.Stdout.WriteString("locked\n")
		io.Copy(io.Discard, os.Stdin)
		return
	}
	if dir := os.Getenv(runSlowly); dir != "" {
		if err := runInto(dir); err != nil {
			panic(err)
		}
		return
	}
	if settings := os.Getenv(measureRSS); settings != "" {
		if err := printMemory(strings.Fields(settings)); err != nil {
			panic(err)
		}
		return
	}
	os.Exit(m.Run())
}

func TestLockExcludesAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), holdLock+"="+dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "locked\n" {
		t.Fatalf("the other process says %q, %v", line, err)
	}

	_, err = lockDir(dir, false)
	var held *Locked
	if !errors.As(err, &held) {
		t.Fatalf("error is %v", err)
	}
	host, _ := os.Hostname()
	if held.PID != cmd.Process.Pid || held.Host != host || !strings.Contains(err.Error(), dir) {
		t.Errorf("the owner is %d on %q in %q, want %d on %q", held.PID, held.Host, err, cmd.Process.Pid, host)
	}

	// Its death, however it dies, frees the directory.
	cmd.Process.Kill()
	cmd.Wait()
	in.Close()
	l, err := lockDir(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	defer l.release()
	if _, err := lockDir(dir, false); !errors.As(err, &held) || held.PID != os.Getpid() {
		t.Errorf("within one process: %v", err)
	}
}

func TestLockAfterRelease(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		l, err := lockDir(dir, false)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.release(); err != nil {
			t.Fatal(err)
		}
	}
}

// A process on another host that has not said that it is done may still be there.
func TestLockOfAnotherHost(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, lockFile), []byte(`{"pid":7,"host":"elsewhere.example"}`), 0o666); err != nil {
		t.Fatal(err)
	}
	var held *Locked
	_, err := lockDir(dir, false)
	if !errors.As(err, &held) || !held.Elsewhere || held.PID != 7 || !strings.Contains(err.Error(), "process 7 on elsewhere.example") || !strings.Contains(err.Error(), "--force") {
		t.Fatalf("got %v", err)
	}
	l, err := lockDir(dir, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lockDir(dir, true); !errors.As(err, &held) || held.Elsewhere {
		t.Errorf("force breaks a lock of this host: %v", err)
	}
	if err := l.release(); err != nil {
		t.Fatal(err)
	}
	if l, err = lockDir(dir, false); err != nil {
		t.Fatalf("after the release: %v", err)
	}
	l.release()
}
