package cmd

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// openTerminal makes a pseudo-terminal of a width: what is written to the second file
// can be read from the first.
func openTerminal(t *testing.T, width int) (master, terminal *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { master.Close() })
	fd := int(master.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: uint16(width)})
	}
	if err != nil {
		t.Skip(err)
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	return master, terminal
}

// TestTerminals: a bar where it fits on one line, redrawn in place without colours;
// plain lines on a narrow terminal, a dumb one, and in CI.
func TestTerminals(t *testing.T) {
	w := newWorkbench(t)
	for _, c := range []struct {
		width int
		env   string
		bar   bool
	}{{100, "TERM=xterm", true}, {100, "NO_COLOR=1", true}, {20, "TERM=xterm", false}, {100, "TERM=dumb", false}, {100, "CI=true", false}} {
		master, terminal := openTerminal(t, c.width)
		p := w.prepare("train", "run.yaml", "--force", "train.steps=1500", "train.eval_every=0", "train.checkpoint_every=0")
		p.Env = append(p.Env, "TERM=xterm", "CI=", c.env)
		p.Stderr = terminal
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		terminal.Close()
		said := make(chan string)
		go func() {
			text, _ := io.ReadAll(master) // ends with an error when the other side is closed
			said <- string(text)
		}()
		if code := p.code(); code != exitDone {
			t.Errorf("%d columns, %s: it ends with %d", c.width, c.env, code)
		}
		select {
		case text := <-said:
			redrawn := strings.Contains(strings.ReplaceAll(text, "\r\n", "\n"), "\r")
			if redrawn != c.bar || strings.Contains(text, "\x1b[3") {
				t.Errorf("%d columns, %s: redrawn %v, want %v: %q", c.width, c.env, redrawn, c.bar, text[:min(400, len(text))])
			}
			for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\r' || r == '\n' }) {
				if n := len([]rune(strings.TrimSpace(line))); c.bar && n > c.width {
					t.Errorf("%d columns: a line has %d: %q", c.width, n, line)
				}
			}
		case <-time.After(10 * time.Second):
			t.Error("the terminal never ended")
		}
	}
}
